"""Trials: what an experiment computes one by one, cached by name, and the budget of all of them."""

import logging
import re
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from pipeline.cache.keys import EXPERIMENT
from pipeline.cache.results import ResultCache, ResultGroup
from pipeline.progress import Progress
from pipeline.reproduce.settings import ReproduceSettings

B = TypeVar("B", bound=Any)  # Budget, a dataclass
K = TypeVar("K", bound=tuple[Any, ...])


def scaled(full: B, settings: ReproduceSettings, quick: Mapping[str, Any], **asked: Any) -> B:
    """Return the budget `full`, at scale quick with the fields `quick`, and with what is asked for.
    Fields that are asked for as None stay as they are.
    """
    chosen = dict(quick) if settings.scale == "quick" else {}
    chosen |= {field: value for field, value in asked.items() if value is not None}
    return replace(full, **chosen, seed=settings.seed)


def group_of(name: str, budget: Any, levels: Collection[str] = (), **data: Any) -> ResultGroup:
    """Return the cached trials of these data and of all fields of a budget but `levels`. Levels
    only say which trials there are, so that longer lists go on with what is there.
    """
    spent = {field: each for field, each in vars(budget).items() if field not in levels}
    return ResultCache().group(EXPERIMENT + name, budget=spent, **data)


def trial_name(*key: Any) -> str:
    """Return the name of a trial: the parts of its key that are not None, numbers exactly."""
    parts = [part for part in key if part is not None]
    texts = (str(p) if isinstance(p, str) or float(f"{p:g}") != p else f"{p:g}" for p in parts)
    return "-".join(re.sub("[ ,]+", "-", text) for text in texts)


def run_trials(
    group: ResultGroup,
    keys: Iterable[K],
    compute: Callable[..., Mapping[str, Any]],
    stage: str,
    unit: str = "estimates",
    shown: Callable[..., str] = trial_name,
    steps: Callable[..., float] = lambda *_: 1,
) -> dict[K, dict[str, Any]]:
    """Return numbers and arrays of all trials, and the seconds of each; cached ones are read.
    `compute` takes the parts of a key, and so do `shown`, the name of a trial in the progress of
    the `stage`, and `steps`, the length of a trial in its units.
    """
    todo, found = list(keys), {}
    n_cached = sum(group.has(trial_name(*key)) for key in todo)
    logging.getLogger(__name__).info("%s: %d trials, %d cached", stage, len(todo), n_cached)
    with Progress(stage, sum(steps(*key) for key in todo), unit) as progress:
        for key in todo:
            progress.update(0, shown(*key))
            timed = partial(_timed, compute, key)
            arrays = group.cached(trial_name(*key), timed, dict[str, Any], dict[str, Any])
            found[key] = {name: each if each.ndim else each.item() for name, each in arrays.items()}
            progress.update(steps(*key))
    return found


def _timed(compute: Callable[..., Mapping[str, Any]], key: tuple[Any, ...]) -> dict[str, Any]:
    started = time.perf_counter()
    found = compute(*key)
    seconds = {"seconds": time.perf_counter() - started}
    return {name: np.asarray(value) for name, value in {**seconds, **found}.items()}


def trial_seed(seed: int, *key: Any) -> int:
    """Return a seed of a trial's own, whatever other trials there are."""
    name = trial_name(*key).encode()
    return int(np.random.default_rng([seed, zlib.crc32(name)]).integers(2**32))
