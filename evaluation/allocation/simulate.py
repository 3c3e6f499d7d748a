"""Count tensors drawn from an allocation model, with the allocation of their tokens."""

import networkx as nx
import numpy as np

from evaluation.arrays import Floats, Ints, Rng
from models.allocation.cell_counts import CellCounts
from models.allocation.model import AllocationModel
from models.checks import check_whole


def draw(model: AllocationModel, n_tokens: int, rng: Rng) -> tuple[CellCounts, CellCounts]:
    """Draw `n_tokens` tokens from tables that are drawn from their Dirichlet priors.

    Of the tables only those rows are drawn whose parents' values occur, each once, so that a graph
    may have tables that are larger than memory. Cemgil et al. 2019, eqs. 3.3 to 3.6.

    Returns counts X over the visible indices, of `model.shape`, and S over all indices, in the
    order of `model.indices`: an exact draw from the posterior of allocations, given X. Raises
    ValueError if `n_tokens` is negative, or the prior gives a row that occurs no positive
    pseudo-count; TypeError if `n_tokens` is not a whole number.
    """
    check_whole("n_tokens", n_tokens, 0)
    group_of = {name: group for group in model.table_groups() for name in group}
    drawn: dict[tuple[tuple[str, ...], tuple[int, ...]], Floats] = {}
    value_of: dict[str, Ints] = {}
    # In an order that parents and names alone decide.
    for name in nx.lexicographical_topological_sort(model.graph(), key=model.indices.index):
        of_parents = [value_of[parent] for parent in model.parents[name]]
        parents = np.stack(of_parents, axis=1) if of_parents else np.zeros((n_tokens, 0), np.int64)
        rows, row_of = np.unique(parents, axis=0, return_inverse=True)
        values = np.empty(n_tokens, dtype=np.int64)
        for r, row in enumerate(rows):
            key = group_of[name], tuple(row.tolist())
            if key not in drawn:
                drawn[key] = _conditional(model, name, key[1], rng)
            tokens = np.flatnonzero(row_of.ravel() == r)
            values[tokens] = np.searchsorted(drawn[key], rng.random(len(tokens)), side="right")
        value_of[name] = values

    def counts(names: tuple[str, ...]) -> CellCounts:
        cells = np.stack([value_of[name] for name in names], axis=1)
        shape = tuple(model.cardinalities[name] for name in names)
        return CellCounts(cells, np.ones(n_tokens, dtype=np.int64), shape)

    return counts(tuple(model.visible)), counts(model.indices)


def _conditional(model: AllocationModel, name: str, parents: tuple[int, ...], rng: Rng) -> Floats:
    """Cumulative probabilities of an index's values given those of its parents, drawn."""
    size = model.cardinalities[name]
    if model.prior is None:
        alpha = np.full(size, model.flat_pseudo_count(name))
    else:
        alpha = model.pseudo_counts(name)[parents]
    held = np.flatnonzero(alpha)
    if not len(held):
        raise ValueError(
            f"prior of {name!r} has no positive pseudo-count at {parents} of "
            f"({', '.join(model.parents[name])}), which was drawn"
        )
    theta = np.zeros(size)
    theta[held] = rng.dirichlet(alpha[held])
    sums = np.cumsum(theta)
    cumulative: Floats = sums / sums[-1]
    return cumulative
