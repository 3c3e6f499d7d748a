"""Figure 15 of Cemgil et al. 2019: NMF and symmetric NMF of letter pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.allocation.letter_pairs import letter_pairs
from pipeline.reproduce.cemgil2019.effort import as_json as effort_as_json
from pipeline.reproduce.cemgil2019.effort import effort_of
from pipeline.reproduce.cemgil2019.letters import (
    GRAPHS,
    NMF,
    SYMMETRIC,
    Letters,
    LettersSettings,
    asymmetry,
    draw_pairs,
    score,
)
from pipeline.reproduce.cemgil2019.rank_scores import BY_PARTICLES, SCORING
from pipeline.reproduce.cemgil2019.rank_scores_view import (
    at_ranks,
    below_the_bound,
    best_ranks,
    cached_curves,
    curve_tables,
    draw_curves,
    results_of,
    rows_of,
)
from pipeline.reproduce.cemgil2019.scores import NAMES, Effort
from pipeline.reproduce.claims import finding
from pipeline.reproduce.experiment import Experiment, Figure, Found, data_note
from pipeline.reproduce.tables import Headline, Table, text, text_table

if TYPE_CHECKING:
    from pipeline.cache.results import ResultCache
    from pipeline.reproduce.cemgil2019.rank_scores import RankCurves
    from pipeline.reproduce.claims import Finding
    from pipeline.reproduce.settings import ReproduceSettings

NAME = "bam-letters"
QUICK_RANKS = (1, 2, 3, 5, 10, 20)
QUICK = {"n_repeats": 4, "n_starts": 20, "n_moves": 10}
STRONG_PRIOR = "At a = 1 NMF is more probable than symmetric NMF at every rank."
WEAK_PRIOR = "At a = 0.001 SMC prefers symmetric NMF at almost every rank, VB does not."
BEST_RANK = "VB prefers lower ranks than SMC."
ALMOST_ALL = 0.9
"""Share of ranks at which symmetric NMF must be preferred under a weak prior."""
MOST = f"{ALMOST_ALL:.0%} of"


def protocol(settings: ReproduceSettings) -> LettersSettings:
    """Return the protocol of a scale."""
    effort = effort_of(settings, NAME, Effort(), QUICK)
    if settings.scale == "full":
        return LettersSettings(effort=effort, seed=settings.seed)
    return LettersSettings(ranks=QUICK_RANKS, effort=effort, seed=settings.seed)


def run(settings: ReproduceSettings, cache: ResultCache) -> Found:
    """Score all ranks of both graphs."""
    wanted = protocol(settings)
    source, pairs = letter_pairs(settings.table, settings.threads)
    X = draw_pairs(pairs, wanted.n_tokens, wanted.seed)
    group = results_of(cache, NAME, wanted, ("ranks", "strengths"), X=X)
    curves = cached_curves(
        group, wanted, lambda cell: score(X, cell, wanted, settings.threads), stage=NAME
    )
    found = Letters(source, pairs, wanted, X, curves)
    return Found(as_json(found), found)


def as_json(found: Letters) -> dict[str, Any]:
    """Return a row for each strength, graph, method and rank, and the preferred graphs."""
    settings = found.settings
    return {
        "name": NAME,
        "source": found.source,
        "pairs": int(found.pairs.sum()),
        "tokens": settings.n_tokens,
        "cells": int((found.X > 0).sum()),
        "asymmetry": asymmetry(found.X),
        "asymmetry_of_pairs": asymmetry(found.pairs),
        **effort_as_json(settings.effort),
        "rows": rows_of(found.curves),
        "best": best_ranks(found.curves),
        "preferred": [
            _preferred(found.curves, method, a) for a in settings.strengths for method in SCORING
        ],
    }


def _preferred(curves: RankCurves, method: str, a: float) -> dict[str, Any]:
    """Return the ranks at which each graph scores higher, and those at which runs overlap."""
    difference = curves.log_marginal(NMF, method, a) - curves.log_marginal(SYMMETRIC, method, a)
    ranks = np.array(curves.ranks)
    apart = curves.told_apart(GRAPHS, method, a)
    return {
        "a": a,
        "method": method,
        "nmf": ranks[difference > 0].tolist(),
        "symmetric": ranks[difference < 0].tolist(),
        "not_told_apart": ranks[~apart].tolist(),
    }


def _findings(curves: RankCurves) -> list[Finding]:
    strong, weak = max(curves.strengths), min(curves.strengths)
    is_more = np.array(curves.ranks) > 1

    def is_lower(first: str, second: str, method: str, a: float) -> Any:
        return curves.log_marginal(first, method, a) <= curves.log_marginal(second, method, a)

    findings: list[Finding] = []
    for method in SCORING:
        fails = is_more & is_lower(NMF, SYMMETRIC, method, strong)
        findings.append(
            finding(
                f"{method}-nmf-above",
                f"a = {strong:g}, {NAMES[method]}: NMF above symmetric NMF from rank 2 on",
                at_ranks(curves, fails, GRAPHS, method, strong),
                STRONG_PRIOR if method in ("smc", "vb") else "",
            )
        )
    if not is_more.all():
        fails = ~is_more & is_lower(NMF, SYMMETRIC, "vb", strong)
        findings.append(
            finding(
                "nmf-above-at-rank-1",
                f"a = {strong:g}: NMF above symmetric NMF at rank 1, where all methods are exact",
                at_ranks(curves, fails, GRAPHS, "vb", strong),
                STRONG_PRIOR,
            )
        )
    for method in BY_PARTICLES:
        fails = is_lower(SYMMETRIC, NMF, method, weak)
        failed = at_ranks(curves, fails, GRAPHS, method, weak)
        is_most = len(failed) <= (1 - ALMOST_ALL) * len(curves.ranks)
        findings.append(
            finding(
                f"{method}-symmetric-above",
                f"a = {weak:g}, {NAMES[method]}: symmetric NMF above NMF at {MOST} ranks",
                [] if is_most else failed,
                WEAK_PRIOR if method == "smc" else "",
            )
        )
    differs = is_lower(SYMMETRIC, NMF, "vb", weak).any()
    findings.append(
        finding(
            "vb-symmetric-not-above",
            f"a = {weak:g}, VB: symmetric NMF not above NMF throughout",
            [] if differs else ["any rank"],
            WEAK_PRIOR,
        )
    )
    for method in BY_PARTICLES:
        best = {
            graph: [curves.best_rank(graph, each, strong) for each in ("vb", method)]
            for graph in curves.graphs
        }
        findings.append(
            finding(
                f"{method}-best-rank-above-vb",
                f"a = {strong:g}: the best rank of VB below that of {NAMES[method]}",
                [f"{graph} ({vb} and {smc})" for graph, (vb, smc) in best.items() if vb >= smc],
                BEST_RANK if method == "smc" else "",
            )
        )
    return [*findings, *below_the_bound(curves)]


def tables(result: Any) -> list[Table]:
    """Return log marginals over ranks, and the preferred graphs."""
    return [
        *curve_tables(result),
        text_table(
            "Ranks at which a graph scores higher",
            ("a", "method", "NMF", "symmetric NMF", "runs overlap"),
            [
                (
                    text(each["a"], "g"),
                    NAMES[each["method"]],
                    *(text(each[name]) for name in ("nmf", "symmetric")),
                    "–" if each["method"] == "vb" else text(each["not_told_apart"]),
                )
                for each in result["preferred"]
            ],
            headings=2,
            note=f"{result['tokens']:,} letter pairs of {result['source']}, drawn of "
            f"{result['pairs']:,}, in {result['cells']} of 676 cells; asymmetry "
            f"{result['asymmetry']:.3f}, of all pairs {result['asymmetry_of_pairs']:.3f}. "
            "Published: at a = 1 NMF at every rank, at a = 0.001 symmetric NMF at almost "
            "every rank by SMC.",
        ),
    ]


def headline(result: Any) -> Headline:
    """Return at how many ranks NMF is above symmetric NMF under the strong prior."""
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


EXPERIMENT = Experiment(
    name=NAME,
    where="Figure 15",
    shows="Whether pairs of letters are better explained by NMF or by symmetric NMF.",
    run=run,
    tables=tables,
    headline=headline,
    findings=lambda found: _findings(found.drawn.curves),
    figures=(
        Figure(
            "",
            "Figure 15: log marginal likelihood against rank",
            lambda figure, _, found: draw_curves(figure, found.curves, {}),
        ),
    ),
    data=lambda result: data_note("the letter pairs of Norvig (2013)", result["source"]),
)
