"""Cemgil et al. 2019, Figure 15: whether letter pairs are better explained by tied factors.

A small sample of pairs is drawn from a table of many; NMF (a letter has one profile as the first of
a pair and another as the second) is scored against symmetric NMF (one profile), rank by rank.
"""

from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evaluation.arrays import Ints
from models.allocation.model import AllocationModel
from pipeline.allocation.letter_pairs import letter_pairs
from pipeline.reproduce.cemgil2019 import scores
from pipeline.reproduce.cemgil2019.scores import BY_PARTICLES, ENDS, NAMES, SCORING
from pipeline.reproduce.claims import Finding, Findings
from pipeline.reproduce.experiment import Experiment, Figure, Found, data_note
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.reproduce.tables import Column, Headline, Table, text
from pipeline.reproduce.trials import group_of

NAME = "bam-letters"
NMF, SYMMETRIC = "NMF", "symmetric NMF"
GRAPHS = (NMF, SYMMETRIC)
QUICK = {"ranks": (1, 2, 3, 5, 10, 20), "n_repeats": 4, "n_starts": 20, "n_moves": 10}
QUICK |= {"n_sweeps": 300}
STRONG_PRIOR = "At a = 1 NMF is more probable than symmetric NMF at every rank."
WEAK_PRIOR = "At a = 0.001 SMC prefers symmetric NMF at almost every rank, VB does not."
BEST_RANK = "VB prefers lower ranks than SMC."
ALMOST_ALL = 0.9  # Share of ranks at which symmetric NMF must be preferred under a weak prior


@dataclass(frozen=True)
class LettersBudget(scores.Budget):
    """The paper's budget, which does not say how many runs it made."""

    n_tokens: int = 2000
    strengths: tuple[float, ...] = (1.0, 0.001)  # Values of a
    ranks: tuple[int, ...] = tuple(range(1, 51))


def _run(settings: ReproduceSettings) -> Found:
    budget = scores.budget_of(LettersBudget(), settings, QUICK)
    source, pairs = letter_pairs(settings.table, settings.threads)
    X = draw_pairs(pairs, budget.n_tokens, budget.seed)
    group = group_of(NAME, budget, ("ranks", "strengths"), X=X)
    found = scores.score_rows(group, models_of(len(X)), X, budget, NAME, settings.threads)
    curves, levels = scores.Curves(found), product(budget.strengths, SCORING)
    sizes = {"pairs": int(pairs.sum()), "tokens": budget.n_tokens, "cells": int((X > 0).sum())}
    of_data = {**sizes, "asymmetry": asymmetry(X), "asymmetry_of_pairs": asymmetry(pairs)}
    found |= {"preferred": [_preferred(curves, method, a) for a, method in levels]}
    return Found({"name": NAME, "source": source, **of_data, **budget.as_json(), **found})


def draw_pairs(pairs: ArrayLike, n_tokens: int, seed: int) -> Ints:
    """Return (I, I), `n_tokens` drawn from a table of counts (I, I): multinomial."""
    table = np.asarray(pairs, dtype=np.float64)
    share = (table / table.sum()).ravel()
    drawn = np.random.default_rng(seed).multinomial(n_tokens, share / share.sum())
    return drawn.reshape(table.shape).astype(np.int64)


def asymmetry(pairs: ArrayLike) -> float:
    """Σ |X_ij − X_ji| / Σ (X_ij + X_ji): 0 of a symmetric table, 1 if no pair occurs both ways."""
    table = np.asarray(pairs, dtype=np.float64)
    return float(np.abs(table - table.T).sum() / (2 * table.sum()))


def models_of(n_letters: int) -> scores.Models:
    """Return the models of both graphs."""
    untied = partial(AllocationModel.nmf, n_letters, n_letters)
    return {NMF: untied, SYMMETRIC: partial(AllocationModel.symmetric_nmf, n_letters)}


def _preferred(curves: scores.Curves, method: str, a: float) -> dict[str, Any]:
    """Return the ranks at which each graph scores higher, and those at which runs overlap. Runs are
    apart if all of one graph are above all of the other. That is more than two standard errors,
    which few repeats of SMC know badly: one of them can be most of their mean.
    """
    nmf, symmetric = (curves.of(graph, method, a) for graph in GRAPHS)
    least, most = ([curves.of(g, method, a, f"{end}_repeat") for g in GRAPHS] for end in ENDS)
    apart = (least[0] > most[1]) | (least[1] > most[0])
    where = {"nmf": nmf > symmetric, "symmetric": nmf < symmetric, "not_told_apart": ~apart}
    ranks = {name: curves.ranks[at].tolist() for name, at in where.items()}
    return {"a": a, "method": method, **ranks}


