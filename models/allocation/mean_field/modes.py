"""The most probable allocation of each cell's tokens when the tables are given.

The x tokens of a cell are multinomial over the joint values h of its unknown indices, with
probabilities Φ_h. The mode maximises Σ_h s_h log Φ_h - log Γ(s_h + 1) with Σ s_h = x. A further
token at h gains log Φ_h - log(s_h + 1), which falls with s_h, so the greedy algorithm is exact (Fox
1966). It is D'Hondt's method of apportionment, by which each h has at least ⌊x Φ_h⌋: the algorithm
starts from these.
"""

from dataclasses import dataclass

import numpy as np

from models.allocation.cell_counts import CellCounts
from models.allocation.cliques import TableMemoryError
from models.allocation.inference_plan import InferencePlan
from models.allocation.tables import mixed_radix
from models.arrays import Floats, Ints, Ints32
from models.kernel import kernel

MAX_JOINT_VALUES = 10**6
ROUNDING_MARGIN = 1.0 - 1e-12  # Factor of x Φ_h: rounding never gives a value more than its ⌊x Φ_h⌋


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
                    f"modes of allocations need all joint values of {', '.join(names)} listed, "
                    f"{n_values:.3g}, more than {MAX_JOINT_VALUES:,}: use method vb or em, which "
                    "sum over them clique by clique"
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
        model = self.plan.model
        cell_of = np.repeat(np.arange(len(self.chosen_at) - 1), np.diff(self.chosen_at))
        cells = np.zeros((len(chosen), len(model.indices)), dtype=np.int64)
        for axis, name in enumerate(model.indices):
            if name in model.visible:
                cells[:, axis] = self.plan.observed.cells[cell_of, model.visible.index(name)]
        pattern_of = self.plan.arrays.pattern_of[cell_of]
        for pattern, names in enumerate(self.plan.unknown):
            of_pattern = pattern_of == pattern
            if names:
                values = np.unravel_index(chosen[of_pattern], self.sizes[pattern])
                for name, value in zip(names, values, strict=True):
                    cells[of_pattern, model.indices.index(name)] = value
        shape = tuple(model.cardinalities[name] for name in model.indices)
        return CellCounts(cells, numbers, shape)


@kernel
def sink(heap: Ints, size: int, place: int, gain: Floats) -> None:
    """Move an entry down a heap whose top has the largest gain; ties go to the lowest number."""
    held = heap[place]
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size:
            one, other = heap[below], heap[below + 1]
            if gain[other] > gain[one] or (gain[other] == gain[one] and other < one):
                below += 1
        one = heap[below]
        if gain[held] > gain[one] or (gain[held] == gain[one] and held < one):
            break
        heap[place] = one
        place = below
    heap[place] = held


@kernel
def multinomial_mode(
    probability: Floats, n_tokens: int, tokens: Ints, heap: Ints, gain: Floats
) -> None:
    """Fill `tokens` with the mode of the multinomial of `n_tokens`; the other arrays are scratch.
    `probability` sums to 1; all arrays are of its length.
    """
    n_values = probability.shape[0]
    left = n_tokens
    for h in range(n_values):
        tokens[h] = int(n_tokens * probability[h] * ROUNDING_MARGIN)
        left -= tokens[h]
        gain[h] = probability[h] / (tokens[h] + 1)
        heap[h] = h
    if left > 0:
        for place in range(n_values // 2 - 1, -1, -1):
            sink(heap, n_values, place, gain)
    while left > 0:
        h = heap[0]
        tokens[h] += 1
        left -= 1
        gain[h] = probability[h] / (tokens[h] + 1)
        sink(heap, n_values, 0, gain)


@kernel
def modes(
    columns: Ints32,
    columns_at: Ints,
    n_values_of: Ints,
    pattern_of: Ints,
    address: Ints,
    log_factor: Floats,
    counts: Ints,
    chosen_at: Ints,
    start: int,
    stop: int,
    chosen: Ints,
    numbers: Ints,
    expected: Floats,
) -> bool:
    """Allocate the tokens of cells `start` to `stop`, adding them to `expected`. From `chosen_at`
    of the cell on, `chosen` receives the joint values that have tokens and `numbers` their counts,
    0 in unused room. Returns False if a cell is impossible; that cell is skipped.
    """
    n_factors = address.shape[1]
    largest = n_values_of.max()
    phi, gain = np.empty(largest), np.empty(largest)
    tokens, heap = np.empty(largest, dtype=np.int64), np.empty(largest, dtype=np.int64)
    is_possible = True
    for cell in range(start, stop):
        pattern = pattern_of[cell]
        n_values, at = n_values_of[pattern], columns_at[pattern]
        phi[:n_values] = 0.0
        for f in range(n_factors):
            for h in range(n_values):
                phi[h] += log_factor[address[cell, f] + columns[at + f * n_values + h]]
        top = phi[:n_values].max()
        if top == -np.inf:
            is_possible = False
            continue
        for h in range(n_values):
            phi[h] = np.exp(phi[h] - top)
        total = phi[:n_values].sum()
        for h in range(n_values):
            phi[h] /= total
        multinomial_mode(phi[:n_values], counts[cell], tokens, heap, gain)
        place = chosen_at[cell]
        for h in range(n_values):
            if tokens[h] > 0:
                chosen[place], numbers[place] = h, tokens[h]
                place += 1
                for f in range(n_factors):
                    expected[address[cell, f] + columns[at + f * n_values + h]] += tokens[h]
        numbers[place : chosen_at[cell + 1]] = 0
    return is_possible
