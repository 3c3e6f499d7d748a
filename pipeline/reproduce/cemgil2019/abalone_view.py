"""Figures 12 and 13 of Cemgil et al. 2019: a hidden class of abalones, and their ages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corpora import CorpusFormatError
from pipeline.allocation.letter_pairs import csv_lines
from pipeline.errors import UsageError
from pipeline.figures.style import INK, bar_style
from pipeline.reproduce.cemgil2019.abalone import (
    CP,
    Abalone,
    AbaloneSettings,
    Ages,
    bins_of,
    complete_graph,
    sampled_classes,
    score,
    tensor_of,
)
from pipeline.reproduce.cemgil2019.effort import as_json as effort_as_json
from pipeline.reproduce.cemgil2019.effort import effort_of
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
from pipeline.reproduce.experiment import Experiment, Figure, Found
from pipeline.reproduce.tables import Headline, Table, plus_minus, text, text_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.cache.results import ResultCache
    from pipeline.reproduce.claims import Finding
    from pipeline.reproduce.settings import ReproduceSettings

NAME = "bam-abalone"
QUICK_RANKS = (1, 2, 3, 4, 6, 10, 20)
QUICK = {"n_repeats": 4, "n_starts": 20, "n_moves": 10}
COLUMNS = (
    *("Sex", "Length", "Diameter", "Height", "WholeWeight"),
    *("ShuckedWeight", "VisceraWeight", "ShellWeight", "Rings"),
)
SEXES = ("M", "F", "I")
WHERE = "https://archive.ics.uci.edu/dataset/1/abalone"
COMPLETE = "complete graph"
CP_ABOVE = "CP is more probable than the complete graph for ranks above 2."
AGES = "The hidden classes order abalones by age."
UP_TO = 2
"""The paper finds CP above the complete graph for ranks above this."""
UNLIKELY = 1e-6
"""Of the Kruskal-Wallis test."""
CLEAR = 4.0
"""Standard errors between the mean ages of two classes."""


def protocol(settings: ReproduceSettings) -> AbaloneSettings:
    """Return the protocol of a scale."""
    effort = effort_of(settings, NAME, Effort(), QUICK)
    if settings.scale == "full":
        return AbaloneSettings(effort=effort, seed=settings.seed)
    return AbaloneSettings(ranks=QUICK_RANKS, effort=effort, seed=settings.seed)


def run(settings: ReproduceSettings, cache: ResultCache) -> Found:
    """Score all ranks, then sample the hidden classes.

    Raises UsageError if no table is given; CorpusFormatError if a line is malformed.
    """
    if not settings.table:
        raise UsageError(
            f"{NAME} needs --table FILE, the abalone data of the UCI repository: {WHERE} "
            "(abalone.data does, with or without a header)"
        )
    wanted = protocol(settings)
    measurements, rings = read_abalone(settings.table)
    try:
        bins = bins_of(measurements, wanted.n_bins)
    except ValueError as error:
        raise CorpusFormatError(f"{settings.table}: {error}") from error
    observed = tensor_of(bins, wanted.n_bins)
    group = results_of(cache, NAME, wanted, ("ranks", "strengths"), bins=bins, rings=rings)
    curves = cached_curves(
        group, wanted, lambda cell: score(observed, cell, wanted, settings.threads), stage=NAME
    )
    classes = group.arrays(
        "classes", ("classes",), lambda: {"classes": sampled_classes(bins, wanted)}
    )["classes"]
    complete = {a: complete_graph(observed, a) for a in wanted.strengths}
    found = Abalone(wanted, observed, curves, complete, Ages.of(rings, classes))
    return Found(as_json(found), found)


def read_abalone(path: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(N, 7) measurements and (N,) rings of UCI's file, with or without a header.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    CorpusFormatError
        If it is no such table; the message names the line.
    """
    lines = csv_lines(path, "abalones")
    if lines and lines[0][1][0].strip() not in SEXES:
        names = ["".join(filter(str.isalnum, name)).lower() for name in lines[0][1]]
        if names != [name.lower() for name in COLUMNS]:
            raise CorpusFormatError(
                f"{path}, line {lines[0][0]}: expected the columns {','.join(COLUMNS)}, or M, F or "
                f"I and eight numbers without a header, found {','.join(lines[0][1])[:90]!r}"
            )
        lines = lines[1:]
    if not lines:
        raise CorpusFormatError(f"{path}: no row; the data are at {WHERE}")
    numbers = np.array([_numbers(path, number, line) for number, line in lines])
    return numbers[:, :-1], numbers[:, -1].astype(np.int64)


def _numbers(path: str, number: int, line: list[str]) -> list[float]:
    wrong = CorpusFormatError(
        f"{path}, line {number}: expected M, F or I, seven measurements and whole rings, none "
        f"negative, found {','.join(line)[:90]!r}"
    )
    if len(line) != len(COLUMNS) or line[0].strip() not in SEXES:
        raise wrong
    try:
        numbers = [float(field) for field in line[1:]]
    except ValueError:
        raise wrong from None
    if not all(np.isfinite(numbers)) or min(numbers) < 0 or numbers[-1] % 1 or numbers[-1] > 1000:
        raise wrong
    return numbers