def _findings(result: Any) -> Findings:
    curves = scores.Curves(result)
    strong, weak = max(curves.strengths), min(curves.strengths)
    is_more, at_strong, at_weak = curves.ranks > 1, f"a = {strong:g}", f"a = {weak:g}"

    def is_lower(first: str, second: str, method: str, a: float) -> Any:
        return curves.of(first, method, a) <= curves.of(second, method, a)

    for method in SCORING:
        fails = is_more & is_lower(NMF, SYMMETRIC, method, strong)
        failed = curves.at(fails, GRAPHS, method, strong)
        text = f"{at_strong}, {NAMES[method]}: NMF above symmetric NMF from rank 2 on"
        paper = STRONG_PRIOR if method in ("smc", "vb") else ""
        yield Finding(f"{method}-nmf-above", text, failed, paper)
    if not is_more.all():
        fails = ~is_more & is_lower(NMF, SYMMETRIC, "vb", strong)
        failed = curves.at(fails, GRAPHS, "vb", strong)
        text = f"{at_strong}: NMF above symmetric NMF at rank 1, where all methods are exact"
        yield Finding("nmf-above-at-rank-1", text, failed, STRONG_PRIOR)
    for method in BY_PARTICLES:
        failed = curves.at(is_lower(SYMMETRIC, NMF, method, weak), GRAPHS, method, weak)
        is_most = len(failed) <= (1 - ALMOST_ALL) * len(curves.ranks)
        text = f"{at_weak}, {NAMES[method]}: symmetric NMF above NMF at {ALMOST_ALL:.0%} of ranks"
        paper = WEAK_PRIOR if method == "smc" else ""
        yield Finding(f"{method}-symmetric-above", text, () if is_most else failed, paper)
    failed = [] if is_lower(SYMMETRIC, NMF, "vb", weak).any() else ["any rank"]
    text = f"{at_weak}, VB: symmetric NMF not above NMF throughout"
    yield Finding("vb-symmetric-not-above", text, failed, WEAK_PRIOR)
    for method in BY_PARTICLES:
        best = {g: [curves.best[g, m, strong]["rank"] for m in ("vb", method)] for g in GRAPHS}
        failed = [f"{graph} ({vb} and {smc})" for graph, (vb, smc) in best.items() if vb >= smc]
        text = f"{at_strong}: the best rank of VB below that of {NAMES[method]}"
        paper = BEST_RANK if method == "smc" else ""
        yield Finding(f"{method}-best-rank-above-vb", text, failed, paper)
    yield from curves.above_bound()


def _tables(result: Any) -> list[Table]:
    columns = (
        Column("a", "a", "g"),
        Column("method", lambda row: NAMES[row["method"]]),
        Column("NMF", "nmf"),
        Column("symmetric NMF", "symmetric"),
        Column("runs overlap", lambda r: None if r["method"] == "vb" else r["not_told_apart"]),
    )
    note = (
        f"{result['tokens']:,} letter pairs of {result['source']}, drawn of {result['pairs']:,}, "
        f"in {result['cells']} of 676 cells; asymmetry {result['asymmetry']:.3f}, of all pairs "
        f"{result['asymmetry_of_pairs']:.3f}. Published: at a = 1 NMF at every rank, at a = 0.001 "
        "symmetric NMF at almost every rank by SMC."
    )
    title = "Ranks at which a graph scores higher"
    return [*scores.curve_tables(result), Table(title, columns, result["preferred"], note, 2)]


def _headline(result: Any) -> Headline:
    a = max(row["a"] for row in result["rows"])
    n_ranks = len({row["rank"] for row in result["rows"]})
    preferred = [each for each in result["preferred"] if each["a"] == a]
    found = (f"{NAMES[each['method']]} {len(each['nmf'])} of {n_ranks}" for each in preferred)
    what = f"ranks at which NMF scores above symmetric NMF, a = {text(a, 'g')}"
    return Headline(what, ", ".join(found), "SMC all, VB all")


EXPERIMENT = Experiment(
    NAME,
    "Figure 15",
    "Whether pairs of letters are better explained by NMF or by symmetric NMF.",
    *(_run, _tables, _headline, _findings),
    (Figure("", "Figure 15: log marginal likelihood against rank", scores.draw_curves),),
    data=lambda result: data_note("the letter pairs of Norvig (2013)", result["source"]),
)
