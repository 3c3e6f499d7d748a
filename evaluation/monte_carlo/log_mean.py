"""Log-mean of importance weights and batch means of a chain, with their standard errors."""

import math
from typing import NamedTuple

import numpy as np

from evaluation.arrays import Floats


class LogMean(NamedTuple):
    """The logarithm of a mean of weights."""

    log_mean: float
    standard_error: float  # standard error of `log_mean`, to first order; NaN for one weight
    effective_sample_size: float  # (Σw)² / Σw²


def log_mean_of(log_weights: Floats) -> LogMean:
    """Return the log-mean of independent weights (N,), with its standard error."""
    largest = log_weights.max()
    if not np.isfinite(largest):
        return LogMean(float(largest), float("nan"), float("nan"))
    weights = np.exp(log_weights - largest)
    n, mean = len(weights), weights.mean()
    error = weights.std(ddof=1) / (np.sqrt(n) * mean) if n > 1 else np.nan
    size = weights.sum() ** 2 / (weights**2).sum()
    return LogMean(float(largest + np.log(mean)), float(error), float(size))


def standard_error_of_mean(records: Floats) -> Floats:
    """Return batch-means standard errors (...) of the means of a stationary chain (..., N).

    The chain is cut into ⌊√N⌋ batches of equal length, whose means are nearly independent if a
    batch is longer than the autocorrelation time. (The first values, which fill no batch, are left
    out.) NaN for fewer than four values, which make one batch.
    """
    n = records.shape[-1]
    n_batches = math.isqrt(n)
    if n_batches < 2:
        return np.full(records.shape[:-1], np.nan)
    size = n // n_batches
    batches = records[..., n - n_batches * size :].reshape(*records.shape[:-1], n_batches, size)
    spread = batches.mean(axis=-1).std(axis=-1, ddof=1)
    return np.asarray(spread / math.sqrt(n_batches))
