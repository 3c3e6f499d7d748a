"""Conditional probability tables as numbers on the plan's tables, and where mean field starts.

After cancellation an index's own table may be gone, but then a larger one has taken it in: the log
of its probabilities is added to the numbers of any table whose axes hold its own.
"""

from collections.abc import Mapping

import numpy as np

from models.allocation.inference_plan import InferencePlan
from models.allocation.model import AllocationModel
from models.allocation.tables import mixed_radix
from models.arrays import Floats, Ints

START_NOISE = 0.1  # Added to pseudo-counts of tables to start from (Cemgil et al. 2019)


def entries_of(plan: InferencePlan, group: tuple[str, ...]) -> tuple[slice, Ints] | None:
    """Positions at which the table shared by a group of indices is read, and its entry there.
    Returns a part of the plan's state that holds a table with all axes of the group's, and for each
    number there its position in the group's own table, flat. None if no index is ever unknown.
    """
    model = plan.model
    families = tuple(model.family(name) for name in group)
    if not plan.unknown_names & {name for family in families for name in family}:
        return None
    start = 0
    for table in plan.dynamic:
        uses = table.marginal.uses
        stop = start + table.n_rows * table.n_columns
        if uses == families or (len(uses) == len(group) == 1 and set(families[0]) <= set(uses[0])):
            break
        start = stop
    else:
        raise AssertionError(f"no table holds {group}")
    sizes = [table.marginal.sizes[axis] for axis in table.inner_axes]
    of_column = np.unravel_index(np.arange(table.n_columns), sizes)
    row_axes = [axis for axis in range(len(table.marginal.sizes)) if axis not in table.inner_axes]
    strides, _ = mixed_radix(model.table_shape(group[0]))
    position = np.zeros((table.n_rows, table.n_columns), dtype=np.int64)
    for name, stride in zip(families[0], strides, strict=True):
        axis = uses[0].index(name)
        if axis in table.inner_axes:
            position += stride * of_column[table.inner_axes.index(axis)]
        else:
            position += stride * table.row_values[:, row_axes.index(axis), np.newaxis]
    return slice(start, stop), position.ravel()


def log_factors_of(plan: InferencePlan, tables: Mapping[str, Floats]) -> Floats:
    """The logs of given conditional probability tables, one of each group, on the plan's."""
    log_factor = np.zeros(plan.n_state)
    for group in plan.model.table_groups():
        where = entries_of(plan, group)
        if where is not None:
            with np.errstate(divide="ignore"):
                log_factor[where[0]] += np.log(tables[group[0]].ravel()[where[1]])
    return log_factor


def random_log_factors(plan: InferencePlan, rng: np.random.Generator) -> Floats:
    """Log factors of tables drawn from Dirichlet(α + 0.1), row by row.
    Only entries that occur are drawn; the rest of a row is one more variate, as Gammas add up.
    """
    model = plan.model
    log_factor = np.zeros(plan.n_state)
    for group in model.table_groups():
        where = entries_of(plan, group)
        if where is not None:
            occurring, number = np.unique(where[1], return_inverse=True)
            log_factor[where[0]] += _log_dirichlet(model, group[0], occurring, rng)[number.ravel()]
    return log_factor


def _log_dirichlet(
    model: AllocationModel, name: str, occurring: Ints, rng: np.random.Generator
) -> Floats:
    """Logs of the entries `occurring` (ascending) of a drawn table; -inf where α = 0."""
    n_values = model.cardinalities[name]
    start = np.flatnonzero(np.diff(occurring // n_values, prepend=-1))
    parents = occurring[start] // n_values
    n_drawn = np.diff(start, append=len(occurring))
    if model.prior is None:
        alpha = np.full(len(occurring), model.flat_pseudo_count(name))
        rest = alpha[start] * (n_values - n_drawn)
        n_rest = n_values - n_drawn
    else:
        rows = model.pseudo_counts(name).reshape(-1, n_values)[parents]
        alpha = rows[np.repeat(np.arange(len(start)), n_drawn), occurring % n_values]
        n_rest = (rows > 0).sum(axis=1) - np.add.reduceat(alpha > 0, start, dtype=np.int64)
        rest = np.maximum(rows.sum(axis=1) - np.add.reduceat(alpha, start), 0.0)
    drawn = rng.standard_gamma(np.where(alpha > 0, alpha + START_NOISE, 0.0))
    others = rng.standard_gamma(np.where(n_rest > 0, rest + START_NOISE * n_rest, 0.0))
    total = np.add.reduceat(drawn, start) + others
    least = np.finfo(np.float64).tiny  # a variate that underflowed is still possible
    log_total = np.log(np.maximum(total, least))
    log_drawn = np.where(alpha > 0, np.log(np.maximum(drawn, least)), -np.inf)
    log_theta: Floats = log_drawn - np.repeat(log_total, n_drawn)
    return log_theta
