"""Scores of models in the experiments of Cemgil et al. 2019: methods, and what is spent on each."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evaluation.allocation.log_marginal import log_marginal
from evaluation.allocation.particles import by_particles
from models.allocation.cell_counts import CellCounts

if TYPE_CHECKING:
    from evaluation.allocation.marginal_estimate import MarginalEstimate
    from models.allocation.model import AllocationModel

WITH_MOVES, SORTED = "smc-moves", "smc-sorted"
NAMES = {
    "exact": "exact",
    "smc": "SMC",
    WITH_MOVES: "SMC with moves",
    SORTED: "SMC, sorted order",
    "vb": "VB",
}
"""Methods, for people. "smc" is as published: it always resamples, tokens come in random order."""
FEWER = 10
"""SMC with moves has so many times fewer particles than SMC: moves are worth more, and take time.
"""


@dataclass(frozen=True)
class Effort:
    """How much is spent on one estimate; the paper does not say how many runs it made.

    Raises
    ------
    ValueError
        If a number is too small to make sense.
    """

    n_particles: int = 1000
    """Of SMC as published."""
    n_repeats: int = 10
    """Independent runs of each kind of SMC."""
    n_starts: int = 100
    """Of VB, of which the best counts."""
    n_moves: int = 99
    """After each token, of SMC with moves."""

    def __post_init__(self) -> None:
        lowest = {"n_particles": 2, "n_repeats": 2, "n_starts": 1, "n_moves": 1}
        for name, least in lowest.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, found {getattr(self, name)}")

    @property
    def n_particles_with_moves(self) -> int:
        """Of SMC with moves."""
        return max(2, self.n_particles // FEWER)


def estimate(
    model: AllocationModel,
    X: Any,
    method: str,
    effort: Effort,
    seed: int,
    n_jobs: int | None = None,
) -> MarginalEstimate:
    """The log marginal of X by one of the methods of `NAMES`.

    Nothing is logged of runs that disagree: the experiments tell where they do.
    """
    if method in ("exact", "vb"):
        return log_marginal(
            model, X, method, n_repeats=effort.n_starts, random_state=seed, n_jobs=n_jobs
        )
    has_moves = method == WITH_MOVES
    return by_particles(
        model,
        CellCounts.of(X, model),
        "smc",
        n_particles=effort.n_particles_with_moves if has_moves else effort.n_particles,
        n_repeats=effort.n_repeats,
        n_moves=effort.n_moves if has_moves else 0,
        order="sorted" if method == SORTED else "random",
        seed=seed,
        n_jobs=n_jobs,
    )


def cell_seed(seed: int, name: str) -> int:
    """A seed of a cell's own, whatever other cells there are and in which order they are done."""
    return int(np.random.default_rng([seed, zlib.crc32(name.encode())]).integers(2**32))
