"""Log-probability of a count tensor, from that of its tokens in order; and of complete counts.

Every method that scores a tensor computes the probability of its tokens in some order, given how
many there are. The counts have as many orders as the multinomial coefficient says, and the number
of tokens its own law (eqs. 3.14 to 3.16).
"""

from dataclasses import replace

import numpy as np
from scipy.special import gammaln

from models.allocation.cell_counts import MISSING, CellCounts
from models.allocation.inference_plan import plan_of
from models.allocation.model import AllocationModel
from models.allocation.rising_factorial import log_rising_factorials
from models.allocation.tables import marginals_of
from models.arrays import Floats


def rate_of(model: AllocationModel, n_tokens: int) -> float:
    """The rate b: the model's, or a / S₊ (a itself where there is no token)."""
    return model.b if model.b is not None else model.a / max(n_tokens, 1)


def log_total_probability(model: AllocationModel, n_tokens: int) -> float:
    """Log-probability of the number of tokens (eq. 3.15): negative binomial."""
    a, b = model.a, rate_of(model, n_tokens)
    rising = np.zeros(1)
    log_rising_factorials(np.array([a]), np.array([n_tokens]), rising)
    # a log b - (a + T) log(b + 1), without the difference of two large numbers
    return float(rising[0] - gammaln(n_tokens + 1) - n_tokens * np.log1p(b) - a * np.log1p(1.0 / b))


def log_orders(observed: CellCounts) -> float:
    """Log of the number of orders of the tokens that give the same counts.
    Where indices are missing of some tokens, which tokens those are is taken as given.
    """
    _, pattern_of = np.unique(observed.cells == MISSING, axis=0, return_inverse=True)
    tokens = np.bincount(pattern_of.ravel(), observed.counts)
    return float(gammaln(tokens + 1).sum() - gammaln(observed.counts + 1).sum())


def log_of_counts(model: AllocationModel, observed: CellCounts) -> float:
    """Term that turns log p(tokens in order | their number) into log p(X) of the counts.
    Holds the number of tokens, their orders and the tables that nothing hidden has part in.
    """
    return (
        log_total_probability(model, observed.n_tokens)
        + log_orders(observed)
        + plan_of(model, observed).constant_log_probability()
    )


def log_allocation(model: AllocationModel, allocation: CellCounts) -> float:
    """Log π(S) of a complete allocation (eq. 3.11): cells over `model.indices`, in this order.
    Raises ValueError if the shape is not that of all indices, or an index is missing of some token.
    """
    complete = replace(model, visible=model.indices)
    counts = CellCounts.of(allocation, complete)
    if (counts.cells == MISSING).any():
        raise ValueError(
            f"allocation must say the value of each index of all tokens, found {MISSING}"
        )
    return log_of_counts(complete, counts)


def log_allocations(model: AllocationModel, allocations: CellCounts, n_allocations: int) -> Floats:
    """Log π(S) of many complete allocations (n_allocations,), but for the numbers of orders, which
    the model has no part in.

    The first axis of `allocations` is of these, the others are `model.indices`, in this order.
    """
    of, counts = allocations.cells[:, 0], allocations.counts
    n_tokens = np.bincount(of, counts, n_allocations).astype(np.int64)
    totals = {n: log_total_probability(model, int(n)) for n in np.unique(n_tokens)}
    found = np.array([totals[n] for n in n_tokens])
    axis_of = {name: 1 + axis for axis, name in enumerate(model.indices)}
    for marginal in marginals_of(model):
        n_entries = int(np.prod(marginal.sizes, dtype=np.int64))
        keys = []
        for use in marginal.uses:
            key = of.copy()
            for name, size in zip(use, marginal.sizes, strict=True):
                key = key * size + allocations.cells[:, axis_of[name]]
            keys.append(key)
        entries, places = np.unique(np.concatenate(keys), return_inverse=True)
        numbers = np.bincount(places.ravel(), np.tile(counts, len(keys))).astype(np.int64)
        alpha = (
            np.full(len(entries), marginal.alpha)
            if np.ndim(marginal.alpha) == 0
            else np.ravel(marginal.alpha)[entries % n_entries]
        )
        if marginal.power < 0:
            alpha = np.where(alpha == 0, 1.0, alpha)  # as the numerators are 0, the fraction is
        terms = np.zeros(len(entries))
        log_rising_factorials(alpha, numbers, terms)
        found += marginal.power * np.bincount(entries // n_entries, terms, n_allocations)
    return found
