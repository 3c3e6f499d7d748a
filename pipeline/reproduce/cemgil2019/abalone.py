"""Cemgil et al. 2019, Figures 12 and 13: whether measurements of abalones have a hidden cause.

Seven measurements, each cut into five bins, are a count tensor of 5⁷ cells with a token for each
animal. CP (naive Bayes with a hidden class) is scored against the complete graph, in which each
measurement depends on all before it and nothing is hidden. The hidden class of each animal in one
posterior sample is then compared with its age.
"""

from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln
from scipy.stats import kruskal
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from corpora import CorpusFormatError
from evaluation.arrays import Floats, Ints, Rng
from models.allocation.cell_counts import CellCounts
from models.allocation.model import AllocationModel
from models.allocation.particles.posterior_sample import posterior_sample
from models.allocation.sequence import rate_of
from pipeline.allocation.letter_pairs import csv_lines
from pipeline.errors import UsageError
from pipeline.figures.style import INK, bar_style
from pipeline.reproduce.cemgil2019 import scores
from pipeline.reproduce.cemgil2019.scores import BY_PARTICLES, NAMES, SCORING
from pipeline.reproduce.claims import Finding, Findings
from pipeline.reproduce.experiment import Experiment, Figure, Found, rows_of
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.reproduce.tables import Column, Headline, Table, text
from pipeline.reproduce.trials import group_of

NAME = "bam-abalone"
CP = "CP"
QUICK = {"ranks": (1, 2, 3, 4, 6, 10, 20), "n_repeats": 4, "n_starts": 20, "n_moves": 10}
QUICK |= {"n_sweeps": 300}
BIN_SEED = 0  # Seed of k-means, the same for every seed of an experiment: bins are part of the data
COLUMNS = (
    *("Sex", "Length", "Diameter", "Height", "WholeWeight"),
    *("ShuckedWeight", "VisceraWeight", "ShellWeight", "Rings"),
)
SEXES = ("M", "F", "I")
WHERE = "https://archive.ics.uci.edu/dataset/1/abalone"
CP_ABOVE = "CP is more probable than the complete graph for ranks above 2."
AGES = "The hidden classes order abalones by age."
UP_TO = 2  # The paper finds CP above the complete graph for ranks above this
UNLIKELY = 1e-6  # Probability that the Kruskal-Wallis test must be below
CLEAR = 4.0  # Standard errors between the mean ages of two classes


@dataclass(frozen=True)
class AbaloneBudget(scores.Budget):
    """The paper's budget, which does not say how many runs it made."""

    n_bins: int = 5
    strengths: tuple[float, ...] = (1.0, 0.001)  # Values of a
    ranks: tuple[int, ...] = tuple(range(1, 31))
    class_rank: int = 3  # Number of hidden classes that are compared with the age
    class_strength: float = 1.0  # Value of a for these classes


def _run(settings: ReproduceSettings) -> Found:
    """Score all ranks, then sample the hidden classes. Raises UsageError if no table is given;
    CorpusFormatError if a line is malformed.
    """
    if not settings.table:
        raise UsageError(
            f"{NAME} needs --table FILE, the abalone data of the UCI repository: {WHERE} "
            "(abalone.data does, with or without a header)"
        )
    budget = scores.budget_of(AbaloneBudget(), settings, QUICK)
    measurements, rings = read_abalone(settings.table)
    try:
        bins = bins_of(measurements, budget.n_bins)
    except ValueError as error:
        raise CorpusFormatError(f"{settings.table}: {error}") from error
    observed = tensor_of(bins, budget.n_bins)
    models = {CP: partial(AllocationModel.cp, observed.shape)}
    group = group_of(NAME, budget, ("ranks", "strengths"), bins=bins, rings=rings)
    found = scores.score_rows(group, models, observed, budget, NAME, settings.threads)
    classes = group.arrays("classes", ("of",), lambda: {"of": sampled_classes(bins, budget)})["of"]
    complete = [{"a": a, "log_marginal": complete_graph(observed, a)} for a in budget.strengths]
    sizes = {"animals": observed.n_tokens, "cells": len(observed.counts)}
    sizes["all_cells"] = int(np.prod(observed.shape))
    ages = {"rank": budget.class_rank, "a": budget.class_strength, **ages_of(rings, classes)}
    others = {**budget.as_json(), "complete_graph": complete, **found, "ages": ages}
    return Found({"name": NAME, **sizes, **others})


