"""What is kept of a run of an estimator in the experiments of Cemgil et al. 2019."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluation.marginal_estimate import MarginalEstimate


class Score(NamedTuple):
    """An estimate, and how long it took."""

    estimate: MarginalEstimate
    seconds: float


def timed(estimate: Callable[[], MarginalEstimate]) -> Score:
    """Call it with a clock beside it."""
    started = time.perf_counter()
    found = estimate()
    return Score(found, time.perf_counter() - started)


def cell_seed(seed: int, *cell: int) -> int:
    """A seed of a cell's own, whatever other cells there are and in which order they are done.

    `cell` is what distinguishes it from the others, as numbers that are not negative.
    """
    return int(np.random.default_rng([seed, *cell]).integers(2**32))
