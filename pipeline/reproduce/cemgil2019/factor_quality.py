"""How sparse the factors of a matrix are, and how near their product is to it.

The measures of Cemgil et al. 2019, section 5.4, of a factorisation W (I, K) H (K, J) ≈ X (I, J).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Floats = NDArray[np.float64]

FLOOR = float(np.finfo(np.float32).eps)
"""What KL divergence takes for the expectation of a cell that is given none, or less than this;
scikit-learn's, of its own KL."""


class FactorQuality(NamedTuple):
    """What is said of one factorisation."""

    sparsity: float
    """Hoyer's, the mean of both factors, the columns of W scaled to sum to 1."""
    unscaled_sparsity: float
    """The same of the factors as they come: least squares leave the scale to chance."""
    squared_loss: float
    kl_divergence: float
    """Expectations below `FLOOR` taken for `FLOOR`."""
    n_impossible: float
    """Tokens in cells that are given no expectation: if there are any, KL divergence is infinite.
    """


def factor_quality(X: ArrayLike, W: ArrayLike, H: ArrayLike) -> FactorQuality:
    """The measures of W H ≈ X.

    The scale of each component is arbitrary, and sparsity depends on it: the columns of W are made
    to sum to 1, as those of a conditional probability table do, and H takes the scale.

    Raises
    ------
    ValueError
        If a number is negative or not finite, or the shapes do not fit.
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
    """(√n − |x|₁ / |x|₂) / (√n − 1) of n numbers: 0 if all are equal, 1 if all but one are 0.

    Hoyer 2004. Of nothing but zeros, and of a single number, it is not defined: NaN.
    """
    x = np.abs(np.asarray(values, dtype=np.float64)).ravel()
    length = float(np.sqrt((x**2).sum()))
    if x.size < 2 or length == 0:
        return float("nan")
    return float((np.sqrt(x.size) - x.sum() / length) / (np.sqrt(x.size) - 1))


def squared_loss(X: ArrayLike, expected: ArrayLike) -> float:
    """|X − X̂|², the squared Frobenius norm."""
    return float(((np.asarray(X, dtype=np.float64) - np.asarray(expected)) ** 2).sum())


def kl_divergence(X: ArrayLike, expected: ArrayLike) -> float:
    """Σ X log(X / X̂) − X + X̂, in nats; infinite if X̂ is 0 where X is not."""
    X, expected = np.asarray(X, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    if ((expected == 0) & (X > 0)).any():
        return float("inf")
    safe = np.where(expected > 0, expected, 1.0)
    return float((xlogy(X, X) - xlogy(X, safe) - X + expected).sum())
