"""Result of `allocate` as text and as CSV."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from evaluation.allocation.marginal_estimate import LARGEST_ERROR

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pipeline.allocation.factors import Factors

COLUMNS = (
    *("graph", "rank", "log_marginal", "standard_error", "spread", "rough", "direction"),
    *("log_odds", "log_odds_standard_error", "effective_sample_size", "surviving_ancestors"),
    *("sources", "seconds"),
)
MAX_VALUES = 60  # Hidden values that are printed at most
Floats = NDArray[np.float64]


def print_allocation(result: Mapping[str, Any]) -> None:
    """Print the data, a table of the models, the recommendation, and the best model's factors."""
    axes = " × ".join(f"{each['name']} ({each['values']:,})" for each in result["axes"])
    left = result["partly_observed"]
    print(
        f"{result['file']}: {result['layout']}, {result['tokens']:,} tokens in "
        f"{result['cells']:,} cells of {axes}"
        + (f"; {left:,} tokens not wholly observed" if left else "")
    )
    print(what_was_done(result))
    print()
    print(format_rows(result))
    print()
    for warning in result["warnings"]:
        print(f"warning: {warning}")
    print(result["recommendation"])
    factors = result["factors"]
    if factors:
        hidden = format_strongest(
            [{**row, "values": row["values"][:MAX_VALUES]} for row in factors["strongest"]]
        )
        of = " of the most probable particle" if factors["method"] == "smc" else ""
        print(f"\nfactors of {factors['model']} by {factors['method']}{of}")
        print(hidden or "nothing is hidden: the tables are in the file")
    print(f"{result['path']}: {', '.join(result['files'])}")


def format_rows(result: Mapping[str, Any]) -> str:
    """Format the table of all models."""
    rows = result["rows"]
    width = max(len("graph"), *(len(row["graph"]) for row in rows))
    name = "lower bound" if result["method"] == "vb" else "log marginal ± s.e."
    odds = "log odds of bounds" if result["method"] == "vb" else "log odds ± s.e."
    has_particles = any(row["effective_sample_size"] is not None for row in rows)
    head = f"{'graph':{width}s}  rank  {name:>20s}  {odds:>18s}"
    lines = [head + ("  spread  least ESS  ancestors" if has_particles else "") + "  seconds"]
    for row in rows:
        line = (
            f"{row['graph']:{width}s}  {'-' if row['rank'] is None else row['rank']:>4}"
            f"  {_with_error(row['log_marginal'], row['standard_error'], row['rough']):>20s}"
            f"  {_with_error(row['log_odds'], row['log_odds_standard_error'], row['rough']):>18s}"
        )
        if has_particles:
            line += f"  {_number(row['spread'], 1):>6s}"
            line += f"  {_number(row['effective_sample_size'], 1):>9s}"
            line += f"  {_number(row['surviving_ancestors'], 0):>9s}"
        lines.append(f"{line}  {row['seconds']:7.1f}")
    return "\n".join(lines)


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Format a line for each model; missing values are empty."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([row[name] for name in COLUMNS] for row in rows)
    return stream.getvalue()


def what_was_done(result: Mapping[str, Any]) -> str:
    """Sentence on how the figures were computed."""
    method = result["method"]
    if method == "exact":
        how = "exact"
    elif method == "vb":
        how = f"vb: lower bounds, the best of {result['repeats']} starts"
    elif method == "annealed":
        how = f"annealed: {result['repeats']} runs of {result['chains']:,} chains, "
        how += f"{result['sweeps']:,} sweeps, "
        if result["modes"]:
            how += f"{result['modes']:,} modes looked at, "
        if any(row["sources"] for row in result["rows"]):
            how += "each rank from the runs of all, "
        how += "unbiased"
    else:
        moves = f", {result['moves']:,} moves a token" if result["moves"] else ""
        order = "" if result["order"] == "random" else f", tokens {result['order']}"
        how = f"{method}: {result['repeats']} runs of {result['particles']:,} particles"
        how += f"{moves}{order}, unbiased"
    return f"{how}; log-probability of the counts in nats, seed {result['seed']}"


def _with_error(value: float | None, error: float | None, is_rough: bool) -> str:
    if value is None:
        return "impossible"
    if is_rough or (error or 0.0) > LARGEST_ERROR:
        return f"{value:.2f} rough"
    return f"{value + 0.0:.2f}" + ("" if not error else f" ± {error:.2f}")


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


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
