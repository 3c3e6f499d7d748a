"""Results of the experiments on allocation models on disk, so that one can go on where it ended.

cells/<hash>/<name>.npz    one result: an estimate with its seconds, or arrays
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import numpy as np

from corpora.content_hash import content_hash, of_array
from corpora.files import remove_partial_files
from evaluation.allocation.marginal_estimate import (
    MarginalDirection,
    MarginalEstimate,
    ParticlePath,
)
from evaluation.experiments.bam_scores import Score, timed
from pipeline.progress import Progress
from pipeline.reproduction.kept_arrays import load_arrays, save_arrays
from pipeline.version import software_version

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    Arrays = Mapping[str, NDArray[Any]]

T = TypeVar("T")
PATH = ("tokens", "effective_sample_size", "n_ancestors")


def cells_directory(directory: Path, settings: Mapping[str, Any], **data: NDArray[Any]) -> Path:
    """Where results are: the `settings` that they depend on, the `data` and the version name it.

    Settings that only say which results there are, such as a list of ranks, are left out by the
    caller, so that a longer list goes on with what is there. The directory exists, and is free of
    what an interruption left.
    """
    arrays = {name: np.ascontiguousarray(array) for name, array in data.items()}
    table = {
        "settings": dict(settings),
        "version": software_version(),
        "shapes": {name: array.shape for name, array in arrays.items()},
        "data": content_hash([of_array(name, array) for name, array in sorted(arrays.items())]),
    }
    text = json.dumps(table, sort_keys=True)
    place = directory / "cells" / hashlib.sha256(text.encode()).hexdigest()[:12]
    place.mkdir(parents=True, exist_ok=True)
    remove_partial_files(place)
    return place


def kept_scores(
    place: Path, work: Mapping[str, Callable[[], MarginalEstimate]], *, stage: str
) -> dict[str, Score]:
    """The estimates by name: those that were saved, and the rest computed, timed and saved.

    Names become file names. Progress is shown under the name `stage`.
    """
    scores: dict[str, Score] = {}
    with Progress(stage, len(work), "estimates") as progress:
        for name, estimate in work.items():
            progress.update(0, name)
            path = place / f"{name}.npz"
            score = load_arrays(path, _score_of)
            if score is None:
                score = timed(estimate)
                save_arrays(path, _arrays_of(score))
            scores[name] = score
            progress.update(1)
    return scores


def kept_arrays(
    path: Path, names: tuple[str, ...], compute: Callable[[], Arrays]
) -> dict[str, NDArray[Any]]:
    """The arrays of these names that were saved; computed, and saved, if there are none."""

    def checked(arrays: Arrays) -> dict[str, NDArray[Any]]:
        return {name: arrays[name] for name in names}

    found = load_arrays(path, checked)
    if found is None:
        found = {name: np.asarray(array) for name, array in compute().items()}
        save_arrays(path, found)
    return checked(found)


def _arrays_of(score: Score) -> dict[str, NDArray[Any]]:
    estimate, seconds = score
    values = {
        "log_marginal": estimate.log_marginal,
        "standard_error": estimate.standard_error,
        "method": estimate.method,
        "direction": estimate.direction,
        "n_tokens": estimate.n_tokens,
        "repeats": estimate.repeats,
        "n_particles": estimate.n_particles,
        "seconds": seconds,
    }
    if estimate.path is not None:
        values |= {f"path/{name}": getattr(estimate.path, name) for name in PATH}
    return {name: np.asarray(value) for name, value in values.items()}


def _score_of(arrays: Arrays) -> Score:
    direction: Any = str(arrays["direction"])
    if direction not in get_args(MarginalDirection):
        raise ValueError(f"no direction: {direction}")
    path = None
    if f"path/{PATH[0]}" in arrays:
        path = ParticlePath(*(arrays[f"path/{name}"] for name in PATH))
    estimate = MarginalEstimate(
        float(arrays["log_marginal"]),
        float(arrays["standard_error"]),
        str(arrays["method"]),
        direction,
        int(arrays["n_tokens"]),
        arrays["repeats"],
        int(arrays["n_particles"]),
        path,
    )
    return Score(estimate, float(arrays["seconds"]))
