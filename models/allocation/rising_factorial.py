"""log Γ(α + n) - log Γ(α), the log-probability scale of a run of tokens in one cell."""

from math import lgamma

import numpy as np

from models.arrays import Floats, Ints
from models.kernel import kernel

FEW = 10_000
"""Tokens up to which factors are multiplied: the difference of two log Γ of large α loses digits.
"""


@kernel
def log_rising_factorials(alpha: Floats, counts: Ints, result: Floats) -> None:
    """Write log rising factorials of n cells (n,) into `result`; -inf if α = 0 and n > 0."""
    for i in range(len(counts)):
        if counts[i] > 0 and alpha[i] <= 0.0:
            result[i] = -np.inf
        elif counts[i] <= FEW:
            total = 0.0
            for n in range(counts[i]):
                total += np.log(alpha[i] + n)
            result[i] = total
        else:
            result[i] = lgamma(alpha[i] + counts[i]) - lgamma(alpha[i])
