"""Batch-means standard error of an MCMC average."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def standard_error_of_mean(records: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard errors (...) of the means of records (..., N) of a stationary chain, in order.

    By batch means: N records are cut into ⌊√N⌋ batches of equal length, whose means are nearly
    independent if a batch is longer than the chain's memory. (Records that do not fill a batch, the
    first, are left out.) NaN for fewer than four records, which make one batch.
    """
    n = records.shape[-1]
    n_batches = math.isqrt(n)
    if n_batches < 2:
        return np.full(records.shape[:-1], np.nan)
    size = n // n_batches
    batches = records[..., n - n_batches * size :].reshape(*records.shape[:-1], n_batches, size)
    spread = batches.mean(axis=-1).std(axis=-1, ddof=1)
    return np.asarray(spread / math.sqrt(n_batches))
