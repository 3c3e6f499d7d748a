"""Joint values of the hidden indices of a token, listed: columns of the tables for each."""

from dataclasses import dataclass

import numpy as np

from models.allocation.cell_counts import CellCounts
from models.allocation.cliques import TableMemoryError
from models.allocation.inference_plan import InferencePlan
from models.allocation.tables import mixed_radix
from models.arrays import Ints, Ints32

MAX_JOINT_VALUES = 10**6


@dataclass(frozen=True, eq=False)
class JointValues:
    """Columns of the tables for each joint value of the unknown indices of a cell."""

    plan: InferencePlan
    sizes: tuple[tuple[int, ...], ...]  # Cardinalities of the unknown indices of each pattern
    columns_at: Ints
    """(n_patterns,), first entry of each pattern in `columns`: (n_factors, n_values)."""
    columns: Ints32
    n_values: Ints  # (n_patterns,)
    chosen_at: Ints
    """(n_cells + 1,), first place of each cell in lists of its values that have tokens."""

    @classmethod
    def of(cls, plan: InferencePlan) -> "JointValues":
        """List joint values. Raises TableMemoryError if there are more than `MAX_JOINT_VALUES`."""
        sizes, columns = [], []
        for names in plan.unknown:
            of = {name: plan.model.cardinalities[name] for name in names}
            strides, n_values = mixed_radix(list(of.values()))
            if n_values > MAX_JOINT_VALUES:
                raise TableMemoryError(
                    f"all joint values of {', '.join(names)} must be listed, {n_values:.3g}, more "
                    f"than {MAX_JOINT_VALUES:,}: use method vb, em or smc, which sum over them "
                    "clique by clique"
                )
            sizes.append(tuple(of.values()))
            values = np.arange(n_values)
            of_name = {
                name: values // stride % of[name]
                for name, stride in zip(names, strides, strict=True)
            }
            for table in plan.dynamic:
                for use in table.marginal.uses:
                    column = np.zeros(n_values, dtype=np.int64)
                    for axis, stride in zip(table.inner_axes, table.strides, strict=True):
                        if use[axis] in of:
                            column += stride * of_name[use[axis]]
                    columns.append(column)
        n_values_of = np.array([int(np.prod(each, dtype=np.int64)) for each in sizes])
        room = np.minimum(plan.observed.counts, n_values_of[plan.arrays.pattern_of])
        return cls(
            plan=plan,
            sizes=tuple(sizes),
            columns_at=np.cumsum([0, *(plan.n_factors * n_values_of)])[:-1],
            columns=np.concatenate([*columns, np.zeros(0, np.int64)]).astype(np.int32),
            n_values=n_values_of,
            chosen_at=np.concatenate([[0], np.cumsum(room)]).astype(np.int64),
        )

    def allocation(self, chosen: Ints, numbers: Ints) -> CellCounts:
        """Return the tokens of all cells with all their indices, from the output of `modes`."""
        cell_of = np.repeat(np.arange(len(self.chosen_at) - 1), np.diff(self.chosen_at))
        return allocation_of(self.plan, cell_of, chosen, numbers)


def allocation_of(plan: InferencePlan, cell_of: Ints, values: Ints, numbers: Ints) -> CellCounts:
    """Return an allocation over all indices of the model: so many tokens of these cells of
    `plan.observed` with these joint values, (n,) each.
    """
    cells = all_values(plan, cell_of, values)
    sizes = plan.model.cardinalities
    return CellCounts(cells, numbers, tuple(sizes[name] for name in plan.model.indices))


def all_values(plan: InferencePlan, cell_of: Ints, values: Ints) -> Ints:
    """Return the values of all indices of the model (n, n_indices) of tokens of these cells of
    `plan.observed` with these joint values, (n,) each.
    """
    model, observed = plan.model, plan.observed
    columns = dict(zip(model.visible, observed.cells[cell_of].T, strict=True))
    columns |= {name: np.zeros(len(cell_of), dtype=np.int64) for name in model.hidden}
    for pattern, names in enumerate(plan.unknown):
        here = plan.arrays.pattern_of[cell_of] == pattern
        strides, _ = mixed_radix([model.cardinalities[name] for name in names])
        for name, stride in zip(names, strides, strict=True):
            columns[name][here] = values[here] // stride % model.cardinalities[name]
    return np.stack([columns[name] for name in model.indices], axis=1)


def values_of(plan: InferencePlan, allocation: CellCounts, name: str = "allocation") -> Ints32:
    """Return the joint values (n_tokens,) of the tokens of an allocation over all indices of the
    model, in the order of the cells of `plan.observed`.

    Raises ValueError, which calls the allocation by `name`, if it has other sizes or counts, or a
    token lacks an index.
    """
    model, observed = plan.model, plan.observed
    wanted = tuple(model.cardinalities[name] for name in model.indices)
    if allocation.shape != wanted or allocation.lacks_indices:
        raise ValueError(f"{name} must say all indices of each token, of shape {wanted}")
    if observed.lacks_indices:
        raise ValueError(f"X must say all visible indices of each token where {name} is given")
    cells = allocation.cells[:, [model.indices.index(name) for name in model.visible]]
    (unknown,) = plan.unknown
    value = np.zeros(len(cells), dtype=np.int64)
    for index in unknown:
        value = value * model.cardinalities[index] + allocation.cells[:, model.indices.index(index)]
    order = np.lexsort([*cells.T[::-1]]) if len(model.visible) else np.arange(len(cells))
    tokens = np.repeat(cells[order], allocation.counts[order], axis=0)
    if not np.array_equal(tokens, np.repeat(observed.cells, observed.counts, axis=0)):
        raise ValueError(f"{name} must have the counts of X where hidden indices are summed out")
    return np.repeat(value[order], allocation.counts[order]).astype(np.int32)
