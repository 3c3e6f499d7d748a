"""Figure 15 of Cemgil et al. 2019: run at a scale, as a table and a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.allocation.letter_pairs import letter_pairs
from pipeline.reproduce.cemgil2019 import effort as bam_effort
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
    draw_curves,
    print_best,
    print_curves,
    print_findings,
    results_of,
    rows_of,
)
from pipeline.reproduce.cemgil2019.scores import NAMES, Effort

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.cache.results import ResultCache
    from pipeline.reproduce.cemgil2019.rank_scores import RankCurves
    from pipeline.reproduce.settings import ReproduceSettings

NAME = "bam-letters"
QUICK_RANKS = (1, 2, 3, 5, 10, 20)
QUICK = {"n_repeats": 4, "n_starts": 20, "n_moves": 10}
ALMOST_ALL = 0.9
"""Of the ranks, at which symmetric NMF is to be preferred under a weak prior."""
MOST = f"{ALMOST_ALL:.0%} of"


def protocol(settings: ReproduceSettings) -> LettersSettings:
    """What the scale stands for."""
    effort = bam_effort.effort_of(settings, NAME, Effort(), QUICK)
    if settings.scale == "full":
        return LettersSettings(effort=effort, seed=settings.seed)
    return LettersSettings(ranks=QUICK_RANKS, effort=effort, seed=settings.seed)


def run(settings: ReproduceSettings, cache: ResultCache) -> Letters:
    """All ranks in turn; what is in the cache is taken from it."""
    wanted = protocol(settings)
    source, pairs = letter_pairs(settings.table, settings.threads)
    X = draw_pairs(pairs, wanted.n_tokens, wanted.seed)
    group = results_of(cache, NAME, wanted, ("ranks", "strengths"), X=X)
    curves = cached_curves(
        group, wanted, lambda cell: score(X, cell, wanted, settings.threads), stage=NAME
    )
    return Letters(source, pairs, wanted, X, curves)


def as_json(found: Letters) -> dict[str, Any]:
    """A row for each strength, graph, method and rank, and what the paper concludes."""
    settings = found.settings
    return {
        "name": NAME,
        "source": found.source,
        "pairs": int(found.pairs.sum()),
        "tokens": settings.n_tokens,
        "cells": int((found.X > 0).sum()),
        "asymmetry": asymmetry(found.X),
        "asymmetry_of_pairs": asymmetry(found.pairs),
        **bam_effort.as_json(settings.effort),
        "rows": rows_of(found.curves),
        "best": best_ranks(found.curves),
        "preferred": [
            _preferred(found.curves, method, a) for a in settings.strengths for method in SCORING
        ],
        "findings": _findings(found.curves),
    }


def _preferred(curves: RankCurves, method: str, a: float) -> dict[str, Any]:
    """The ranks at which each graph scores higher, and those at which that may be chance."""
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


def _findings(curves: RankCurves) -> list[dict[str, Any]]:
    """What the paper says of Figure 15, and where it does not hold here."""
    strong, weak = max(curves.strengths), min(curves.strengths)
    is_more = np.array(curves.ranks) > 1

    def is_lower(first: str, second: str, method: str, a: float) -> Any:
        return curves.log_marginal(first, method, a) <= curves.log_marginal(second, method, a)

    findings = []
    for method in SCORING:
        fails = is_more & is_lower(NMF, SYMMETRIC, method, strong)
        findings.append(
            (
                f"a = {strong:g}, {NAMES[method]}: NMF above symmetric NMF from rank 2 on",
                at_ranks(curves, fails, GRAPHS, method, strong),
            )
        )
    if not is_more.all():
        fails = ~is_more & is_lower(NMF, SYMMETRIC, "vb", strong)
        findings.append(
            (
                f"a = {strong:g}: NMF above symmetric NMF at rank 1, where all methods are exact",
                at_ranks(curves, fails, GRAPHS, "vb", strong),
            )
        )
    for method in BY_PARTICLES:
        fails = is_lower(SYMMETRIC, NMF, method, weak)
        failed = at_ranks(curves, fails, GRAPHS, method, weak)
        is_most = len(failed) <= (1 - ALMOST_ALL) * len(curves.ranks)
        findings.append(
            (
                f"a = {weak:g}, {NAMES[method]}: symmetric NMF above NMF at {MOST} ranks",
                [] if is_most else failed,
            )
        )
    differs = is_lower(SYMMETRIC, NMF, "vb", weak).any()
    findings.append(
        (
            f"a = {weak:g}, VB: symmetric NMF not above NMF throughout",
            [] if differs else ["any rank"],
        )
    )
    for method in BY_PARTICLES:
        best = {
            graph: [curves.best_rank(graph, each, strong) for each in ("vb", method)]
            for graph in curves.graphs
        }
        findings.append(
            (
                f"a = {strong:g}: the best rank of VB below that of {NAMES[method]}",
                [f"{graph} ({vb} and {smc})" for graph, (vb, smc) in best.items() if vb >= smc],
            )
        )
    made = [{"claim": claim, "fails_at": failed} for claim, failed in findings]
    return [*made, *below_the_bound(curves)]


def print_result(result: dict[str, Any]) -> None:
    """A table for each strength, then which graph and rank is best, and what should hold."""
    print(
        f"letter pairs of {result['source']}: {result['tokens']:,} drawn of {result['pairs']:,}, "
        f"in {result['cells']} of 676 cells; asymmetry {result['asymmetry']:.3f}, of all pairs "
        f"{result['asymmetry_of_pairs']:.3f}\n"
        f"log marginal in nats; {bam_effort.in_words(result)}"
    )
    print_curves(result["rows"], {})
    print_best(result["best"])
    print("\nhigher score, at how many ranks")
    for each in result["preferred"]:
        unsure = f"; runs overlap at {len(each['not_told_apart'])}"
        print(
            f"a = {each['a']:g}, {NAMES[each['method']]}: NMF {len(each['nmf'])}, symmetric NMF "
            f"{len(each['symmetric'])}{'' if each['method'] == 'vb' else unsure}"
        )
    print_findings(result["findings"])


def pictures(found: Letters) -> dict[str, Callable[[Any], None]]:
    """Figure 15."""
    return {NAME: lambda figure: draw_curves(figure, found.curves, {})}
