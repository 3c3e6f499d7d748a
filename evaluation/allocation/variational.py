"""The evidence lower bound of variational Bayes on the marginal likelihood."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaluation.allocation.marginal_estimate import MarginalEstimate
from models.allocation.mean_field.coordinate_ascent import (
    MAX_MEMORY,
    N_EPOCHS,
    MeanField,
    best_of_starts,
)

if TYPE_CHECKING:
    from models.allocation.cell_counts import CellCounts
    from models.allocation.model import AllocationModel

TOLERANCE = 1e-10
"""Relative; the bounds that Cemgil et al. published for tiny matrices are met within 1e-9."""


def variational(
    model: AllocationModel,
    observed: CellCounts,
    *,
    n_starts: int,
    seed: int = 0,
    n_jobs: int | None = None,
    max_memory: int = MAX_MEMORY,
    n_epochs: int = N_EPOCHS,
    tolerance: float = TOLERANCE,
) -> MarginalEstimate:
    """Return the best bound of several starts, at most log p(X) (Cemgil et al. 2019, section 4.3).

    A start ends after `n_epochs`, or when its bound grows by less than `tolerance` of itself.

    Raises TableMemoryError if the expected counts of the starts that run at the same time take more
    than `max_memory` bytes, or hidden indices have too many values to be summed over together.
    """
    optimum = best_of_starts(
        MeanField.of(model, observed, "vb"),
        n_starts=n_starts,
        n_epochs=n_epochs,
        tolerance=tolerance,
        seed=seed,
        n_jobs=n_jobs,
        max_memory=max_memory,
    )
    return MarginalEstimate(
        log_marginal=optimum.best.objective,
        standard_error=0.0,
        method="vb",
        direction="lower bound",
        n_tokens=observed.n_tokens,
        repeats=optimum.objectives,
    )
