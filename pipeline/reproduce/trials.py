"""Trials: what an experiment computes one by one, cached by name as they are done."""

from __future__ import annotations

import time
import zlib
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from pipeline.cache.keys import EXPERIMENT
from pipeline.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pipeline.cache.results import Arrays, ResultCache, ResultGroup
    from pipeline.reproduce.settings import ReproduceSettings

K = TypeVar("K")
B = TypeVar("B", bound="Budget")


class Trial(NamedTuple):
    """One thing to compute, which depends on no other trial."""

    key: str
    """Its name in the cache, among the trials of an experiment."""
    compute: Callable[[], Arrays]
    steps: float = 1.0
    """Length, in units of the progress that is shown."""


@dataclass(frozen=True)
class Budget:
    """What is spent on an experiment. Defaults are the paper's; experiments add their own fields.

    The first four are of estimates of allocation models.
    """

    n_particles: int = 1000
    """Particles of SMC as published."""
    n_repeats: int = 10
    """Independent runs of each kind of SMC."""
    n_starts: int = 100
    """Starts of VB, of which the best counts."""
    n_moves: int = 99
    """Tokens that are resampled after each token, in SMC with moves."""
    seed: int = 0

    def without(self, *names: str) -> dict[str, Any]:
        """Return all fields but some."""
        return {
            each.name: getattr(self, each.name) for each in fields(self) if each.name not in names
        }


def scaled(full: B, settings: ReproduceSettings, quick: Mapping[str, Any], **asked: Any) -> B:
    """Return `full`, at scale quick with the fields of `quick`, and with what was asked for."""
    chosen = {name: value for name, value in asked.items() if value is not None}
    if settings.scale == "quick":
        chosen = {**quick, **chosen}
    return replace(full, **chosen, seed=settings.seed)


def group_of(results: ResultCache, experiment: str, **depends_on: Any) -> ResultGroup:
    """Return the cached trials of an experiment that depend on the same."""
    return results.group(EXPERIMENT + experiment, **depends_on)


def run_trials(
    group: ResultGroup, trials: Mapping[K, Trial], stage: str, unit: str
) -> dict[K, dict[str, Any]]:
    """Return the arrays of all trials, computed if they are not cached, with their seconds.

    Progress is shown under the name `stage`.
    """
    found = {}
    with Progress(stage, sum(trial.steps for trial in trials.values()), unit) as progress:
        for at, trial in trials.items():
            progress.update(0, trial.key)
            found[at] = cached(group, trial)
            progress.update(trial.steps)
    return found


def cached(group: ResultGroup, trial: Trial) -> dict[str, Any]:
    """Return the arrays of a trial, computed if they are not cached, with its seconds."""

    def compute() -> dict[str, Any]:
        started = time.perf_counter()
        arrays = trial.compute()
        seconds = {"seconds": time.perf_counter() - started}
        return {name: np.asarray(value) for name, value in {**seconds, **arrays}.items()}

    return group.cached(trial.key, compute, dict, dict)


def trial_seed(seed: int, key: str) -> int:
    """Return a seed of a trial's own, whatever other trials there are."""
    return int(np.random.default_rng([seed, zlib.crc32(key.encode())]).integers(2**32))


def at_least(**bounds: tuple[Any, float]) -> None:
    """Check that values, or all entries of them, are no less than their bounds.

    Raises
    ------
    ValueError
        If one is; the message names it.
    """
    for name, (value, bound) in bounds.items():
        values: Iterable[Any] = value if isinstance(value, tuple) else (value,)
        if any(each < bound for each in values):
            raise ValueError(f"{name} must be at least {bound}, found {value}")
