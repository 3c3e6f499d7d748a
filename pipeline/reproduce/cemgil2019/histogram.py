"""Cemgil et al. 2019, Figure 5: the probability of every allocation of a small matrix.

All tensors S with the marginal X under KL-NMF of rank 3. The smaller a is, the more π(S) depends on
the effective number of parameters of S alone (Steck & Jaakkola 2002),

    d_EP(S) = Σ_n [#{S_fa(n) > 0} - #{S_pa(n) > 0}],     log π(S) = (d_EP(S) + 1) log a + O(1),

where S₊ counts as one parent of an index that has none, and the 1 beside d_EP is that of λ's prior.
"""

from collections.abc import Sequence
from itertools import combinations_with_replacement, pairwise
from math import comb, prod
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

from evaluation.allocation.exact import exact
from evaluation.arrays import Floats, Ints
from models.allocation.cell_counts import CellCounts
from models.allocation.model import AllocationModel
from models.allocation.sequence import rate_of
from pipeline.figures.style import BLUE, MUTED, VERMILION
from pipeline.progress import Progress
from pipeline.reproduce.cemgil2019.toy import MATRICES
from pipeline.reproduce.claims import Finding, Findings
from pipeline.reproduce.experiment import Experiment, Figure, Found, panels, rows_of
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.reproduce.tables import Column, Headline, Table, text

NAME = "bam-histogram"
MATRIX = "X1"
RANK = 3
STRENGTHS = (10.0, 1.0, 0.1, 1e-2, 1e-4, 1e-10)  # Values of a, from large to small; b = a / S₊
MAX_NUMBERS = 50_000_000  # Entries of all tensors together, at most
N_BINS = 60
MODES = "Modes of log π(S) are log a apart."
MODES_APART = "The modes do not overlap at a small a."
EXPLAINED = "The effective parameters decide the probability of an allocation as a goes to 0."


class Histogram(NamedTuple):
    """Probabilities of N allocations at A values of a."""

    log_pi: Floats  # (A, N), nats
    d_ep: Ints  # (N,), effective number of parameters
    exact: Floats  # (A,), log marginal likelihood of X by enumeration of tokens


def _run(settings: ReproduceSettings) -> Found:
    """Enumerate and score all allocations; both scales are the same, as it takes a second."""
    del settings
    matrix = MATRICES[MATRIX]
    models = [AllocationModel.nmf(len(matrix), len(matrix.T), RANK, a) for a in STRENGTHS]
    X = CellCounts.of(matrix, models[0])
    tensors = all_allocations(models[0], X)
    scored = []
    with Progress(NAME, len(models), "values of a") as progress:
        for model in models:
            scored.append((log_allocations(model, tensors), exact(model, X).log_marginal))
            progress.update(1)
    log_pi, truth = map(np.array, zip(*scored, strict=True))
    found = Histogram(log_pi, effective_parameters(models[0], tensors), truth)
    return Found({"name": NAME, "matrix": MATRIX, "rank": RANK, **as_json(found, STRENGTHS)}, found)


def as_json(found: Histogram, strengths: Sequence[float]) -> dict[str, Any]:
    """Return a row for each a, and one for each number of effective parameters.

    The sum of π(S) is the marginal likelihood of X. Spacing: nats that one effective parameter is
    worth, by least squares over S; it goes to log a and a constant as a goes to 0. Explained: share
    of the variance of log π(S) that a line over d_EP explains. Limit error: largest distance of the
    slope of log π(S) over log a, from the a before, to d_EP + 1. Levels are separate if no S of
    more effective parameters is as probable as one of fewer.
    """
    log_pi, d_ep, log_a = found.log_pi, found.d_ep, np.log(np.array(strengths))
    centred, values = d_ep - d_ep.mean(), np.unique(d_ep)
    spacing = log_pi @ centred / (centred @ centred)
    slopes = np.diff(log_pi, axis=0) / np.diff(log_a)[:, None]
    by_value = [log_pi[:, d_ep == value] for value in values]
    ends = np.stack([[each.min(axis=1), each.max(axis=1)] for each in by_value])  # (values, 2, A)
    rows = rows_of(
        a=strengths,
        exact=found.exact,
        log_sum=logsumexp(log_pi, axis=1),
        spacing=spacing,
        above_log_a=spacing - log_a,
        explained=[np.corrcoef(d_ep, row)[0, 1] ** 2 for row in log_pi],
        limit_error=[None, *np.abs(slopes - d_ep - 1).max(axis=1)],
        levels_are_separate=np.all(ends[1:, 1] < ends[:-1, 0], axis=0),
        distinct=[len(np.unique(row.round(6))) for row in log_pi],
    )
    levels = rows_of(
        effective_parameters=values,
        allocations=[each.shape[1] for each in by_value],
        log_pi=[dict(zip(map("{:g}".format, strengths), each.T, strict=True)) for each in ends],
    )
    return {"allocations": len(d_ep), "rows": rows, "levels": levels}


