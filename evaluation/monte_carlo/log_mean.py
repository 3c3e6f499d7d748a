"""Means of weights that are known by their logarithms."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class LogMean(NamedTuple):
    """The logarithm of a mean of weights."""

    log_mean: float
    standard_error: float
    """Standard error of `log_mean`, to first order; NaN for one weight."""
    effective_sample_size: float
    """(Σw)² / Σw²."""


def log_mean_of(log_weights: NDArray[np.float64]) -> LogMean:
    """The mean of independent weights (N,), as its logarithm, and how sure it is."""
    largest = log_weights.max()
    if not np.isfinite(largest):
        return LogMean(float(largest), float("nan"), float("nan"))
    weights = np.exp(log_weights - largest)
    n, mean = len(weights), weights.mean()
    error = weights.std(ddof=1) / (np.sqrt(n) * mean) if n > 1 else np.nan
    size = weights.sum() ** 2 / (weights**2).sum()
    return LogMean(float(largest + np.log(mean)), float(error), float(size))