def as_json(found: Abalone) -> dict[str, Any]:
    """Return a row for each strength, method and rank, and the ages of the classes."""
    settings, ages = found.settings, found.ages
    statistic, probability = ages.kruskal_wallis
    return {
        "name": NAME,
        "animals": found.observed.n_tokens,
        "cells": len(found.observed.counts),
        "all_cells": int(np.prod(found.observed.shape)),
        **effort_as_json(settings.effort),
        "complete_graph": [{"a": a, "log_marginal": log} for a, log in found.complete.items()],
        "rows": rows_of(found.curves),
        "best": best_ranks(found.curves),
        "ages": {
            "rank": settings.class_rank,
            "a": settings.class_strength,
            "classes": [
                {
                    "animals": int(ages.n_animals[r]),
                    "mean_rings": float(ages.mean[r]),
                    "standard_error": float(ages.standard_error[r]),
                    "distribution": ages.distribution[r].tolist(),
                }
                for r in range(len(ages.mean))
            ],
            "steps_in_standard_errors": ages.steps.tolist(),
            "kruskal_wallis": statistic,
            "probability": probability,
            "explained": ages.explained,
        },
    }


def _findings(found: Abalone) -> list[Finding]:
    curves, ages = found.curves, found.ages
    findings: list[Finding] = []
    for a, complete in found.complete.items():
        levels = [(NAMES[method], method, curves.log_marginal(CP, method, a)) for method in SCORING]
        levels += [
            (f"every run of {NAMES[method]}", method, curves.ends(CP, method, a)[0])
            for method in BY_PARTICLES
        ]
        for name, method, level in levels:
            fails = (np.array(curves.ranks) > UP_TO) & (level <= complete)
            failed = at_ranks(curves, fails, (CP,), method, a)
            claim = f"a = {a:g}, {name}: CP above the {COMPLETE} from rank {UP_TO + 1} on"
            paper = CP_ABOVE if name in ("SMC", "VB") else ""
            findings.append(finding("cp-above-complete-graph", claim, failed, paper))
    n_found = len(ages.mean)
    steps = [f"classes {r + 1} and {r + 2}" for r, step in enumerate(ages.steps) if step < CLEAR]
    if n_found < found.settings.class_rank:
        steps.append(f"{found.settings.class_rank - n_found} classes, which are empty")
    probability = ages.kruskal_wallis[1]
    differ = [] if probability < UNLIKELY else [f"p = {probability:.2g}"]
    return [
        *findings,
        finding(
            "classes-differ-in-age",
            f"classes differ in age, Kruskal-Wallis p < {UNLIKELY:g}",
            differ,
            AGES,
        ),
        finding(
            "ages-of-classes-are-apart",
            f"mean ages of neighbouring classes at least {CLEAR:g} standard errors apart",
            steps,
            AGES,
        ),
        *below_the_bound(curves),
    ]


def _draw_ages(figure: Any, ages: Ages) -> None:
    panels = figure.subplots(len(ages.mean), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for r, axes in enumerate(panels):
        axes.bar(range(ages.distribution.shape[1]), ages.distribution[r], **bar_style(r))
        axes.axvline(ages.mean[r], color=INK, linewidth=0.8)
        axes.set_title(f"class {r + 1}: {ages.n_animals[r]:,} abalones, mean {ages.mean[r]:.1f}")
        axes.set_ylabel("p(rings | class)")
    panels[-1].set_xlabel("rings")


def tables(result: Any) -> list[Table]:
    """Return log marginals over ranks, and the ages of the classes."""
    ages = result["ages"]
    return [
        *curve_tables(result),
        text_table(
            f"Hidden classes of rank {ages['rank']}, a = {text(ages['a'], 'g')}",
            ("class", "animals", "mean rings"),
            [
                (
                    str(r + 1),
                    f"{each['animals']:,}",
                    plus_minus(each["mean_rings"], each["standard_error"], ".2f"),
                )
                for r, each in enumerate(ages["classes"])
            ],
            note=f"{result['animals']:,} abalones in {result['cells']:,} of "
            f"{result['all_cells']:,} cells; classes of the most probable particle of SMC with "
            "moves. Kruskal-Wallis H = "
            f"{ages['kruskal_wallis']:.1f}, p = {ages['probability']:.2g}; classes explain "
            f"{ages['explained']:.0%} of the variance of ranks of age.",
        ),
    ]


def headline(result: Any) -> Headline:
    """Return the rank from which CP is above the complete graph."""
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


EXPERIMENT = Experiment(
    name=NAME,
    where="Figures 12 and 13",
    shows="Whether a hidden class explains measurements of abalones better than dependence of all "
    "on all, and whether the classes are ages.",
    run=run,
    tables=tables,
    headline=headline,
    findings=lambda found: _findings(found.drawn),
    figures=(
        Figure(
            "",
            "Figure 12: log marginal likelihood against rank",
            lambda figure, _, found: draw_curves(
                figure, found.curves, {a: (COMPLETE, log) for a, log in found.complete.items()}
            ),
        ),
        Figure(
            "-ages",
            "Figure 13: ages in each hidden class",
            lambda figure, _, found: _draw_ages(figure, found.ages),
        ),
    ),
    needs="--table abalone.csv",
    why=f"the abalone data of the UCI repository ({WHERE}), which do not come with the software",
)
