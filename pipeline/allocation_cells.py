"""Scores of single models on disk, so that an interrupted `allocate` goes on where it was.

DIR/cells/<hash of data, settings and version>/<hash of the model>.npz          the score
DIR/cells/<…>/<hash of the model>-<method>.npz                                  its factors
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corpora.content_hash import content_hash, of_array
from corpora.files import remove_partial_files
from evaluation.allocation.marginal_estimate import MarginalEstimate, ParticlePath
from models.saved import DAMAGE, read_arrays, write_arrays
from pipeline.version import software_version

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from models.allocation.model import AllocationModel
    from pipeline.allocation_counts import CountTable
    from pipeline.settings import AllocateSettings

KIND = "allocation score"
FINGERPRINT = ("method", "particles", "moves", "order", "repeats", "seed")
"""Settings that a score depends on; what a model is has its own hash."""
SCALARS = ("log_marginal", "standard_error")
TEXTS = ("method", "direction", "n_tokens", "n_particles")
PATH = ("tokens", "effective_sample_size", "n_ancestors")


@dataclass(frozen=True, eq=False)
class Score:
    """What a method says of one model, and how long it took."""

    estimate: MarginalEstimate
    seconds: float


def cells_directory(directory: Path, settings: AllocateSettings, table: CountTable) -> Path:
    """Where cells of these data and settings are; it is there, and free of what was left over."""
    parts = {name: getattr(settings, name) for name in FINGERPRINT}
    parts |= {"data": table.hash, "version": software_version()}
    text = json.dumps(parts, sort_keys=True)
    place = directory / "cells" / hashlib.sha256(text.encode()).hexdigest()[:12]
    place.mkdir(parents=True, exist_ok=True)
    remove_partial_files(place)
    return place


def key_of(model: AllocationModel) -> str:
    """A hash of all that a model is."""
    prior = model.prior
    parts = {
        "parents": [[name, *of] for name, of in model.parents.items()],
        "cardinalities": list(model.cardinalities.values()),
        "visible": list(model.visible),
        "tied": [list(group) for group in model.tied],
        "a": model.a,
        "b": model.b,
        "prior": prior
        and content_hash([of_array(name, each.ravel()) for name, each in prior.items()]),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def seed_of(seed: int, model: AllocationModel) -> int:
    """The seed of one model: it does not depend on which others there are, or on their order."""
    text = f"{seed} {key_of(model)}"
    return int(hashlib.sha256(text.encode()).hexdigest()[:15], 16)


def kept_score(
    place: Path, model: AllocationModel, compute: Callable[[], MarginalEstimate]
) -> Score:
    """The score that was saved; computed, and saved, if there is none, or it is damaged."""
    path = place / f"{key_of(model)}.npz"
    found = _load(path)
    if found is None:
        start = time.perf_counter()
        estimate = compute()
        found = Score(estimate, time.perf_counter() - start)
        _save(path, found)
    return found


def is_kept(place: Path, model: AllocationModel) -> bool:
    """Whether the score was saved, and is whole."""
    return _load(place / f"{key_of(model)}.npz") is not None


def _save(path: Path, score: Score) -> None:
    estimate = score.estimate
    arrays: dict[str, Any] = {name: np.array(getattr(estimate, name)) for name in SCALARS}
    arrays |= {"repeats": estimate.repeats, "seconds": np.array(score.seconds)}
    if estimate.path is not None:
        arrays |= {f"path_{name}": getattr(estimate.path, name) for name in PATH}
    header = {name: getattr(estimate, name) for name in TEXTS}
    write_arrays(path, KIND, header, arrays)


def _load(path: Path) -> Score | None:
    try:
        header, arrays = read_arrays(path, KIND)
        steps = None
        if "path_tokens" in arrays:
            steps = ParticlePath(**{name: arrays[f"path_{name}"] for name in PATH})
        fields: dict[str, Any] = {name: float(arrays[name]) for name in SCALARS}
        fields |= {name: header[name] for name in TEXTS}
        estimate = MarginalEstimate(**fields, repeats=arrays["repeats"], path=steps)
        return Score(estimate, float(arrays["seconds"]))
    except DAMAGE:
        return None
