"""Tables of counts of an allocation model, and the probabilities computed from them.

The probability of the next token is a product over the tables of the graph (eqs. 4.1, 4.2),

    ∏_n (α_fa(n) + S_fa(n)) / (α_pa(n) + S_pa(n)),

of marginal counts S. Marginals that stand above and below the line cancel, which leaves those of
cliques over those of separators (eq. 4.3). A marginal whose indices are all observed is the same
whatever the hidden ones are: its product over all tokens is a ratio of Gamma functions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.allocation.cell_counts import MISSING, CellCounts
from models.allocation.model import AllocationModel
from models.allocation.rising_factorial import log_rising_factorials
from models.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Marginal:
    """Counts over some indices, with their pseudo-counts, as a factor of the urn's probability."""

    uses: tuple[tuple[str, ...], ...]
    """Indices on its axes; several times where tables are tied: each use counts a token."""
    sizes: tuple[int, ...]
    alpha: float | Floats  # Pseudo-counts: one for all cells, or an array of shape `sizes`
    power: int  # Exponent of α + S in the probability of a token: positive in numerators


def marginals_of(model: AllocationModel) -> list[Marginal]:
    """The factors of the urn's probability, with what cancels left out."""
    kept: list[Marginal] = []
    for group in model.table_groups():
        shape = model.table_shape(group[0])
        families = tuple(model.family(name) for name in group)
        above: float | Floats
        below: float | Floats
        if model.prior is None:
            above = model.flat_pseudo_count(group[0])
            below = len(group) * model.a / float(np.prod(shape[:-1], dtype=np.float64))
        else:
            above = np.asarray(model.prior[group[0]])
            below = above.sum(axis=-1)
        _multiply(kept, Marginal(families, shape, above, 1), model)
        over = tuple(family[:-1] for family in families)
        _multiply(kept, Marginal(over, shape[:-1], below, -1), model)
    return [each for each in kept if each.power]


def _multiply(kept: list[Marginal], new: Marginal, model: AllocationModel) -> None:
    """Add a factor, as a power of one that is there already if it is of the same counts."""
    if len(new.uses) == 1:
        order = sorted(range(len(new.sizes)), key=lambda n: model.indices.index(new.uses[0][n]))
        new = Marginal(
            (tuple(new.uses[0][n] for n in order),),
            tuple(new.sizes[n] for n in order),
            new.alpha.transpose(order) if isinstance(new.alpha, np.ndarray) else new.alpha,
            new.power,
        )
        for n, each in enumerate(kept):
            is_same = each.uses == new.uses and np.shape(each.alpha) == np.shape(new.alpha)
            if is_same and np.allclose(each.alpha, new.alpha, rtol=1e-13, atol=0):
                kept[n] = Marginal(each.uses, each.sizes, each.alpha, each.power + new.power)
                return
    kept.append(new)


@dataclass(frozen=True, eq=False)
class Table:
    """A marginal's counts, a row for each combination of observed values that occurs in the data.
    Columns are the axes of indices that are hidden or sometimes missing.
    """

    marginal: Marginal
    inner_axes: tuple[int, ...]  # Axes of the marginal that are columns
    strides: tuple[int, ...]  # Columns that one step along each of the `inner_axes` is
    n_columns: int
    alpha: Floats  # (n_rows, n_columns), or (1, 1) where all cells share one number
    row_values: Ints  # (n_rows, number of other axes), the observed values of each row
    row_of: Ints  # (n_uses, n_cells), row in which a token of each cell counts
    offset_of: Ints  # (n_uses, n_cells), its column, without unknown indices

    @property
    def n_rows(self) -> int:
        """Rows that occur."""
        return len(self.row_values)

    @property
    def inner_names(self) -> set[str]:
        """The indices of the columns."""
        return {use[axis] for use in self.marginal.uses for axis in self.inner_axes}

    @property
    def power(self) -> int:
        """Power of α + S in the probability of a token."""
        return self.marginal.power

    @property
    def n_uses(self) -> int:
        """Number of times that a token is counted: more than 1 if tables are tied."""
        return len(self.marginal.uses)

    @property
    def is_constant(self) -> bool:
        """Whether the counts are known: nothing on its axes is ever hidden or missing."""
        return not self.inner_axes

    def log_rising(self, counts: Ints) -> float:
        """Sum over cells of log Γ(α + S) - log Γ(α), times the power, for S (n_rows, n_columns)."""
        alpha = np.broadcast_to(self.alpha, counts.shape).ravel()
        terms = np.zeros(counts.size)
        log_rising_factorials(np.ascontiguousarray(alpha), counts.ravel(), terms)
        return self.power * float(terms.sum())


