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
    if counts.lacks_indices:
        raise ValueError(
            f"allocation must say the value of each index of all tokens, found {MISSING}"
        )
    return log_of_counts(complete, counts)
