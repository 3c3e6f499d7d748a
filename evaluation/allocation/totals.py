"""Total number of tokens, when the counts of some cells are missing.

Cemgil et al. 2019, example 3.4: p(S₊ = T, observed counts) is a sum over all the ways in which the
tokens that were not counted, T less the observed ones, can be spread over the missing cells.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logsumexp

from evaluation.allocation.exact import exact
from models.allocation.cell_counts import CellCounts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from evaluation.allocation.marginal_estimate import MarginalEstimate
    from evaluation.arrays import Bools, Floats, Ints
    from models.allocation.model import AllocationModel

MAX_COMPOSITIONS = 10_000  # ways to spread the tokens of one total; more are refused


def log_marginal_by_total(
    model: AllocationModel,
    X: ArrayLike,
    is_missing: ArrayLike,
    totals: ArrayLike,
    log_marginal: Callable[[AllocationModel, CellCounts], MarginalEstimate] = exact,
) -> Floats:
    """Return log p(S₊ = T, observed counts) of each T of `totals` (n_totals,).

    It is -inf where T is less than the observed tokens, or is more and no cell is missing.

    Parameters
    ----------
    model : AllocationModel
        With a rate `b` of its own: the default a / S₊ has no meaning where S₊ is unknown.
    X, is_missing : arrays (model.shape)
        Counts, 0 in the cells that are missing, and whether a cell is.
    log_marginal : callable
        Log-probability of a whole tensor, given the model and its counts; by default the exact
        one. `functools.partial(evaluation.log_marginal, method="smc")` estimates it.

    Raises ValueError if the model has no rate `b`, a shape or a count is wrong, or the tokens of
    some total can be spread in more than 10,000 ways.
    """
    if model.b is None:
        raise ValueError(
            "b must be given by the model, found None: its default a / S₊ needs the number of "
            "tokens, which is unknown; make the model with b=..."
        )
    observed = CellCounts.of(X, model).dense()
    missing = _checked_mask(is_missing, observed)
    wanted = _checked_totals(totals)
    n_missing = int(missing.sum())
    n_spread = wanted - observed.sum()
    for total, left in zip(wanted, n_spread, strict=True):
        n_ways = comb(int(left) + n_missing - 1, int(left)) if left >= 0 and n_missing else 0
        if n_ways > MAX_COMPOSITIONS:
            raise ValueError(
                f"totals: {left} of {total} tokens can be spread over {n_missing} missing cells in "
                f"{n_ways:,} ways, and at most {MAX_COMPOSITIONS:,} are summed over: ask for "
                "smaller totals, or leave fewer cells open"
            )
    result = np.full(len(wanted), -np.inf)
    for n, left in enumerate(n_spread):
        logs = []
        for spread in _compositions(int(left), n_missing):
            filled = observed.copy()
            filled[missing] = spread
            logs.append(log_marginal(model, CellCounts.of(filled, model)).log_marginal)
        if logs:
            result[n] = logsumexp(logs)
    return result


def _checked_mask(is_missing: ArrayLike, observed: Ints) -> Bools:
    mask = np.asarray(is_missing)
    if mask.dtype != np.bool_ or mask.shape != observed.shape:
        raise ValueError(
            f"is_missing must be an array of bool of the shape {observed.shape} of X, found one "
            f"of {mask.dtype} and shape {mask.shape}"
        )
    if observed[mask].any():
        cell = np.argwhere(mask & (observed > 0))[0].tolist()
        raise ValueError(f"X must be 0 where is_missing is True, found a count in cell {cell}")
    return mask


def _checked_totals(totals: ArrayLike) -> Ints:
    array: NDArray[Any] = np.asarray(totals)
    if array.ndim != 1 or (array.size and (array != np.floor(array)).any()):
        raise ValueError(f"totals must be a list of whole numbers, found {totals!r}")
    return array.astype(np.int64)


def _compositions(n: int, n_parts: int) -> Iterator[list[int]]:
    """All ways to write n as an ordered sum of `n_parts` whole numbers; none if n is negative."""
    if n < 0 or (n > 0 and n_parts == 0):
        return
    if n_parts == 0:
        yield []
        return
    for bars in combinations(range(n + n_parts - 1), n_parts - 1):
        edges = [-1, *bars, n + n_parts - 1]
        yield [after - before - 1 for before, after in pairwise(edges)]