def all_allocations(model: AllocationModel, X: CellCounts) -> Ints:
    """Return (N, *cardinalities), all tensors over `model.indices` whose marginal is X. Raises
    ValueError if there are too many, or an index of some token was not observed.
    """
    if (X.cells < 0).any():
        raise ValueError("every visible index must be observed of all tokens")
    hidden = [model.cardinalities[name] for name in model.hidden]
    n_hidden, n_cells = prod(hidden), prod(model.cardinalities.values())
    n_tensors = prod(comb(n + n_hidden - 1, n) for n in X.counts.tolist())
    if n_tensors * n_cells > MAX_NUMBERS:
        raise ValueError(
            f"{n_tensors:,} tensors of {n_cells} entries are more than {MAX_NUMBERS:,} "
            "numbers: take fewer tokens or a smaller rank"
        )
    parts = [compositions(n, n_hidden) for n in X.counts.tolist()]
    chosen = np.indices([len(part) for part in parts]).reshape(len(parts), -1)
    # Visible axes first, the cells of X along them, then one axis of all hidden ones together.
    tensors = np.zeros((n_tensors, *model.shape, n_hidden), dtype=np.int64)
    for cell, part, which in zip(X.cells, parts, chosen, strict=True):
        tensors[(slice(None), *cell)] = part[which]
    order = (*model.visible, *model.hidden)
    axes = (1 + order.index(name) for name in model.indices)
    return np.ascontiguousarray(tensors.reshape(-1, *model.shape, *hidden).transpose(0, *axes))


def compositions(n: int, n_parts: int) -> Ints:
    """Return all ways to write n as an ordered sum of so many parts, a row each."""
    owners = [*combinations_with_replacement(range(n_parts), n)][::-1]
    n_of = [[each.count(part) for part in range(n_parts)] for each in owners]
    return np.array(n_of, dtype=np.int64)


def log_allocations(model: AllocationModel, tensors: Ints) -> Floats:
    """Return (N,), log π(S) of tensors (N, *cardinalities) over `model.indices` (eq. 3.11). Raises
    ValueError if tables are tied: the equation is of tables that are not.
    """
    if model.tied:
        raise ValueError("tied tables have another probability: give each index its own table")
    every = tuple(range(1, tensors.ndim))
    total, a = tensors.sum(axis=every), model.a
    b = np.array([rate_of(model, n) for n in total.tolist()])
    log_pi: Floats = a * np.log(b) - (a + total) * np.log1p(b) + gammaln(a + total) - gammaln(a)
    log_pi -= gammaln(tensors + 1.0).sum(axis=every)
    for name in model.indices:
        counts, alpha = _family_counts(tensors, model, name), model.pseudo_counts(name)
        log_pi += _rising(counts, alpha) - _rising(counts.sum(axis=-1), alpha.sum(axis=-1))
    return log_pi


def effective_parameters(model: AllocationModel, tensors: Ints) -> Ints:
    """Return (N,), d_EP of tensors (N, *cardinalities) over `model.indices`."""
    found = np.zeros(len(tensors), dtype=np.int64)
    for name in model.indices:
        counts = _family_counts(tensors, model, name)
        for part, sign in ((counts, 1), (counts.sum(axis=-1), -1)):
            found += sign * np.count_nonzero(part.reshape(len(tensors), -1), axis=1)
    return found


def _family_counts(tensors: Ints, model: AllocationModel, name: str) -> Ints:
    """Return (N, *sizes of the parents, size of the index), sums over all other axes."""
    axes = [1 + model.indices.index(each) for each in model.family(name)]
    return np.asarray(np.einsum(tensors, [*range(tensors.ndim)], [0, *axes]))


def _rising(counts: Ints, alpha: Floats) -> Floats:
    """Return (N,), the sum over all but the first axis of log Γ(alpha + counts) - log Γ(alpha)."""
    with np.errstate(invalid="ignore"):  # Γ(0) / Γ(0) of cells that cannot have a count
        terms = np.where(counts > 0, gammaln(alpha + counts) - gammaln(alpha), 0.0)
    return np.asarray(terms.reshape(len(counts), -1).sum(axis=1))


