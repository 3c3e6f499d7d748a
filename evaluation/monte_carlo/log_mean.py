"""Log-mean of importance weights and batch means of a chain, with their standard errors."""

import math
from typing import NamedTuple

import numpy as np

from evaluation.arrays import Floats, Ints, Ints32


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


def genealogy_variance(log_weights: Floats, founder: Ints | Ints32) -> float:
    """Return the relative variance of the estimate of one run of N resampled particles.

    `founder` (N,) says which initial particle each descends from. Particles of different founders
    are nearly independent, so that the shares S of the total weight that founders end with tell
    the variance: (N Σ S² - 1) / (N - 1), that of independent particles if none was resampled (Chan
    & Lai 2013; Lee & Whiteley 2018, without their correction for multinomial resampling). It is 1,
    the largest there is, if all descend from one; NaN for a single particle.
    """
    n_particles = len(log_weights)
    if n_particles < 2:
        return float("nan")
    weights = np.exp(log_weights - log_weights.max())
    share = np.bincount(founder, weights / weights.sum())
    return float(max(0.0, (n_particles * (share**2).sum() - 1.0) / (n_particles - 1)))


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
