"""Models and selections of the perplexity experiments on disk, so that one can go on.

cells/<hash>/<model>-<λ>-<c>.npz    the scores of a model
cells/<hash>/select-<kind>-<K>-<grid>.npz    validation perplexities of λ and c, as far as known
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from evaluation.estimate import LikelihoodEstimate
from evaluation.experiments.lpmrf_models import Score, score
from evaluation.experiments.lpmrf_perplexity import selection
from pipeline.progress import Progress
from pipeline.reproduction.bam_cells import cells_directory
from pipeline.reproduction.cells import ARRAYS, TEXTS
from pipeline.reproduction.kept_arrays import load_arrays, save_arrays

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from evaluation.experiments.lpmrf_models import Cell
    from evaluation.experiments.lpmrf_perplexity import HeldOut, PerplexitySettings
    from evaluation.poisson_mrf.field_selection import FieldSelection

    Arrays = Mapping[str, NDArray[Any]]

VALUES = ("test", "train", "n_nonzeros", "penalty", "length_scale", "seconds", "missing")


def place_of(directory: Path, settings: PerplexitySettings, split: HeldOut) -> Path:
    """Where all is kept of these documents, with this effort and this seed."""
    depends_on = {"effort": asdict(settings.effort), "seed": settings.seed, "of": "perplexity"}
    arrays = {
        f"{part}_{name}": getattr(getattr(split, part), name)
        for part in ("train", "test")
        for name in ("data", "indices", "indptr")
    }
    shape = np.array(split.train.shape)
    return cells_directory(directory, depends_on, shape=shape, **arrays)


def kept_selection(
    place: Path,
    kind: str,
    n_topics: int,
    split: HeldOut,
    settings: PerplexitySettings,
    *,
    n_jobs: int | None,
) -> FieldSelection:
    """The validation perplexities of a kind of model; pairs that were tried before are not again.

    The regressions are made again, so that the others begin where they would have.
    """
    path = place / f"select-{kind}-{n_topics}-{_grid_hash(settings)}.npz"
    shape = len(settings.penalties), len(settings.length_scales)

    def table_of(arrays: Arrays) -> NDArray[np.float64]:
        if arrays["perplexity"].shape != shape:
            raise ValueError("not of this grid")
        return np.asarray(arrays["perplexity"], dtype=np.float64)

    known = load_arrays(path, table_of)
    table = np.full(shape, np.nan) if known is None else known
    stage = f"{kind}, K = {n_topics}: selecting"
    with Progress(stage, shape[0] * shape[1], "pairs") as progress:

        def keep(i: int, j: int, perplexity: float) -> None:
            if np.isnan(table[i, j]):
                table[i, j] = perplexity
                save_arrays(path, {"perplexity": table})
            progress.update(1)

        return selection(
            kind, n_topics, split, settings, known=table.copy(), n_jobs=n_jobs, on_pair=keep
        )


def kept_score(
    place: Path,
    cell: Cell,
    split: HeldOut,
    settings: PerplexitySettings,
    chosen: tuple[float, float],
    *,
    n_jobs: int | None,
) -> Score:
    """The scores of a model that were saved; fitted, scored and saved, if there are none."""
    path = cell_path(place, cell, chosen)
    n_docs = split.test.shape[0]
    found = load_arrays(path, lambda arrays: _score_of(arrays, n_docs))
    if found is None:
        with Progress(cell.name, None, "rounds") as progress:
            found = score(
                cell,
                split.train,
                split.test,
                chosen,
                settings.effort,
                settings.seed,
                n_jobs=n_jobs,
                on_round=lambda: progress.update(1),
            )
        save_arrays(path, _arrays_of(found))
    return found


def cell_path(place: Path, cell: Cell, chosen: tuple[float, float]) -> Path:
    """The file of a model with λ and c as given."""
    return place / f"{cell.name}-{chosen[0]!r}-{chosen[1]!r}.npz"


def _grid_hash(settings: PerplexitySettings) -> str:
    grid = json.dumps([settings.penalties, settings.length_scales])
    return hashlib.sha256(grid.encode()).hexdigest()[:8]


def _arrays_of(found: Score) -> dict[str, NDArray[Any]]:
    arrays = {name: np.asarray(getattr(found, name)) for name in VALUES}
    if found.summed is not None:
        for name in (*ARRAYS, *TEXTS):
            arrays[f"summed/{name}"] = np.asarray(getattr(found.summed, name))
    return arrays


def _score_of(arrays: Arrays, n_docs: int) -> Score:
    summed = None
    if f"summed/{ARRAYS[0]}" in arrays:
        values: dict[str, Any] = {name: arrays[f"summed/{name}"] for name in ARRAYS}
        texts: dict[str, Any] = {name: str(arrays[f"summed/{name}"]) for name in TEXTS}
        summed = LikelihoodEstimate(**values, **texts)
        if summed.log_likelihood.shape != (n_docs,):
            raise ValueError("not of these documents")
    return Score(
        arrays["test"],
        arrays["train"],
        int(arrays["n_nonzeros"]),
        float(arrays["penalty"]),
        float(arrays["length_scale"]),
        float(arrays["seconds"]),
        summed,
        float(arrays["missing"]),
    )
