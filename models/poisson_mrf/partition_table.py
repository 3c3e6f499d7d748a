"""Tables of the partition function at all lengths (Inouye et al. 2015, Sec. 2.1).

Tables hold A_L + log L! for θ with logsumexp θ = 0: 0 at all lengths where Φ = 0.
"""

import logging
import warnings

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from models.arrays import Floats
from models.poisson_mrf.annealed_partition import log_weights_at
from models.poisson_mrf.distribution import FixedLengthPoissonMRF
from models.poisson_mrf.smc_partition import smc_log_weights

logger = logging.getLogger(__name__)
MAX_SHORTFALL = 1.0  # Nats below its bound at which an estimate is useless
PARTITIONS = ("smc", "envelope")
N_ENVELOPE = 50  # Lengths of the envelope's estimates


def partition_table(
    mrf: FixedLengthPoissonMRF,
    longest: int,
    kind: str = "smc",
    *,
    mean_length: float,
    n_samples: int = 100,
    n_temperatures: int | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Floats:
    """(longest + 1,), an estimate of A_L + log L! - L logsumexp θ for L = 0 to `longest`.

    Parameters
    ----------
    kind : {"smc", "envelope"}
        "smc" estimates every length by sequential Monte Carlo (`smc_log_weights`), and is not below
        the bound by Jensen's inequality. "envelope", the paper's, is ω(L) L² a, with the smallest a
        for which it is not below any of 50 estimates at lengths from half to three times the mean;
        far above at many lengths.
    mean_length : float
        L̄ of documents, for the envelope.
    n_samples : int
        Chains.
    n_temperatures : int, optional
        Temperatures of chains annealed at each length of the envelope, as published. By default
        chains grow, in a hundredth of the time, and have smaller errors, by which the largest of
        many estimates is too high.

    Raises ValueError if there is no such kind, or no chain or fewer than two temperatures.
    """
    kind = checked_partition(kind)
    if n_samples < 1 or (n_temperatures is not None and n_temperatures < 2):
        raise ValueError(
            "annealing takes a sample and two temperatures at least, found "
            f"n_samples = {n_samples} and n_temperatures = {n_temperatures}"
        )
    if not mrf.interactions.nnz:
        return np.zeros(longest + 1)
    if kind == "smc":
        log_weights = smc_log_weights(mrf, longest, n_samples=n_samples, seed=seed, n_jobs=n_jobs)
        table = log_means(log_weights.T)
        lengths = np.arange(longest + 1.0)
        floor: Floats = mrf.weight(lengths) * lengths * (lengths - 1.0) * mean_interaction(mrf)
        lack = float((floor - table).max())
        if lack > MAX_SHORTFALL:
            logger.warning(
                "chains estimate a partition function %.1f nats below what it is at least: they "
                "have condensed on a few words; hold the field, or take a larger penalty",
                lack,
            )
        table = np.asarray(np.maximum(table, floor))
        if longest >= 2:
            table[2] = log_pair_weight(mrf)  # exact
        return table
    at = np.ceil(mean_length * np.linspace(0.5, 3.0, N_ENVELOPE)).astype(np.int64)
    at = np.unique(at[at > 1]) if (at > 1).any() else np.array([2])
    if n_temperatures is None:
        log_weights = smc_log_weights(
            mrf, int(at[-1]), n_samples=n_samples, seed=seed, n_jobs=n_jobs
        )[:, at].T
    else:
        log_weights = log_weights_at(
            mrf,
            at.tolist(),
            n_samples=n_samples,
            n_temperatures=n_temperatures,
            seed=seed,
            n_jobs=n_jobs,
        )
    height = (log_means(log_weights) / (mrf.weight(at) * at**2.0)).max()
    lengths = np.arange(longest + 1)
    envelope: Floats = height * mrf.weight(lengths) * lengths**2.0
    return envelope


def checked_partition(kind: str) -> str:
    """Return one of `PARTITIONS`, or raise ValueError; "grown" is the former name of "smc"."""
    if kind == "grown":
        warnings.warn('partition "grown" is now "smc"', DeprecationWarning, stacklevel=3)
        return "smc"
    if kind not in PARTITIONS:
        raise ValueError(f"partition must be one of {PARTITIONS}, found {kind!r}")
    return kind


def mean_interaction(mrf: FixedLengthPoissonMRF) -> float:
    """Σ_st p_s p_t Φ_st over words of p = exp θ, normalised. By Jensen's inequality for documents
    of the multinomial p, ω(L) L (L - 1) times this is at most A_L + log L!.
    """
    p = mrf.word_probability
    return float(p @ (mrf.interactions @ p))


def log_pair_weight(mrf: FixedLengthPoissonMRF) -> float:
    """A_2 + log 2 - 2 logsumexp θ, exactly: log E exp(2 ω(2) Φ_st) over words s, t of exp θ."""
    probability = mrf.word_probability
    pairs = sparse.coo_array(mrf.interactions)
    gained = np.expm1(2.0 * mrf.weight(2) * pairs.data)
    return float(np.log1p((probability[pairs.row] * probability[pairs.col] * gained).sum()))


def log_means(log_weights: Floats) -> Floats:
    """(n_lengths,), logs of the mean weights (n_lengths, n_samples)."""
    means: Floats = logsumexp(log_weights, axis=1) - np.log(log_weights.shape[1])
    return means
