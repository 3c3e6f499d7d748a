"""Tables of the league: a corpus and K, with each trainer's figures; stored beside the page."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.league.cells import DAMAGE, SIZES, LeagueFileError, read_cell, read_model
from benchmarks.league.trainers import TRAINERS
from corpora.files import atomic_write_text
from evaluation.figure import Figure, holm, mean_over_seeds
from evaluation.topics.agreement import model_agreement
from models.described.topics import DescribedTopics

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LOWER = "nats a word"
STABILITY = {"cosine": "cosine", "rank_biased_overlap": "rbo", "share": "found again"}
NO_ERROR = frozenset({"c_npmi"})
"""Measures whose intervals miss the truth in so few documents: no ±, and nobody is told apart."""
LEVEL = 0.05


@dataclass(frozen=True)
class Entry:
    """A figure as the page shows it."""

    value: float
    error: float | None = None
    is_best: bool = False
    """Whether it is the best of its column, or not told apart from that."""


@dataclass(frozen=True)
class Row:
    """A trainer: its seeds, mean CPU seconds, and entries by measure."""

    seeds: tuple[int, ...]
    seconds: float
    entries: dict[str, Entry]


@dataclass(frozen=True)
class Table:
    """The figures of all trainers on a corpus with K topics."""

    corpus: str
    n_topics: int
    sizes: dict[str, int]
    rows: dict[str, Row]
    note: str = ""
    """What its figures lack, if they are of an older version."""

    @property
    def n_models(self) -> int:
        """Return the number of models."""
        return sum(len(row.seeds) for row in self.rows.values())

    @property
    def seeds(self) -> list[int]:
        """Return the seeds of any trainer, in order."""
        return sorted({seed for row in self.rows.values() for seed in row.seeds})


def table_of(folder: Path) -> Table:
    """Return the table of a folder of cells, `DIR/CORPUS/K`."""
    corpus, n_topics = folder.parent.name, int(folder.name)
    cells: dict[str, dict[Path, dict[str, Any]]] = {trainer: {} for trainer in TRAINERS}
    for path in sorted(folder.glob("*.json")):
        content = read_cell(path)
        cells[content["trainer"]][path] = content
    figures: dict[str, dict[str, Figure]] = {}
    about, sizes = {}, {}
    for trainer, unordered in cells.items():
        if not unordered:
            continue
        found = dict(sorted(unordered.items(), key=lambda item: int(item[1]["seed"])))
        contents = list(found.values())
        figures[trainer] = _figures(found)
        seconds = float(np.mean([content["cpu_seconds"] for content in contents]))
        about[trainer] = tuple(content["seed"] for content in contents), seconds
        sizes = {name: contents[0][name] for name in SIZES}
    rows = {trainer: Row(*about[trainer], {}) for trainer in figures}
    for measure in {measure: None for row in figures.values() for measure in row}:
        known = {t: r[measure] for t, r in figures.items() if measure in r and r[measure].is_known}
        best = set() if measure in NO_ERROR else _best(known, -1 if measure == LOWER else 1)
        for trainer, figure in known.items():
            has_error = np.isfinite(figure.standard_error) and measure not in NO_ERROR
            error = figure.standard_error if has_error else None
            rows[trainer].entries[measure] = Entry(figure.value, error, trainer in best)
    return Table(corpus, n_topics, sizes, rows)


def _figures(cells: Mapping[Path, dict[str, Any]]) -> dict[str, Figure]:
    """Return the mean figures of a trainer's models, and how alike the models are."""
    figures = [content["figures"] for content in cells.values()]
    names = dict.fromkeys(name for own in figures for name in own)
    for path, own in zip(cells, figures, strict=True):
        if lacking := [name for name in names if name not in own]:
            raise LeagueFileError(
                f"{path}: lacks {', '.join(lacking)}, which other seeds have: delete it, and give "
                "the same command without --show to make it again"
            )
    mean = {name: mean_over_seeds([own[name] for own in figures]) for name in names}
    if len(cells) > 1:
        models = [read_model(path.with_suffix(".npz")) for path in cells]
        among = model_agreement([DescribedTopics.of(model) for model in models])
        mean |= {shown: getattr(among, name) for name, shown in STABILITY.items()}
    return mean


def _best(known: dict[str, Figure], sign: int) -> set[str]:
    """Return the best trainer and those not told apart from it, by Holm's method at 5 %; none where
    the best has no error.
    """
    if not known:
        return set()
    first = max(known, key=lambda t: sign * known[t].value)
    has_error = {trainer for trainer in known if np.isfinite(known[trainer].standard_error)}
    if first not in has_error:
        return set()
    others = sorted(has_error - {first})
    worse = holm([known[first].minus(known[each]).p_value for each in others], LEVEL)
    return {first, *(each for each, is_worse in zip(others, worse, strict=True) if not is_worse)}


def store(table: Table, folder: Path) -> None:
    """Write a table to `folder/CORPUS-K.json`, unless it is empty or a larger one is there."""
    path = folder / f"{table.corpus}-{table.n_topics}.json"
    n_before = stored(path).n_models if path.exists() else 1
    if table.n_models >= n_before:
        folder.mkdir(parents=True, exist_ok=True)
        atomic_write_text(path, json.dumps(asdict(table), indent=1) + "\n")


def stored(path: Path) -> Table:
    """Return the table of a file. Raises LeagueFileError if it is damaged."""
    try:
        content = json.loads(path.read_text("utf-8"))
        rows = {
            trainer: Row(
                tuple(row["seeds"]),
                row["seconds"],
                {measure: Entry(**entry) for measure, entry in row["entries"].items()},
            )
            for trainer, row in content["rows"].items()
        }
        return Table(**{**content, "rows": rows})
    except DAMAGE as error:
        raise LeagueFileError(
            f"{path}: a damaged table of the league ({type(error).__name__}: {error}): delete it, "
            "and give the same command with the folder of its cells as --output"
        ) from error
