"""`log_partition`: log of the normalising constant of a fixed-length Poisson MRF."""

import logging
import warnings
from dataclasses import dataclass
from typing import Any, Literal

from scipy.special import gammaln, logsumexp

from evaluation.estimate import MIN_EFFECTIVE_SAMPLES
from evaluation.monte_carlo.log_mean import log_mean_of
from evaluation.poisson_mrf.exact_partition import MAX_STATES, exact_log_partition
from evaluation.poisson_mrf.partition_bound import upper_bound
from models.checks import check_whole
from models.poisson_mrf.annealed_partition import log_weights_at
from models.poisson_mrf.distribution import FixedLengthPoissonMRF
from models.seed import seed_from

logger = logging.getLogger(__name__)

PARTITION_METHODS = ("exact", "ais", "upper-bound")
PartitionDirection = Literal["exact", "unbiased", "upper bound"]


@dataclass(frozen=True)
class PartitionEstimate:
    """A_L of a fixed-length Poisson MRF, in nats."""

    log_partition: float
    """A_L of the model as given: a constant c added to θ adds L c. It contains -log L!."""
    standard_error: float
    """Monte Carlo standard error of `log_partition`, to first order; 0 for methods without
    sampling, NaN for a single sample."""
    method: str
    direction: PartitionDirection
    """If it is "unbiased", exp A_L is: A_L is too low by half the squared standard error."""
    length: int  #: L.
    effective_sample_size: float = float("nan")
    """(Σw)² / Σw² of the importance weights; NaN without samples."""
    n_samples: int = 0

    @property
    def has_low_ess(self) -> bool:
        """Whether `log_partition` is most likely too low, by more than its standard error.

        Then the effective sample size is below `MIN_EFFECTIVE_SAMPLES`.
        """
        return self.effective_sample_size < MIN_EFFECTIVE_SAMPLES <= self.n_samples  # never for NaN

    @property
    def is_unsure(self) -> bool:
        """Return `has_low_ess`: the former name."""
        warnings.warn("is_unsure is now has_low_ess", DeprecationWarning, stacklevel=2)
        return self.has_low_ess


def log_partition(
    mrf: FixedLengthPoissonMRF,
    length: int,
    method: str = "ais",
    *,
    n_samples: int = 100,
    n_temperatures: int = 100,
    max_states: int = MAX_STATES,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> PartitionEstimate:
    """Return A_L, the log-partition function of a fixed-length Poisson MRF.

        A_L = log Σ_x exp(θ·x + ω(L) x·Φx - Σ_s log x_s!)  over all x of L tokens

    (Inouye et al. 2015, eq. 3). It is that of the model as it is given, with θ not normalised:
    `mrf.log_weight(counts) - log_partition` is the log-probability of a bag. That of no token is 0
    and that of one is logsumexp θ, by every method.

    Parameters
    ----------
    mrf : FixedLengthPoissonMRF
    length : int
        L, the number of tokens.
    method : {"exact", "ais", "upper-bound"}
        "exact" sums over all x, far beyond toys where words depend on few others; "ais" is annealed
        importance sampling (Sec. 2.1); "upper-bound" costs next to nothing.
    n_samples, n_temperatures : int
        Of "ais": chains, and distributions on the path of each, both ends included.
    max_states : int
        Terms that "exact" may sum over; what needs more is refused before it starts.
    random_state : int, Generator or RandomState, optional
        Fixes the result to the bit, whatever `n_jobs`, the number of threads over samples.

    Raises PartitionCostError if the exact value has more than `max_states` terms: a ValueError;
    TypeError if `mrf` is no FixedLengthPoissonMRF, or a number is not whole; ValueError if `length`
    is negative, or a setting is out of its range.
    """
    if method not in PARTITION_METHODS:
        raise ValueError(f"method must be one of {PARTITION_METHODS}, found {method!r}")
    if not isinstance(mrf, FixedLengthPoissonMRF):
        raise TypeError(
            f"mrf must be a FixedLengthPoissonMRF, found {type(mrf).__name__}: of a model of "
            "several fields, take one of its fields"
        )
    check_whole("length", length, 0)
    check_whole("n_samples", n_samples, 1)
    check_whole("n_temperatures", n_temperatures, 2)
    check_whole("max_states", max_states, 1)
    seed = seed_from(random_state)
    if length <= 1:  # one token has no other that it could depend on
        known = float(logsumexp(mrf.node)) if length else 0.0
        return PartitionEstimate(known, 0.0, method, "exact", length)
    if method == "exact":
        exact = exact_log_partition(mrf, length, max_states=max_states)
        return PartitionEstimate(exact, 0.0, method, "exact", length)
    if method == "upper-bound":
        return PartitionEstimate(upper_bound(mrf, length), 0.0, method, "upper bound", length)
    log_weights = log_weights_at(
        mrf, [length], n_samples=n_samples, n_temperatures=n_temperatures, seed=seed, n_jobs=n_jobs
    )
    log_mean, error, size = log_mean_of(log_weights[0])
    estimate = PartitionEstimate(
        log_mean + float(length * logsumexp(mrf.node) - gammaln(length + 1.0)),
        error,
        "ais",
        "unbiased",
        length,
        size,
        n_samples,
    )
    if estimate.has_low_ess:
        logger.warning(
            "the weights of %d samples of %d tokens are worth %.1f: the estimate is most likely "
            "too low, by more than its standard error says; take more temperatures",
            n_samples,
            length,
            size,
        )
    return estimate
