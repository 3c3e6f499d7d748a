"""Meaning of each hidden value of a factorisation: the visible values that are likely with it.

p(visible | hidden) is computed from the conditional tables; tables of indices that are no ancestors
of either sum to 1 and are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pipeline.allocation.factors import Factors

Floats = NDArray[np.float64]


def strongest(factors: Factors, n_labels: int) -> list[dict[str, Any]]:
    """Return the values of each hidden index, most probable first, with the likeliest labels."""
    labels = factors.header["labels"]
    found = []
    for hidden in factors.header["hidden"]:
        share = marginal(factors, (hidden,))
        order = np.argsort(-share, kind="stable")
        given = {
            name: _conditional(marginal(factors, (hidden, name)))
            for name in factors.header["visible"]
        }
        found.append(
            {
                "index": hidden,
                "values": [
                    {
                        "value": int(value),
                        "probability": float(share[value]),
                        "top": {
                            name: _top(table[value], labels[name], n_labels)
                            for name, table in given.items()
                        },
                    }
                    for value in order
                ],
            }
        )
    return found


def marginal(factors: Factors, names: Sequence[str]) -> Floats:
    """p(names), an array with an axis for each name."""
    families: Mapping[str, list[str]] = factors.header["families"]
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(families)
    graph.add_edges_from((of, name) for name, family in families.items() for of in family[:-1])
    needed = {*names, *(above for name in names for above in nx.ancestors(graph, name))}
    number = {name: n for n, name in enumerate(families)}
    operands: list[Any] = []
    for name in families:
        if name in needed:
            operands += [factors.tables[name], [number[each] for each in families[name]]]
    summed: Floats = np.einsum(*operands, [number[name] for name in names], optimize="greedy")
    return summed


def format_strongest(rows: Sequence[Mapping[str, Any]]) -> str:
    """Format as lines: value, share of tokens, labels of visible indices with probabilities."""
    lines = []
    for row in rows:
        heads = [f"{row['index']} {value['value']}" for value in row["values"]]
        width = max(map(len, heads), default=0)
        for head, value in zip(heads, row["values"], strict=True):
            start = f"{head:>{width}s} {value['probability']:6.1%}"
            for name, top in value["top"].items():
                labels = ", ".join(f"{each['label']} {each['probability']:.2f}" for each in top)
                lines.append(f"{start}  {name}: {labels}")
                start = " " * len(start)
    return "\n".join(lines)


def _conditional(joint: Floats) -> Floats:
    total = joint.sum(axis=1, keepdims=True)
    given: Floats = np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)
    return given


def _top(shares: Floats, labels: Sequence[str], n_labels: int) -> list[dict[str, Any]]:
    order = np.argsort(-shares, kind="stable")[:n_labels]
    return [{"label": labels[v], "probability": float(shares[v])} for v in order]
