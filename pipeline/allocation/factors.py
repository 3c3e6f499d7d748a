"""Factors of a scored model as a file: conditional tables and expected counts, without pickle.

An .npz of arrays `tables/NAME` and `counts/NAME` over the axes `header["families"][NAME]`, and
`header`, the bytes of a JSON object with the labels of the values of each axis.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from models.allocation.allocation_factors import AllocationFactors
from models.allocation.lda_bridge import is_lda_graph, lda_topics
from models.saved import ModelFormatError, SavedModel, read_arrays, save_model, write_arrays
from pipeline.allocation.candidates import Candidate, refused_by_name
from pipeline.allocation.count_table import CountTable
from pipeline.cache.results import ResultCache
from pipeline.settings import AllocateSettings
from pipeline.version import software_version

Floats = NDArray[np.float64]
FACTORS_FORMAT = "allocation factors"
DEPENDS_ON = ("factors", "repeats", "particles", "moves", "seed")
"""Settings that factors depend on, besides the model and the data."""


@dataclass(frozen=True, eq=False)
class Factors:
    """Result of a factorisation."""

    header: dict[str, Any]
    """Graph, rank, method, objective; `indices` in order; `families`, the axes of each table;
    `labels` of the values of each axis; a, b, seed and version."""
    tables: Mapping[str, Floats]  # p(name | its parents), its own axis the last, which sums to 1
    counts: Mapping[str, Floats]  # Expected tokens, of the same shapes
    objective_path: Floats

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Tables, counts and objectives, as files have them."""
        arrays: dict[str, NDArray[Any]] = {"objective_path": self.objective_path}
        for prefix, group in (("tables", self.tables), ("counts", self.counts)):
            arrays |= {f"{prefix}/{name}": each for name, each in group.items()}
        return arrays

    @classmethod
    def from_arrays(
        cls, header: dict[str, Any], names: Sequence[str], arrays: Mapping[str, NDArray[Any]]
    ) -> Self:
        """Return the factors of the indices in `names`.

        Raises KeyError if an array is missing.
        """
        tables, counts = (
            {name: arrays[f"{prefix}/{name}"] for name in names} for prefix in ("tables", "counts")
        )
        return cls(header, tables, counts, arrays["objective_path"])


def cached_factors(candidate: Candidate, table: CountTable, settings: AllocateSettings) -> Factors:
    """Return the cached factors; fit and cache them if there are none.

    Raises UsageError if the model's tables do not fit in memory.
    """
    names = (*DEPENDS_ON, "sweeps") if settings.factors == "annealed" else DEPENDS_ON
    parts = {name: getattr(settings, name) for name in names}
    group = ResultCache().group("allocation-factors", data=table.hash, settings=parts)
    indices = candidate.model.indices
    tables = (f"{part}/{name}" for part in ("tables", "counts") for name in indices)
    fields = ("objective", "intensity", "objective_path", *tables)
    arrays = group.arrays(candidate.hash, fields, partial(_fitted, candidate, table, settings))
    header = _header_of(candidate, table, settings)
    header |= {name: arrays[name].item() for name in ("objective", "intensity")}
    return Factors.from_arrays(header, indices, arrays)


def _fitted(
    candidate: Candidate, table: CountTable, settings: AllocateSettings
) -> dict[str, NDArray[Any]]:
    model = candidate.model
    with refused_by_name(candidate, "; or --factors none"):
        fitted = AllocationFactors(
            model,
            settings.factors,
            n_starts=settings.repeats,
            n_particles=settings.particles,
            n_moves=settings.moves,
            n_sweeps=settings.sweeps,
            random_state=candidate.seed_of(settings.seed),
            n_jobs=settings.threads,
        ).fit(table.counts)
    arrays = {
        "objective": np.asarray(fitted.objective_),
        "intensity": np.asarray(fitted.intensity_),
        "objective_path": np.asarray(fitted.objective_path_),
    }
    for name in model.indices:
        arrays[f"tables/{name}"] = np.asarray(fitted.tables_[name])
        arrays[f"counts/{name}"] = np.asarray(fitted.expected_counts_[name])
    return arrays


def _header_of(
    candidate: Candidate, table: CountTable, settings: AllocateSettings
) -> dict[str, Any]:
    """Model, labels of its axes, and settings, for readers of the factors."""
    model = candidate.model
    labels = dict(zip(table.axes, map(list, table.labels), strict=True))
    return {
        "graph": candidate.graph,
        "rank": candidate.rank,
        "method": settings.factors,
        "indices": list(model.indices),
        "families": {name: list(model.family(name)) for name in model.indices},
        "visible": list(model.visible),
        "hidden": list(model.hidden),
        "tied": [list(group) for group in model.tied],
        "labels": labels
        | {name: list(map(str, range(model.cardinalities[name]))) for name in model.hidden},
        "a": model.a,
        "b": model.b,
        "tokens": table.counts.n_tokens,
        "seed": settings.seed,
        "data_hash": table.hash,
        "software_version": software_version(),
    }


def write_factors(path: str | os.PathLike[str], factors: Factors) -> None:
    """Write factors atomically; equal factors give equal bytes."""
    write_arrays(path, FACTORS_FORMAT, factors.header, factors.to_arrays())


def read_factors(path: str | os.PathLike[str]) -> Factors:
    """Read what `write_factors` wrote.

    Raises ModelFormatError if the file holds something else, or is damaged; FileNotFoundError if
    there is no such file.
    """
    header, arrays = read_arrays(path, FACTORS_FORMAT)
    try:
        names = list(header["indices"])  # JSON objects come back in alphabetical order
        for part in ("families", "labels"):
            header[part] = {name: header[part][name] for name in names}
        return Factors.from_arrays(header, names, arrays)
    except (KeyError, TypeError) as error:
        raise ModelFormatError(f"{path}: not usable factors: {error}") from error


def save_topics(path: Path, candidate: Candidate, table: CountTable, factors: Factors) -> bool:
    """Write model.npz, as `train` does, if the graph is LDA's and one axis is known as words."""
    model = candidate.model
    if not is_lda_graph(model):
        return False
    word = "word" if "word" in model.visible else model.visible[1]
    if word != "word" and candidate.graph != "lda":
        return False
    topics = lda_topics(model, factors.tables, word=word)
    kept = ("graph", "rank", "method", "objective", "a", "b", "seed", "software_version")
    header = {"settings": {name: factors.header[name] for name in kept}}
    words = table.labels[table.axes.index(word)]
    topic = model.hidden[0]
    totals = factors.counts[topic].reshape(-1, model.cardinalities[topic]).sum(axis=0)
    save_model(path, SavedModel(topics, words, header, totals / totals.sum()))
    return True
