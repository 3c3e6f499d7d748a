"""The order of tokens in which exact enumeration has the fewest states to keep."""

import numpy as np
from scipy.special import gammaln

from evaluation.arrays import Ints
from models.allocation.tables import Table

MAX_TRIALS = 2000  # orders of the tokens that are tried: a second or less
SEARCH_EFFORT = 4e7
"""Counts that are looked at in all trials: fewer orders are tried where there are many rows."""
STATES_A_TRIAL = 3e5
"""Estimated states that are no more work than to try another order is: measured."""


def cell_order(uses: Ints, counts: Ints, tables: list[Table], table_of: Ints) -> Ints:
    """An order of the cells in which few rows are open at a time, found by trial.

    Rows are put in order; cells follow by the first of their rows, then by the next. So a row has
    all its tokens together, except those that rows before it had already. `uses` (n_cells, n_rows)
    is how often a token of a cell is counted in a row, `counts` (n_cells,) the tokens of cells,
    `table_of` (n_rows,) the number of a row's table.
    """
    n_cells = len(counts)
    is_local = (uses > 0).any(axis=0) & ~(uses > 0).all(axis=0)
    local = np.flatnonzero(is_local)
    if not len(local) or n_cells < 3:
        return np.arange(n_cells)
    n_tokens = (uses * counts[:, np.newaxis]).sum(axis=0)
    touched = uses[:, local] > 0
    n_touched = int(touched.sum(axis=1).max())

    def cells_by(ranked: Ints) -> Ints:
        rank = np.empty(len(local), dtype=np.int64)
        rank[ranked] = np.arange(len(local))
        ranks = np.sort(np.where(touched, rank, len(local)), axis=1)[:, :n_touched]
        return np.lexsort(ranks.T[::-1])

    starts = [
        np.lexsort((sign * n_tokens[local], table_of[local] != t))
        for t in np.unique(table_of[local])
        for sign in (1, -1)
    ]
    n_trials = int(min(MAX_TRIALS, SEARCH_EFFORT / (uses.size + uses.shape[1] * counts.sum())))
    if n_trials < len(starts):
        return cells_by(starts[0])
    cost_of = _StateCount(uses, counts, tables, table_of)
    rng = np.random.default_rng(0)
    costs = [cost_of(cells_by(ranked)) for ranked in starts]
    best, least = starts[int(np.argmin(costs))], min(costs)
    for trial in range(n_trials):
        if least < np.log(STATES_A_TRIAL * (trial + 1)):
            break
        one, other = rng.integers(len(local), size=2)
        moved = np.insert(np.delete(best, one), other, best[one])
        cost = cost_of(cells_by(moved))
        if cost <= least:
            best, least = moved, cost
    return cells_by(best)


class _StateCount:
    """Log of about the number of states that an order of the cells leads through, at its worst.

    The counts that a row of C columns can have are binom(n + C - 1, C - 1) after n tokens. Rows
    that every token counts in follow from the others, unless of each finer table some is closed.
    """

    def __init__(self, uses: Ints, counts: Ints, tables: list[Table], table_of: Ints) -> None:
        self.weighted = uses * counts[:, np.newaxis]
        self.total = self.weighted.sum(axis=0)
        n_columns = np.array([tables[t].n_columns for t in table_of])[:, np.newaxis]
        n = np.arange(self.total.max() + 1)
        self.log_states = gammaln(n + n_columns) - gammaln(n + 1) - gammaln(n_columns)
        self.finer: list[tuple[int, list[Ints]]] = []
        for r in np.flatnonzero((uses > 0).all(axis=0)):
            names = tables[table_of[r]].inner_names
            finer = [
                np.flatnonzero(table_of == t)
                for t, table in enumerate(tables)
                if table.n_rows > 1 and table.n_uses == 1 and table.inner_names >= names
            ]
            if finer:
                self.finer.append((int(r), finer))

    def __call__(self, order: Ints) -> float:
        new = self.weighted[order]
        counted = np.cumsum(new, axis=0)
        is_closed = counted - new == self.total
        is_open = (counted > 0) & ~is_closed
        for r, finer in self.finer:
            is_open[:, r] &= np.all([is_closed[:, of].any(axis=1) for of in finer], axis=0)
        states = np.where(is_open, self.log_states[np.arange(len(self.total)), counted], 0.0)
        return float(np.logaddexp.reduce(states.sum(axis=1)))
