"""What an estimator of the partition function of a Poisson MRF returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evaluation.estimate import UNSURE_BELOW

PartitionDirection = Literal["exact", "unbiased", "upper bound"]


@dataclass(frozen=True)
class PartitionEstimate:
    """A_L of a fixed-length Poisson MRF, in nats."""

    log_partition: float
    """A_L, of the model as it is given: a constant c added to θ adds L c. It holds -log L!."""
    standard_error: float
    """Monte Carlo standard error of `log_partition`, to first order; 0 if nothing is sampled, NaN
    of one sample."""
    method: str
    direction: PartitionDirection
    """"unbiased" is of exp A_L, whose mean over runs is right: its log is too low by about half the
    squared standard error."""
    length: int
    """L."""
    effective_sample_size: float = float("nan")
    """(Σw)² / Σw² of the weights of the samples; NaN where there are none."""
    n_samples: int = 0
    """Monte Carlo samples spent."""

    @property
    def is_unsure(self) -> bool:
        """Whether the weights are worth fewer than `UNSURE_BELOW` samples.

        `log_partition` is then most likely too low, by more than its standard error says.
        """
        return self.effective_sample_size < UNSURE_BELOW <= self.n_samples  # never of NaN
