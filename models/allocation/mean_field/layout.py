"""A plan laid down for the kernels of mean field, and what never changes in objectives."""

from typing import Any

import numpy as np
from scipy.special import gammaln, xlogy

from models.allocation.cell_counts import CellCounts
from models.allocation.inference_plan import InferencePlan, plan_of
from models.allocation.mean_field.belief_propagation import Cliques, Reading
from models.allocation.mean_field.table_logs import Rows
from models.allocation.model import AllocationModel
from models.allocation.sequence import log_orders, log_total_probability
from models.allocation.tables import Table
from models.arrays import Ints


def rows_of(plan: InferencePlan) -> Rows:
    """The rows of the dynamic tables."""
    tables = plan.dynamic

    def of_rows(values: list[int]) -> Ints:
        n_rows = [table.n_rows for table in tables]
        return np.repeat(np.array(values, dtype=np.int64), np.array(n_rows, dtype=np.int64))

    n_columns = of_rows([table.n_columns for table in tables])
    arrays = plan.arrays
    return Rows(
        row_at=np.concatenate([[0], np.cumsum(n_columns)])[:-1].astype(np.int64),
        n_columns=n_columns,
        power=of_rows([table.power for table in tables]),
        alpha=arrays.alpha,
        alpha_at=arrays.alpha_at,
        alpha_step=arrays.alpha_step,
        log_gamma_alpha=gammaln(arrays.alpha),
    )


def cliques_of(plan: InferencePlan) -> Cliques:
    """The cliques of the plan's arrays."""
    arrays = plan.arrays
    return Cliques(**{name: getattr(arrays, name) for name in Cliques._fields})


def reading_of(plan: InferencePlan, rows: Rows) -> Reading:
    """Positions in the tables that the arrays read."""
    arrays = plan.arrays
    address = rows.row_at[arrays.row_of] + arrays.offset_of if plan.n_factors else arrays.row_of
    return Reading(
        factor_start=arrays.factor_start,
        factor=arrays.factor,
        map_at=arrays.map_at,
        is_straight=arrays.is_straight,
        maps=arrays.maps,
        address=address,
    )


def log_of_counts_and_modes(model: AllocationModel, observed: CellCounts) -> float:
    """Constant part of the objective of "em" and "icm": constant tables, and priors.
    log p(θ*) = Σ α log θ* - log B(α), as Σ over tables of power · Σ (α log(α + S) - log Γ(α)), of
    which Σ α (log(α + S) - log α) over cells that occur is left to the dynamic tables.
    """
    plan = plan_of(model, observed)
    total = log_total_probability(model, observed.n_tokens) + log_orders(observed)
    for table in (*plan.dynamic, *plan.constant):
        total += table.power * _of_no_counts(table)
    for table in plan.constant:
        counts = plan.counts_of(table).astype(np.float64)
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