def _findings(result: Any) -> Findings:
    *_, before, last = rows = result["rows"]
    above, limit, at_last = last["above_log_a"], last["limit_error"], [f"a = {last['a']:g}"]
    off = [f"a = {row['a']:g}" for row in rows if abs(row["log_sum"] - row["exact"]) > 1e-10]
    yield Finding("sum-is-exact", "Σ π(S) over all S is the exact likelihood, to 1e-10 nats", off)
    less = [f"a = {b['a']:g}" for a, b in pairwise(rows) if b["explained"] < a["explained"]]
    text = "effective parameters explain more the smaller a is"
    yield Finding("more-explained-for-small-a", text, less, EXPLAINED)
    text = (
        f"modes are log a and a constant ({above:.2f} nats) apart: the same, to 0.01 nats, at the "
        "last two a"
    )
    moved = at_last if abs(above - before["above_log_a"]) > 0.01 else ()
    yield Finding("modes-are-log-a-apart", text, moved, MODES)
    overlap = () if last["levels_are_separate"] else at_last
    text = f"modes do not overlap at a = {last['a']:g}"
    yield Finding("modes-are-apart", text, overlap, MODES_APART)
    text = (
        "log π(S) / log a goes to d_EP + 1 for every S: the worst slope between the last two a is "
        f"off by {limit:.1e}, less than a hundredth"
    )
    yield Finding("slope-is-effective-parameters", text, at_last if limit > 0.01 else ())


def _tables(result: Any) -> list[Table]:
    smallest = f"{result['rows'][-1]['a']:g}"
    columns = (
        Column("a", "a", "g"),
        Column("log Σ π(S)", "log_sum", ".9f"),
        Column("exact log L", "exact", ".9f"),
        Column("distinct", "distinct", ","),
        Column("spacing", "spacing", ".3f"),
        Column("spacing − log a", "above_log_a", ".3f"),
        Column("explained", "explained", ".4f"),
        Column("limit", "limit_error", ".1e"),
        Column("modes apart", "levels_are_separate"),
    )
    note = (
        "b = a / S₊. Spacing: nats that one effective parameter costs, by a line of log π(S) over "
        "d_EP; published: log a. Explained: share of the variance of log π(S) that the effective "
        "parameters account for. Limit: worst S's error of d log π / d log a = d_EP + 1, from the "
        "a before."
    )
    of_levels = (
        Column("effective parameters", "effective_parameters"),
        Column("allocations", "allocations", ","),
        Column("lowest", lambda level: level["log_pi"][smallest][0], ".2f"),
        Column("highest", lambda level: level["log_pi"][smallest][1], ".2f"),
    )
    title = f"All {result['allocations']:,} allocations of {result['matrix']}"
    return [
        Table(f"{title} at K = {result['rank']}", columns, result["rows"], note),
        Table(f"log π(S) at a = {smallest}, by effective parameters", of_levels, result["levels"]),
    ]


def _headline(result: Any) -> Headline:
    last = result["rows"][-1]
    ours = f"log a {text(last['above_log_a'], '+.2f')}"
    return Headline(f"nats between modes of log π(S) at a = {last['a']:g}", ours, "log a")


def _draw(figure: Any, result: Any, found: Histogram) -> None:
    grid = panels(figure, len(result["rows"]) + 1, 4)
    figure.set_size_inches(12, 3 * len(grid))
    for axes, row, log_pi in zip(grid.flat, result["rows"], found.log_pi, strict=False):
        axes.hist(log_pi, bins=N_BINS, color=BLUE, histtype="stepfilled")
        axes.axvline(row["exact"], color=VERMILION, label="log marginal likelihood")
        axes.set(title=f"a = {row['a']:g}", xlabel="log π(S), nats")
    figure.legend(*grid.flat[0].get_legend_handles_labels(), loc="lower right")
    grid[0, 0].set_ylabel("allocations")
    axes = grid.flat[len(result["rows"])]
    axes.bar(*np.unique(found.d_ep, return_counts=True), color=MUTED)
    axes.invert_xaxis()  # the fewest on the right, as the most probable are
    axes.set(title="effective parameters", xlabel="d_EP")


EXPERIMENT = Experiment(
    NAME,
    "Figure 5",
    "How the probabilities of all allocations of a matrix gather at a few levels.",
    *(_run, _tables, _headline, _findings),
    (Figure("", "Figure 5: histograms of log π(S), a panel for each a", _draw),),
)
