"""The one figure of each experiment of Cemgil et al. 2019 that says most."""

from __future__ import annotations

from typing import Any

from pipeline.reproduce.cemgil2019.letters import NMF
from pipeline.reproduce.cemgil2019.scores import NAMES, WITH_MOVES
from pipeline.reproduce.old_tables import Headline, grouped, text

SCORING = ("smc", WITH_MOVES, "vb")


def toy(result: dict[str, Any]) -> Headline:
    """How often SMC prefers the rank that the exact value does."""
    ours, theirs, n_published, places = 0, 0, 0, 0
    for of_matrix in grouped(result["rows"], "matrix").values():
        for rows in grouped(of_matrix, "a").values():
            places += 1
            ours += _highest(rows, "exact") == _highest(rows, "smc")
            published = [row["published"] for row in rows]
            if all(each["exact"] is not None for each in published):
                n_published += 1
                theirs += _highest(published, "exact") == _highest(published, "smc")
    return Headline(
        "settings (matrix and a) at which SMC prefers the rank that exact does",
        f"{ours} of {places}",
        f"{theirs} of {n_published}",
    )


def _highest(rows: list[dict[str, Any]], method: str) -> int:
    return max(range(len(rows)), key=lambda r: rows[r][method])


def histogram(result: dict[str, Any]) -> Headline:
    """How far modes are apart at the smallest a."""
    last = result["rows"][-1]
    return Headline(
        f"nats between modes of log π(S) at a = {last['a']:g}",
        f"log a {text(last['above_log_a'], '+.2f')}",
        "log a",
    )


def parafac(result: dict[str, Any]) -> Headline:
    """The ranks found."""
    return Headline(
        f"rank found, where it is {result['true_rank']}",
        "; ".join(
            f"{NAMES[method]} {', '.join(str(each[method]) for each in result['found'])}"
            for method in SCORING
        ),
        "SMC 5; VB 5",
    )


def abalone(result: dict[str, Any]) -> Headline:
    """From which rank on CP is above the complete graph."""
    complete = {each["a"]: each["log_marginal"] for each in result["complete_graph"]}
    a = max(complete)
    found = []
    for method in ("smc", "vb"):
        rows = [row for row in result["rows"] if (row["a"], row["method"]) == (a, method)]
        below = [
            row["rank"]
            for row in rows
            if row["log_marginal"] is None or row["log_marginal"] <= complete[a]
        ]
        above = [row["rank"] for row in rows if row["rank"] > max(below, default=0)]
        found.append(f"{NAMES[method]} {min(above, default='–')}")
    return Headline(
        f"rank from which on CP is above the complete graph, a = {text(a, 'g')}",
        ", ".join(found),
        "SMC 3, VB 3",
    )


def letters(result: dict[str, Any]) -> Headline:
    """At how many ranks NMF is above symmetric NMF under the strong prior."""
    a = max(row["a"] for row in result["rows"])
    of_nmf = {row["rank"] for row in result["rows"] if (row["a"], row["graph"]) == (a, NMF)}
    found = [
        f"{NAMES[each['method']]} {len(each['nmf'])} of {len(of_nmf)}"
        for each in result["preferred"]
        if each["a"] == a
    ]
    return Headline(
        f"ranks at which NMF scores above symmetric NMF, a = {text(a, 'g')}",
        ", ".join(found),
        "SMC all, VB all",
    )


def decompositions(result: dict[str, Any]) -> Headline:
    """At how many strengths SMC is sparser than least squares."""
    sparsity = {(row["method"], row["a"]): row["sparsity"] for row in result["rows"]}
    (peer, *_) = (row["sparsity"] for row in result["rows"] if row["a"] is None)
    found = []
    for method in (NAMES["smc"], NAMES[WITH_MOVES]):
        of_method = [value for (name, a), value in sparsity.items() if name == method]
        found.append(f"{method} {sum(each > peer for each in of_method)} of {len(of_method)}")
    return Headline(
        "values of a at which factors are sparser than those of least squares",
        ", ".join(found),
        "SMC: a considerable range",
    )
