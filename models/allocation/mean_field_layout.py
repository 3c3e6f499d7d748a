"""A program laid down for the kernels of mean field, and what never changes in objectives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from models.allocation.mean_field_kernel import Cliques, Reading
from models.allocation.mean_field_logs import Rows
from models.allocation.program import program_of
from models.allocation.sequence import log_orders, log_total_probability

if TYPE_CHECKING:
    from models.allocation.cell_counts import CellCounts
    from models.allocation.model import AllocationModel
    from models.allocation.program import Program
    from models.allocation.tables import Table

Ints = NDArray[np.int64]


def rows_of(program: Program) -> Rows:
    """The rows of the dynamic tables."""
    tables = program.dynamic

    def of_rows(values: list[int]) -> Ints:
        n_rows = [table.n_rows for table in tables]
        return np.repeat(np.array(values, dtype=np.int64), np.array(n_rows, dtype=np.int64))

    n_columns = of_rows([table.n_columns for table in tables])
    steps = program.steps
    return Rows(
        row_at=np.concatenate([[0], np.cumsum(n_columns)])[:-1].astype(np.int64),
        n_columns=n_columns,
        power=of_rows([table.power for table in tables]),
        alpha=steps.alpha,
        alpha_at=steps.alpha_at,
        alpha_step=steps.alpha_step,
        log_gamma_alpha=gammaln(steps.alpha),
    )


def cliques_of(program: Program) -> Cliques:
    """The cliques of the program's steps."""
    steps = program.steps
    return Cliques(**{name: getattr(steps, name) for name in Cliques._fields})


def reading_of(program: Program, rows: Rows) -> Reading:
    """Which numbers of the tables the steps read."""
    steps = program.steps
    address = rows.row_at[steps.row_of] + steps.offset_of if program.n_factors else steps.row_of
    sizes = np.repeat(steps.n_separator * steps.n_rest, np.diff(steps.factor_start))
    is_straight = [
        np.array_equal(steps.maps[at : at + size], np.arange(size))
        for at, size in zip(steps.map_at, sizes, strict=True)
    ]
    return Reading(
        factor_start=steps.factor_start,
        factor=steps.factor,
        map_at=steps.map_at,
        is_straight=np.array(is_straight, dtype=np.bool_),
        maps=steps.maps,
        address=address,
    )


def log_of_counts_and_modes(model: AllocationModel, observed: CellCounts) -> float:
    """What "em" and "icm" have of the constant tables, and of all priors what never changes.

    log p(θ*) = Σ α log θ* - log B(α), as Σ over tables of power · Σ (α log(α + S) - log Γ(α)), of
    which Σ α (log(α + S) - log α) over cells that occur is left to the dynamic tables.
    """
    program = program_of(model, observed)
    total = log_total_probability(model, observed.n_tokens) + log_orders(observed)
    for table in (*program.dynamic, *program.constant):
        total += table.power * _of_no_counts(table)
    for table in program.constant:
        counts = program.counts_of(table).astype(np.float64)
        alpha = np.broadcast_to(table.alpha, counts.shape)
        held = counts > 0
        alpha, counts = alpha[held], counts[held]
        terms: Any = xlogy(alpha + counts, alpha + counts) - xlogy(alpha, alpha)
        total += table.power * float(np.where(alpha > 0, terms, -np.inf).sum())
    return total


def _of_no_counts(table: Table) -> float:
    """Σ α log α - log Γ(α) over all cells of a marginal, those that do not occur included."""
    alpha = np.asarray(table.marginal.alpha, dtype=np.float64)
    n_cells = 1.0 if alpha.ndim else float(np.prod(table.marginal.sizes, dtype=np.float64))
    alpha = alpha[alpha > 0]
    return n_cells * float((xlogy(alpha, alpha) - gammaln(alpha)).sum())
