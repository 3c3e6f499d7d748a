"""Cemgil et al. 2019, Figure 5: the probability of every allocation of a small matrix.

All tensors S with the marginal X under KL-NMF of rank 3. The smaller a is, the more π(S) depends on
the effective number of parameters of S alone (Steck & Jaakkola 2002),

    d_EP(S) = Σ_n [#{S_fa(n) > 0} - #{S_pa(n) > 0}],     log π(S) = (d_EP(S) + 1) log a + O(1),

where S₊ counts as one parent of an index that has none, and the 1 beside d_EP is that of λ's prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import comb, prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from evaluation.allocation.exact import exact
from models.allocation.cell_counts import CellCounts
from models.allocation.model import AllocationModel
from models.allocation.sequence import rate_of
from pipeline.reproduce.cemgil2019.toy import MATRICES

if TYPE_CHECKING:
    from collections.abc import Callable

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_NUMBERS = 50_000_000
"""Entries of all tensors together, at most."""


@dataclass(frozen=True)
class HistogramSettings:
    """The protocol; the defaults are the paper's.

    Raises
    ------
    ValueError
        If the rank or an a makes no sense.
    """

    matrix: str = "X1"
    rank: int = 3
    a: tuple[float, ...] = (10.0, 1.0, 0.1, 1e-2, 1e-4, 1e-10)
    """From large to small."""

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise ValueError(f"rank must be at least 1, found {self.rank}")
        if len(self.a) < 2 or min(self.a) <= 0 or list(self.a) != sorted(self.a, reverse=True):
            raise ValueError(f"a must be positive, and fall, found {self.a}")

    def model(self, a: float) -> AllocationModel:
        """KL-NMF, with b = a / S₊."""
        n_rows, n_columns = MATRICES[self.matrix].shape
        return AllocationModel.nmf(n_rows, n_columns, self.rank, a)


def all_allocations(model: AllocationModel, X: CellCounts) -> Ints:
    """(N, *cardinalities), all tensors over `model.indices` whose marginal is X.

    Raises
    ------
    ValueError
        If there are too many, or an index of some token was not observed.
    """
    if (X.cells < 0).any():
        raise ValueError("every visible index must be observed of all tokens")
    hidden = [model.cardinalities[name] for name in model.hidden]
    n_hidden = prod(hidden)
    shape = [model.cardinalities[name] for name in model.indices]
    n_tensors = prod(comb(n + n_hidden - 1, n_hidden - 1) for n in X.counts.tolist())
    if n_tensors * prod(shape) > MOST_NUMBERS:
        raise ValueError(
            f"{n_tensors:,} tensors of {prod(shape)} entries are more than {MOST_NUMBERS:,} "
            "numbers: take fewer tokens or a smaller rank"
        )
    parts = [compositions(n, n_hidden) for n in X.counts.tolist()]
    chosen = np.indices([len(part) for part in parts]).reshape(len(parts), -1)
    # Visible axes first, the cells of X along them, then one axis of all hidden ones together.
    tensors = np.zeros((chosen.shape[1], *model.shape, n_hidden), dtype=np.int64)
    for cell, part, which in zip(X.cells, parts, chosen, strict=True):
        tensors[(slice(None), *cell)] = part[which]
    spread = tensors.reshape(-1, *model.shape, *hidden)
    order = (*model.visible, *model.hidden)
    axes = [1 + order.index(name) for name in model.indices]
    return np.ascontiguousarray(spread.transpose(0, *axes))


def compositions(n: int, n_parts: int) -> Ints:
    """(comb(n + n_parts - 1, n_parts - 1), n_parts), all ways to write n as an ordered sum."""
    rows = [row for row in product(range(n + 1), repeat=n_parts - 1) if sum(row) <= n]
    first = np.array(rows, dtype=np.int64).reshape(len(rows), n_parts - 1)
    return np.concatenate([first, n - first.sum(axis=1, keepdims=True)], axis=1)


def log_allocations(model: AllocationModel, tensors: Ints) -> Floats:
    """(N,), log π(S) of tensors (N, *cardinalities) over `model.indices` (eq. 3.11).

    Raises
    ------
    ValueError
        If tables are tied: the equation is of tables that are not.
    """
    if model.tied:
        raise ValueError("tied tables have another probability: give each index its own table")
    every = tuple(range(1, tensors.ndim))
    total = tensors.sum(axis=every)
    a = model.a
    rates, rate_at = np.unique(total, return_inverse=True)
    b = np.array([rate_of(model, int(n)) for n in rates])[rate_at]
    log_pi = a * np.log(b) - (a + total) * np.log1p(b) + gammaln(a + total) - gammaln(a)
    log_pi -= gammaln(tensors + 1.0).sum(axis=every)
    for name in model.indices:
        counts = _marginal(tensors, model, model.family(name))
        alpha = model.pseudo_counts(name)
        log_pi += _rising(counts, alpha) - _rising(counts.sum(axis=-1), alpha.sum(axis=-1))
    result: Floats = log_pi
    return result


def effective_parameters(model: AllocationModel, tensors: Ints) -> Ints:
    """(N,), d_EP of tensors (N, *cardinalities) over `model.indices`."""
    found = np.zeros(len(tensors), dtype=np.int64)
    for name in model.indices:
        counts = _marginal(tensors, model, model.family(name))
        found += np.count_nonzero(counts.reshape(len(tensors), -1), axis=1)
        found -= np.count_nonzero(counts.sum(axis=-1).reshape(len(tensors), -1), axis=1)
    return found


def _marginal(tensors: Ints, model: AllocationModel, names: tuple[str, ...]) -> Ints:
    """(N, *sizes of `names`), sums over all other axes, the axes in the order of `names`."""
    others = tuple(1 + n for n, name in enumerate(model.indices) if name not in names)
    kept = [name for name in model.indices if name in names]
    marginal: Ints = tensors.sum(axis=others).transpose(0, *(1 + kept.index(n) for n in names))
    return marginal


def _rising(counts: Ints, alpha: Floats) -> Floats:
    """(N,), sum over all but the first axis of log Γ(alpha + counts) - log Γ(alpha)."""
    with np.errstate(invalid="ignore"):  # Γ(0) / Γ(0) of cells that cannot have a count
        terms = np.where(counts > 0, gammaln(alpha + counts) - gammaln(alpha), 0.0)
    summed: Floats = terms.reshape(len(counts), -1).sum(axis=1)
    return summed


@dataclass(frozen=True, eq=False)
class Histogram:
    """N allocations, A values of a."""

    settings: HistogramSettings
    log_pi: Floats
    """(A, N), nats."""
    d_ep: Ints
    """(N,), effective number of parameters."""
    exact: Floats
    """(A,), log marginal likelihood of X by enumeration of tokens."""

    @property
    def log_sum(self) -> Floats:
        """(A,), log Σ_S π(S), which is the log marginal likelihood of X."""
        total: Floats = logsumexp(self.log_pi, axis=1)
        return total

    @property
    def spacing(self) -> Floats:
        """(A,), nats of log π(S) that one effective parameter is worth, by least squares over S.

        It is log a and a constant, of the sizes of tables and the counts, as a goes to 0.
        """
        centred = self.d_ep - self.d_ep.mean()
        nats: Floats = self.log_pi @ centred / (centred @ centred)
        return nats

    @property
    def explained(self) -> Floats:
        """(A,), share of the variance of log π(S) over S that a line over d_EP explains."""
        return np.array([np.corrcoef(self.d_ep, row)[0, 1] ** 2 for row in self.log_pi])

    @property
    def levels(self) -> tuple[Ints, Floats, Floats]:
        """(L,) values of d_EP; (A, L) lowest and (A, L) highest log π(S) at each."""
        values = np.unique(self.d_ep)
        at = [self.log_pi[:, self.d_ep == value] for value in values]
        lowest = np.stack([rows.min(axis=1) for rows in at], axis=1)
        highest = np.stack([rows.max(axis=1) for rows in at], axis=1)
        return values, lowest, highest

    @property
    def are_separate(self) -> NDArray[np.bool_]:
        """(A,), whether no S of more effective parameters is as probable as one of fewer."""
        _, lowest, highest = self.levels
        return np.array([(highest[i, 1:] < lowest[i, :-1]).all() for i in range(len(lowest))])

    @property
    def limit_error(self) -> Floats:
        """(A - 1,), how far the slope of log π(S) over log a is from d_EP + 1, of the worst S.

        Between each a and the next.
        """
        log_a = np.log(np.array(self.settings.a))
        slope = np.diff(self.log_pi, axis=0) / np.diff(log_a)[:, None]
        worst: Floats = np.abs(slope - self.d_ep - 1).max(axis=1)
        return worst


def histogram(settings: HistogramSettings, on_a: Callable[[], object] | None = None) -> Histogram:
    """Enumerate and score; `on_a` is called after each a."""
    rows, truth = [], []
    X = CellCounts.of(MATRICES[settings.matrix], settings.model(settings.a[0]))
    tensors = all_allocations(settings.model(settings.a[0]), X)
    for a in settings.a:
        model = settings.model(a)
        rows.append(log_allocations(model, tensors))
        truth.append(exact(model, X).log_marginal)
        if on_a is not None:
            on_a()
    d_ep = effective_parameters(settings.model(settings.a[0]), tensors)
    return Histogram(settings, np.stack(rows), d_ep, np.array(truth))
