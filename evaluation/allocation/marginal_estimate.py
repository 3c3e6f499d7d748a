"""What an estimator of the marginal likelihood of a count tensor returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LARGEST_ERROR = 0.5
"""Nats. Above it, the mean of the repeats hangs on the few that are largest."""
MarginalDirection = Literal["exact", "unbiased", "lower bound"]


@dataclass(frozen=True, eq=False)
class ParticlePath:
    """How particles fared, at some of the tokens, in each repeat."""

    tokens: NDArray[np.int64]
    """(n_times,), tokens taken in so far."""
    effective_sample_size: Floats
    """(n_repeats, n_times), (Σw)² / Σw² of the weights at that token, before resampling."""
    n_ancestors: NDArray[np.int64]
    """(n_repeats, n_times), particles at the start that have a descendant."""


@dataclass(frozen=True, eq=False)
class MarginalEstimate:
    """Log-probability of a whole count tensor under an allocation model, in nats."""

    log_marginal: float
    standard_error: float
    """Monte Carlo standard error of `log_marginal`; 0 if nothing is sampled, NaN of one repeat.

    It cannot exceed 1, which it comes to if one repeat outweighs all others: see `is_unsure`."""
    method: str
    direction: MarginalDirection
    """"unbiased" is of the probability, whose mean over runs is right: its log is too low by about
    half the squared standard error."""
    n_tokens: int
    """S₊."""
    repeats: Floats = field(repr=False)
    """(n_repeats,), the log of each repeat's estimate, of each start's bound, or of the truth."""
    n_particles: int = 0
    """Of each repeat."""
    path: ParticlePath | None = field(default=None, repr=False)
    """Of methods that use particles."""

    @property
    def spread(self) -> float:
        """Standard deviation of the logs of the repeats, in nats; NaN of one."""
        if len(self.repeats) < 2:
            return float("nan")
        return float(self.repeats.std(ddof=1)) if np.isfinite(self.repeats).all() else float("inf")

    @property
    def is_unsure(self) -> bool:
        """Whether the standard error says little: the estimate is most likely too low, by more.

        A mean of few probabilities of which one is far larger than the rest tells that there may be
        larger ones yet.
        """
        return self.direction == "unbiased" and (
            not np.isfinite(self.log_marginal) or bool(self.standard_error > LARGEST_ERROR)
        )

    @classmethod
    def of_repeats(
        cls, repeats: Floats, method: str, n_tokens: int, n_particles: int, path: ParticlePath
    ) -> MarginalEstimate:
        """The mean of unbiased estimates of a probability, of which the logs are given.

        The standard error of the log is that of the mean over the mean (delta method).
        """
        n_repeats = len(repeats)
        largest = float(repeats.max())
        if not np.isfinite(largest):  # nothing but zeros
            log_marginal, error = largest, float("nan")
        else:
            share = np.exp(repeats - largest)
            log_marginal = largest + float(np.log(share.mean()))
            error = float("nan")
            if n_repeats > 1:
                error = float(share.std(ddof=1) / (share.mean() * np.sqrt(n_repeats)))
        return cls(log_marginal, error, method, "unbiased", n_tokens, repeats, n_particles, path)
