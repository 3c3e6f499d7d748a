"""Scored models of the model-selection experiment on disk, so that it can go on where it ended."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from corpora.files import atomic_write
from evaluation.estimate import LikelihoodEstimate
from evaluation.experiments.buntine_model_selection import Cell
from models.saved import DAMAGE
from pipeline.version import software_version

if TYPE_CHECKING:
    from pathlib import Path

    from evaluation.experiments.buntine_model_selection import SelectionSettings

ARRAYS = ("log_likelihood", "standard_error", "n_tokens", "effective_sample_size", "n_samples")
TEXTS = ("method", "convention", "direction")


def cells_directory(directory: Path, settings: SelectionSettings) -> Path:
    """Where cells of these settings are: those that a cell depends on, and the version, name it."""
    table = asdict(settings) | {"version": software_version()}
    del table["training_sizes"]
    text = json.dumps(table, sort_keys=True)
    return directory / "cells" / hashlib.sha256(text.encode()).hexdigest()[:12]


def cell_path(directory: Path, n_train: int, n_topics: int) -> Path:
    """The file of one cell."""
    return directory / f"{n_train}-{n_topics}.npz"


def save_cell(directory: Path, cell: Cell) -> None:
    """Write a cell, whole or not at all."""
    header = {
        "n_train": cell.n_train,
        "n_topics": cell.n_topics,
        "seconds": cell.seconds,
        "estimates": {
            name: {text: getattr(estimate, text) for text in TEXTS}
            for name, estimate in cell.estimates.items()
        },
    }
    arrays = {"header": np.array(json.dumps(header)), "bounds": cell.bounds}
    for name, estimate in cell.estimates.items():
        arrays |= {f"{name}/{array}": getattr(estimate, array) for array in ARRAYS}
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)  # type: ignore[arg-type]
    with atomic_write(cell_path(directory, cell.n_train, cell.n_topics)) as stream:
        stream.write(content.getvalue())


def load_cell(directory: Path, n_train: int, n_topics: int) -> Cell | None:
    """A cell that was saved; None if there is none, or it is damaged."""
    try:
        with np.load(cell_path(directory, n_train, n_topics), allow_pickle=False) as archive:
            arrays = dict(archive)
        header = json.loads(str(arrays["header"]))
        estimates = {
            name: LikelihoodEstimate(
                **{array: arrays[f"{name}/{array}"] for array in ARRAYS}, **texts
            )
            for name, texts in header["estimates"].items()
        }
        return Cell(
            header["n_train"], header["n_topics"], estimates, header["seconds"], arrays["bounds"]
        )
    except DAMAGE:
        return None