def tables_of(model: AllocationModel, observed: CellCounts) -> list[Table]:
    """The tables of the model's marginals, for these data."""
    inner = inner_indices(model, observed)
    return [_table(marginal, model, observed, inner) for marginal in marginals_of(model)]


def inner_indices(model: AllocationModel, observed: CellCounts) -> set[str]:
    """Indices that are hidden, or missing of some token."""
    missing = (observed.cells == MISSING).any(axis=0)
    sometimes = zip(model.visible, missing, strict=True)
    return {*model.hidden, *(name for name, is_missing in sometimes if is_missing)}


def _table(
    marginal: Marginal, model: AllocationModel, observed: CellCounts, inner: set[str]
) -> Table:
    n_axes = len(marginal.sizes)
    inner_axes = tuple(
        axis for axis in range(n_axes) if any(use[axis] in inner for use in marginal.uses)
    )
    row_axes = [axis for axis in range(n_axes) if axis not in inner_axes]
    strides, n_columns = mixed_radix([marginal.sizes[axis] for axis in inner_axes])
    column = {name: observed.cells[:, axis] for axis, name in enumerate(model.visible)}
    n_cells = len(observed.cells)
    values = np.zeros((len(marginal.uses), n_cells, len(row_axes)), dtype=np.int64)
    offset_of = np.zeros((len(marginal.uses), n_cells), dtype=np.int64)
    for u, use in enumerate(marginal.uses):
        for position, axis in enumerate(row_axes):
            values[u, :, position] = column[use[axis]]
        for axis, stride in zip(inner_axes, strides, strict=True):
            if use[axis] in column:
                offset_of[u] += stride * np.maximum(column[use[axis]], 0)
    row_values, row_of = np.unique(
        values.reshape(len(marginal.uses) * n_cells, len(row_axes)), axis=0, return_inverse=True
    )
    return Table(
        marginal=marginal,
        inner_axes=inner_axes,
        strides=strides,
        n_columns=n_columns,
        alpha=_alpha(marginal, row_axes, inner_axes, row_values),
        row_values=row_values,
        row_of=row_of.reshape(len(marginal.uses), n_cells),
        offset_of=offset_of,
    )


def _alpha(
    marginal: Marginal, row_axes: Sequence[int], inner_axes: Sequence[int], row_values: Ints
) -> Floats:
    alpha: Any = marginal.alpha
    if not isinstance(alpha, np.ndarray):
        return np.full((1, 1), alpha)
    if marginal.power < 0:
        # where it is 0 so are the numerators: the fraction is 0, not undefined
        alpha = np.where(alpha == 0, 1.0, alpha)
    ordered = alpha.transpose([*row_axes, *inner_axes])
    rows: Any = ordered[tuple(row_values.T)] if row_axes else ordered[np.newaxis][: len(row_values)]
    n_columns = int(np.prod(ordered.shape[len(row_axes) :], dtype=np.int64))
    return np.ascontiguousarray(rows.reshape(len(row_values), n_columns), dtype=np.float64)


def mixed_radix(sizes: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """Strides of an array of these sizes, the last axis the fastest, and its length."""
    strides = []
    length = 1
    for size in reversed(sizes):
        strides.append(length)
        length *= size
    return tuple(reversed(strides)), length
