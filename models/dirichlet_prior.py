"""Dirichlet priors: the settings that name them and the Newton step that learns them."""

import numpy as np
from scipy.special import polygamma, psi

from models.arrays import Floats

SMALLEST, LARGEST = 1e-37, 1e15  # of the largest entry of a prior, for samplers in float32


def prior_vector(setting: object, size: int, name: str) -> Floats:
    """Return the parameters (size,) that a setting starts from: a number for every entry, or an
    array.

    "symmetric" and "learned" start from 1/size; "asymmetric" falls with the index as 1/(i + √size)
    and sums to 1 (Řehůřek's choice in gensim, after Wallach, Mimno & McCallum 2009). Raises
    ValueError for other settings, a wrong shape, or values that are not positive and finite.
    """
    if isinstance(setting, str):
        if setting in {"symmetric", "learned"}:
            return np.full(size, 1.0 / size)
        if setting == "asymmetric":
            falling = 1.0 / (np.arange(size) + np.sqrt(size))
            return np.asarray(falling / falling.sum())
        raise ValueError(
            f'{name} = {setting!r}: give a number, an array, "symmetric", "asymmetric" or "learned"'
        )
    try:
        values = np.array(setting, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} = {setting!r} is not a number or an array of numbers") from None
    if values.shape not in {(), (size,)}:
        raise ValueError(f"{name} must be a number or have shape ({size},), found {values.shape}")
    if not np.isfinite(values).all() or (values <= 0).any():
        raise ValueError(f"{name} must be positive and finite, found {setting!r}")
    return np.full(size, values)


def newton_step(alpha: Floats, mean_log: Floats, n: float) -> Floats:
    """Return the Newton step of alpha (K,) given the mean E[log θ] (K,) of n draws of θ.
    The Hessian is diagonal plus a constant, so that its inverse costs O(K) (Minka 2000, eq. 15-18;
    Blei, Ng & Jordan 2003, A.4.2).
    """
    if len(alpha) == 1:
        return np.zeros(1)  # with one topic θ is 1 whatever alpha
    gradient = n * (psi(alpha.sum()) - psi(alpha) + mean_log)
    q = -n * polygamma(1, alpha)
    z = n * polygamma(1, alpha.sum())
    b = (gradient / q).sum() / (1.0 / z + (1.0 / q).sum())
    return np.asarray(-(gradient - b) / q)


def symmetric_newton_step(eta: float, mean_log: float, size: int) -> float:
    """Return the Newton step of a symmetric prior of `size` entries, by the mean E[log φ]."""
    if size == 1:
        return 0.0
    gradient = size * (psi(size * eta) - psi(eta) + mean_log)
    curvature = size * (size * polygamma(1, size * eta) - polygamma(1, eta))
    return float(-gradient / curvature)


def check_priors(alpha: object, eta: object, n_topics: int) -> None:
    """Raise, naming the setting, if `alpha` or `eta` is not valid."""
    prior_vector(alpha, n_topics, "alpha")
    if isinstance(eta, str) and eta == "asymmetric":
        raise ValueError('eta = "asymmetric" would prefer the first words of the vocabulary')
    if isinstance(eta, str) or np.ndim(eta) == 0:  # type: ignore[arg-type]
        prior_vector(eta, 1, "eta")


def check_range(**priors: object) -> None:
    """Raise ValueError, naming the prior, if a number is beyond what samplers compute with, or no
    prior at all.
    """
    for name, prior in priors.items():
        if isinstance(prior, str):
            continue
        most = prior_vector(prior, np.size(prior), name).max(initial=0.0)  # type: ignore[arg-type]
        if not SMALLEST <= most <= LARGEST:
            raise ValueError(
                f"{name} must be from {SMALLEST:g} to {LARGEST:g}, what single precision holds, "
                f"or of an array the largest entry; found {prior!r}"
            )


def check_growth(growing_vocabulary: object, eta: object) -> None:
    """Raise if `growing_vocabulary` is no bool, or new words would have no prior."""
    if not isinstance(growing_vocabulary, bool | np.bool_):
        raise TypeError(f"growing_vocabulary must be True or False, found {growing_vocabulary!r}")
    if growing_vocabulary and not (isinstance(eta, str) or np.ndim(eta) == 0):  # type: ignore[arg-type]
        raise ValueError("eta must be one number if growing_vocabulary: new words have no other")
