"""Trials: what an experiment computes one by one, cached by name as they are done."""

from __future__ import annotations

import re
import time
import zlib
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pipeline.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pipeline.cache.results import Arrays, ResultGroup

K = TypeVar("K", bound=tuple[Any, ...])


def run_trials(
    group: ResultGroup,
    keys: Iterable[K],
    compute: Callable[..., Mapping[str, Any]],
    stage: str,
    unit: str = "estimates",
) -> dict[K, dict[str, Any]]:
    """Return numbers and arrays of all trials, and the seconds of each; cached ones are read.

    `compute` takes the parts of a key. Progress is shown under the name `stage`.
    """
    todo, found = list(keys), {}
    with Progress(stage, len(todo), unit) as progress:
        for key in todo:
            name = trial_name(*key)
            progress.update(0, name)
            arrays = group.cached(name, partial(_timed, compute, key), _same, _same)
            found[key] = {
                field: each if each.ndim else each.item() for field, each in arrays.items()
            }
            progress.update(1)
    return found


def _same(arrays: Arrays) -> Arrays:
    return arrays


def _timed(compute: Callable[..., Mapping[str, Any]], key: tuple[Any, ...]) -> Arrays:
    started = time.perf_counter()
    found = compute(*key)
    seconds = {"seconds": time.perf_counter() - started}
    return {name: np.asarray(value) for name, value in {**seconds, **found}.items()}


def trial_name(*key: Any) -> str:
    """Return the name of a trial: the parts of its key that are not None."""
    parts = (part if isinstance(part, str) else f"{part:g}" for part in key if part is not None)
    return "-".join(re.sub("[ ,]+", "-", part) for part in parts)


def trial_seed(seed: int, *key: Any) -> int:
    """Return a seed of a trial's own, whatever other trials there are."""
    name = trial_name(*key).encode()
    return int(np.random.default_rng([seed, zlib.crc32(name)]).integers(2**32))