def read_abalone(path: str) -> tuple[Floats, Ints]:
    """Return (N, 7) measurements and (N,) rings of UCI's file, with or without a header. Raises
    FileNotFoundError if there is no such file; CorpusFormatError, which names the line, if it is no
    such table.
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
    try:
        numbers = [float(field) for field in line[1:]]
    except ValueError:
        numbers = []
    is_row = len(numbers) == len(COLUMNS) - 1 and line[0].strip() in SEXES
    is_finite = is_row and all(np.isfinite(numbers)) and min(numbers) >= 0
    if not is_finite or numbers[-1] % 1 or numbers[-1] > 1000:
        raise CorpusFormatError(
            f"{path}, line {number}: expected M, F or I, seven measurements and whole rings, none "
            f"negative, found {','.join(line)[:90]!r}"
        )
    return numbers


def bins_of(measurements: ArrayLike, n_bins: int) -> Ints:
    """Return (N, M), the bin of each of N animals in each of M measurements, 0 the smallest.
    k-means separately on each; bins are in the order of their centres. Raises ValueError if a
    measurement has fewer than `n_bins` different values.
    """
    values = np.asarray(measurements, dtype=np.float64)
    bins = np.empty(values.shape, dtype=np.int64)
    for m, column in enumerate(values.T):
        n_different = len(np.unique(column))
        if n_different < n_bins:
            raise ValueError(
                f"measurement {m + 1} has {n_different} different values, too few for {n_bins} bins"
            )
        with threadpool_limits(1):  # sums in one order: the same bins for any number of threads
            found = KMeans(n_bins, n_init=10, random_state=BIN_SEED).fit(column[:, None])
        place = np.argsort(np.argsort(found.cluster_centers_.ravel()))
        bins[:, m] = place[found.labels_]
    return bins


def tensor_of(bins: Ints, n_bins: int) -> CellCounts:
    """Return the count tensor: an axis for each measurement, a token for each animal."""
    return CellCounts(bins, np.ones(len(bins), dtype=np.int64), (n_bins,) * bins.shape[1])


def complete_graph(observed: CellCounts, a: float) -> float:
    """Return the log marginal of the complete graph, in closed form; empty cells add nothing.

    a log b − (a + T) log(b + 1) + Σ_i [lnΓ(g + X_i) − lnΓ(g) − lnΓ(X_i + 1)],  g = a / cells
    """
    n_tokens, X = observed.n_tokens, observed.counts
    g = a / float(np.prod(observed.shape, dtype=np.float64))
    b = rate_of(AllocationModel.complete(observed.shape, a=a), n_tokens)
    cells = gammaln(g + X) - gammaln(g) - gammaln(X + 1)
    return float(a * np.log(b) - (a + n_tokens) * np.log1p(b) + cells.sum())


def sampled_classes(bins: Ints, budget: AbaloneBudget) -> Ints:
    """Return (N,), the class of each animal in the most probable particle of SMC with moves."""
    observed = tensor_of(bins, budget.n_bins)
    model = AllocationModel.cp(observed.shape, budget.class_rank, a=budget.class_strength)
    sample = posterior_sample(model, observed, **budget.of_smc(True), seed=budget.seed)
    best = sample.allocation(sample.most_probable)
    return classes_of(best, bins, np.random.default_rng([budget.seed, 1]))


def classes_of(allocation: CellCounts, bins: Ints, rng: Rng) -> Ints:
    """Return (N,), a class for each animal, which make up the `allocation` over (r, i…). Animals in
    the same bins are exchangeable: which of them is in which class is drawn.
    """
    by_bins = np.lexsort(allocation.cells.T[:0:-1])
    ordered = np.repeat(allocation.cells[by_bins], allocation.counts[by_bins], axis=0)
    animals = np.lexsort((rng.random(len(bins)), *bins.T[::-1]))
    if not np.array_equal(ordered[:, 1:], bins[animals]):
        raise ValueError("the allocation is of other animals")
    classes = np.empty(len(bins), dtype=np.int64)
    classes[animals] = ordered[:, 0]
    return classes


def ages_of(rings: Ints, classes: Ints) -> dict[str, Any]:
    """Return rings by class, the youngest of R classes first, and whether classes differ in them.
    Steps are differences of neighbouring means in standard errors; `kruskal_wallis` is H, with its
    probability if all classes had the same ages; `explained` is ε² = H / (N − 1), the share of the
    variance of the ranks of ages that classes explain.
    """
    _, named = np.unique(classes, return_inverse=True)
    mean = np.bincount(named, rings) / np.bincount(named)
    named = np.argsort(np.argsort(mean))[named]
    n = np.bincount(named)
    mean = np.bincount(named, rings) / n
    square = np.bincount(named, (rings - mean[named]) ** 2)
    error = np.sqrt(square / np.maximum(n - 1, 1) / n)
    counts = np.zeros((len(n), int(rings.max()) + 1))
    np.add.at(counts, (named, rings), 1.0)
    with np.errstate(divide="ignore"):
        steps = np.diff(mean) / np.hypot(error[1:], error[:-1])
    test = kruskal(*(rings[named == r] for r in range(len(n)))) if len(n) > 1 else (0.0, 1.0)
    statistic, probability = map(float, test)
    share = counts / counts.sum(axis=1, keepdims=True)
    rows = rows_of(animals=n, mean_rings=mean, standard_error=error, distribution=share)
    found = {"kruskal_wallis": statistic, "probability": probability}
    found["explained"] = statistic / (len(rings) - 1)
    return {"classes": rows, "steps_in_standard_errors": steps.tolist(), **found}


def _findings(result: Any) -> Findings:
    curves, ages = scores.Curves(result), result["ages"]
    levels = [(NAMES[method], method, "log_marginal") for method in SCORING]
    levels += [(f"every run of {NAMES[each]}", each, "lowest_repeat") for each in BY_PARTICLES]
    for each, (name, method, field) in product(result["complete_graph"], levels):
        a, complete = each["a"], each["log_marginal"]
        fails = (curves.ranks > UP_TO) & (curves.of(CP, method, a, field) <= complete)
        text = f"a = {a:g}, {name}: CP above the complete graph from rank {UP_TO + 1} on"
        failed = curves.at(fails, (CP,), method, a)
        paper = CP_ABOVE if name in ("SMC", "VB") else ""
        yield Finding("cp-above-complete-graph", text, failed, paper)
    same = [] if ages["probability"] < UNLIKELY else [f"p = {ages['probability']:.2g}"]
    text = f"classes differ in age, Kruskal-Wallis p < {UNLIKELY:g}"
    yield Finding("classes-differ-in-age", text, same, AGES)
    steps = enumerate(ages["steps_in_standard_errors"], start=1)
    near = [f"classes {r} and {r + 1}" for r, step in steps if step < CLEAR]
    n_empty = ages["rank"] - len(ages["classes"])
    near += [f"{n_empty} classes, which are empty"] if n_empty > 0 else []
    text = f"mean ages of neighbouring classes at least {CLEAR:g} standard errors apart"
    yield Finding("ages-of-classes-are-apart", text, near, AGES)
    yield from curves.above_bound()


def _tables(result: Any) -> list[Table]:
    ages = result["ages"]
    rows = [{"class": r, **each} for r, each in enumerate(ages["classes"], start=1)]
    columns = (
        Column("class", "class"),
        Column("animals", "animals", ","),
        Column("mean rings", "mean_rings", ".2f", "standard_error"),
    )
    note = (
        f"{result['animals']:,} abalones in {result['cells']:,} of {result['all_cells']:,} cells; "
        "classes of the most probable particle of SMC with moves. Kruskal-Wallis H = "
        f"{ages['kruskal_wallis']:.1f}, p = {ages['probability']:.2g}; classes explain "
        f"{ages['explained']:.0%} of the variance of ranks of age."
    )
    title = f"Hidden classes of rank {ages['rank']}, a = {text(ages['a'], 'g')}"
    return [*scores.curve_tables(result), Table(title, columns, rows, note)]


def _headline(result: Any) -> Headline:
    a, complete = max((each["a"], each["log_marginal"]) for each in result["complete_graph"])
    curves, found = scores.Curves(result), []
    for method in ("smc", "vb"):
        below = curves.ranks[curves.of(CP, method, a) <= complete]
        above = curves.ranks[curves.ranks > max(below, default=0)]
        found.append(f"{NAMES[method]} {min(above, default='–')}")
    what = f"rank from which on CP is above the complete graph, a = {text(a, 'g')}"
    return Headline(what, ", ".join(found), "SMC 3, VB 3")


def _draw_ages(figure: Any, result: Any, _: Any) -> None:
    classes = result["ages"]["classes"]
    panels = figure.subplots(len(classes), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for r, (axes, each) in enumerate(zip(panels, classes, strict=True)):
        mean, distribution = each["mean_rings"], each["distribution"]
        axes.bar(range(len(distribution)), distribution, **bar_style(r))
        axes.axvline(mean, color=INK, linewidth=0.8)
        title = f"class {r + 1}: {each['animals']:,} abalones, mean {mean:.1f}"
        axes.set(title=title, ylabel="p(rings | class)")
    panels[-1].set_xlabel("rings")


EXPERIMENT = Experiment(
    NAME,
    "Figures 12 and 13",
    "Whether a hidden class explains measurements of abalones better than dependence of all "
    "on all, and whether the classes are ages.",
    *(_run, _tables, _headline, _findings),
    (
        Figure("", "Figure 12: log marginal likelihood against rank", scores.draw_curves),
        Figure("-ages", "Figure 13: ages in each hidden class", _draw_ages),
    ),
    needs="--table abalone.csv",
    why=f"the abalone data of the UCI repository ({WHERE}), which do not come with the software",
)
