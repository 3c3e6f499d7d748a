"""Sparsity and losses of a factorisation W (I, K) H (K, J) ≈ X (I, J): Cemgil et al. 2019, 5.4."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

Floats = NDArray[np.float64]

FLOOR = float(np.finfo(np.float32).eps)
"""Expectations below it count as it in the KL divergence, as in that of scikit-learn."""


class FactorQuality(NamedTuple):
    """Measures of one factorisation."""

    sparsity: float
    """Hoyer's, the mean of both factors, the columns of W scaled to sum to 1."""
    unscaled_sparsity: float
    """The same of the factors as they come: least squares leave the scale to chance."""
    squared_loss: float
    kl_divergence: float
    n_impossible: float
    """Tokens in cells that are given no expectation; with any, KL without `FLOOR` is infinite."""


def factor_quality(X: ArrayLike, W: ArrayLike, H: ArrayLike) -> FactorQuality:
    """Return the measures of W H ≈ X.

    The scale of each component is arbitrary, and sparsity depends on it: the columns of W are made
    to sum to 1, as those of a conditional probability table do, and H takes the scale.

    Raises ValueError if a number is negative or not finite, or the shapes do not fit.
    """
    X, W, H = (np.asarray(each, dtype=np.float64) for each in (X, W, H))
    for name, array in (("X", X), ("W", W), ("H", H)):
        if array.ndim != 2 or not np.isfinite(array).all() or (array < 0).any():
            raise ValueError(f"{name} must be a matrix of finite numbers, none negative")
    if X.shape != (W.shape[0], H.shape[1]) or W.shape[1] != H.shape[0]:
        raise ValueError(f"W {W.shape} times H {H.shape} must have the shape of X, {X.shape}")
    scale = W.sum(axis=0)
    normalised = W / np.where(scale > 0, scale, 1.0)
    scaled = H * scale[:, None]
    expected = normalised @ scaled
    return FactorQuality(
        (hoyer_sparsity(normalised) + hoyer_sparsity(scaled)) / 2,
        (hoyer_sparsity(W) + hoyer_sparsity(H)) / 2,
        squared_loss(X, expected),
        kl_divergence(X, np.maximum(expected, FLOOR)),
        float(X[expected == 0].sum()),
    )


def hoyer_sparsity(values: ArrayLike) -> float:
    """Return (√n − |x|₁ / |x|₂) / (√n − 1) of n numbers: 0 of equal ones, 1 if all but one are 0.

    Hoyer 2004. It is not defined, NaN, of zeros only and of a single number.
    """
    x = np.abs(np.asarray(values, dtype=np.float64)).ravel()
    length = float(np.sqrt((x**2).sum()))
    if x.size < 2 or length == 0:
        return float("nan")
    return float((np.sqrt(x.size) - x.sum() / length) / (np.sqrt(x.size) - 1))


def squared_loss(X: ArrayLike, expected: ArrayLike) -> float:
    """Return |X − X̂|², the squared Frobenius norm."""
    return float(((np.asarray(X, dtype=np.float64) - np.asarray(expected)) ** 2).sum())


def kl_divergence(X: ArrayLike, expected: ArrayLike) -> float:
    """Return Σ X log(X / X̂) − X + X̂, in nats; infinite if X̂ is 0 where X is not."""
    X, expected = np.asarray(X, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    return float((xlogy(X, X) - xlogy(X, expected) - X + expected).sum())
