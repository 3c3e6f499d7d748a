"""Trained topics and runs of estimators on disk, so that an experiment can go on where it ended.

cells/<hash>/topics.npz                    the model
cells/<hash>/<estimator>-<samples>-<repeat>.npz    what one run of an estimator says of it
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from corpora.content_hash import content_hash, of_array
from corpora.files import remove_partial_files
from evaluation.experiments.l2r_scores import ESTIMATORS, Score, score, steps, warm_up
from models import GammaPoissonTopics
from pipeline.progress import Progress
from pipeline.reproduction.kept_arrays import load_arrays, save_arrays
from pipeline.version import software_version

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from scipy import sparse

    from evaluation.experiments.l2r_convergence import ConvergenceSettings
    from evaluation.experiments.l2r_kl import KLSettings
    from evaluation.experiments.l2r_scores import Cell

    Arrays = Mapping[str, NDArray[Any]]

T = TypeVar("T")


def cells_directory(
    directory: Path, settings: KLSettings | ConvergenceSettings, counts: sparse.csr_array
) -> Path:
    """Where cells are: settings that they depend on, the corpus and the version name it.

    The directory is there, and free of what an interruption left.
    """
    table = asdict(settings) | {"version": software_version(), "counts": _hash_of(counts)}
    for name in ("sizes", "n_repeats"):
        table.pop(name, None)
    text = json.dumps(table, sort_keys=True)
    place = directory / "cells" / hashlib.sha256(text.encode()).hexdigest()[:12]
    place.mkdir(parents=True, exist_ok=True)
    remove_partial_files(place)
    return place


def kept_topics(place: Path, train: Callable[[], GammaPoissonTopics]) -> GammaPoissonTopics:
    """The topics that were saved; trained, and saved, if there are none, or they are damaged."""
    names = ("topic_word", "shape", "probability")
    saved = load_arrays(place / "topics.npz", _topics_of)
    if saved is not None:
        return saved
    topics = train()
    save_arrays(place / "topics.npz", {name: getattr(topics, name) for name in names})
    return topics


def kept_scores(
    place: Path,
    topics: GammaPoissonTopics,
    documents: sparse.csr_array,
    cells: Sequence[Cell],
    seed: int,
    *,
    n_jobs: int | None,
    stage: str,
) -> dict[Cell, Score]:
    """The scores of all cells: those that were saved, and the rest computed and saved.

    Progress is shown under the name `stage`.
    """
    scores: dict[Cell, Score] = {}
    is_warm: set[str] = set()
    with Progress(stage, sum(steps(cell, documents) for cell in cells), "steps") as progress:
        for cell in cells:
            progress.update(0, f"{cell.estimator}, {cell.n_samples:,} samples")
            path = cell_path(place, cell)
            found = load_arrays(path, lambda arrays: _score_of(arrays, documents.shape[0]))
            if found is None:
                if cell.estimator not in is_warm:
                    warm_up(topics, documents, (cell.estimator,))
                    is_warm.add(cell.estimator)
                found = score(topics, documents, cell, seed, n_jobs)
                save_arrays(
                    path, {name: np.asarray(value) for name, value in found._asdict().items()}
                )
            scores[cell] = found
            progress.update(steps(cell, documents))
    return scores


def cell_path(place: Path, cell: Cell) -> Path:
    """The file of one cell."""
    return place / f"{ESTIMATORS[cell.estimator]}-{cell.n_samples}-{cell.repeat}.npz"


def _topics_of(arrays: Arrays) -> GammaPoissonTopics:
    return GammaPoissonTopics(**arrays)


def _score_of(arrays: Arrays, n_docs: int) -> Score:
    found = Score(arrays["log_likelihood"], arrays["standard_error"], float(arrays["seconds"]))
    if not found.log_likelihood.shape == found.standard_error.shape == (n_docs,):
        raise ValueError("not of these documents")
    return found


def _hash_of(counts: sparse.csr_array) -> str:
    return content_hash(
        [of_array(name, getattr(counts, name)) for name in ("data", "indices", "indptr")]
    )
