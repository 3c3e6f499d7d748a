"""Scores of documents that are kept in `RUN/report/scores.json`, so that a second report is quick.

    {"format": "wikitopics scores", "version": 1, "scores": {KEY: {…}, …}}

A key is the hash of all that a score depends on, see `pipeline.score_key`. Each score has a check
of its own. What cannot be read, or does not fit, is as good as absent: it is made again.
"""

from __future__ import annotations

import json
import logging
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corpora.files import atomic_write_text, sha256_of
from evaluation import LikelihoodEstimate
from pipeline.score_key import model_hash, score_key
from pipeline.scoring import score

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from models import SavedModel
    from pipeline.held_out import HeldOut
    from pipeline.runs import RunDirectory
    from pipeline.scoring import LoadedModel
    from pipeline.settings import EvaluateSettings

logger = logging.getLogger(__name__)

FORMAT = "wikitopics scores"
VERSION = 1
MOST_KEPT = 100
"""The oldest beyond these are forgotten."""
FLOATS = ("log_likelihood", "standard_error", "effective_sample_size")
INTEGERS = ("n_tokens", "n_samples")
NAMES = ("method", "convention", "direction")
UNREADABLE = (
    *(OSError, ValueError, KeyError, TypeError, AttributeError),
    *(OverflowError, RecursionError, MemoryError),
)
"""What foreign or damaged files raise."""


@dataclass(frozen=True, eq=False)
class Scored:
    """How probable documents are under a model, and the time that it took to find out."""

    estimate: LikelihoodEstimate
    seconds: float
    """Of when it was computed, not of when it was read."""


class ScoreCache:
    """The scores that are kept with a run."""

    def __init__(self, run: RunDirectory) -> None:
        self.path: Path = run.path / "report" / "scores.json"
        self._model_hashes: list[tuple[SavedModel, str]] = []

    def score(
        self,
        settings: EvaluateSettings,
        named: LoadedModel,
        documents: HeldOut,
        words: tuple[str, ...],
        n_threads: int,
    ) -> Scored:
        """`pipeline.scoring.score`, or what it came to before.

        Raises
        ------
        ZeroProbabilityError
            If a document is impossible under the model, and the settings have no smoothing.
        """
        key = score_key(settings, self._model_hash(named.model), documents, words)
        scores = self._read()
        known = _decoded(scores.get(key), documents.corpus.n_docs)
        if known is not None:
            return known
        started = time.perf_counter()
        with _silenced():
            estimate = score(settings, named, documents, words, n_threads)
        found = Scored(estimate, time.perf_counter() - started)
        if np.isfinite(estimate.log_likelihood).all():
            scores.pop(key, None)
            scores[key] = _encoded(found)
            self._write(dict(list(scores.items())[-MOST_KEPT:]))
        return found

    def _model_hash(self, model: SavedModel) -> str:
        for known, found in self._model_hashes:
            if known is model:
                return found
        found = model_hash(model)
        self._model_hashes.append((model, found))
        return found

    def _read(self) -> dict[str, Any]:
        """All scores that are kept; none if the file is not one of ours."""
        try:
            found = json.loads(self.path.read_bytes())
            if (found["format"], found["version"]) != (FORMAT, VERSION):
                return {}
            return dict(found["scores"])
        except FileNotFoundError:
            return {}
        except UNREADABLE as error:
            logger.info("%s cannot be used, scores are computed again: %r", self.path, error)
            return {}

    def _write(self, scores: dict[str, Any]) -> None:
        """Keep `scores`; a directory that cannot be written to only costs time, the next time."""
        text = json.dumps({"format": FORMAT, "version": VERSION, "scores": scores}) + "\n"
        try:
            self.path.parent.mkdir(exist_ok=True)
            atomic_write_text(self.path, text)
        except OSError as error:
            logger.warning("scores are not kept for the next report: %s", error)


def _encoded(scored: Scored) -> dict[str, Any]:
    estimate = scored.estimate
    entry: dict[str, Any] = {name: getattr(estimate, name) for name in NAMES}
    entry |= {name: getattr(estimate, name).tolist() for name in INTEGERS}
    for name in FLOATS:  # None for NaN, which JSON does not have
        entry[name] = [None if x != x else x for x in getattr(estimate, name).tolist()]  # noqa: PLR0124
    entry["seconds"] = scored.seconds
    return {**entry, "check": sha256_of(_canonical(entry))}


def _decoded(entry: Any, n_docs: int) -> Scored | None:
    """What `_encoded` made of a score, or None if that is not what this is."""
    try:
        rest = {name: value for name, value in entry.items() if name != "check"}
        if entry["check"] != sha256_of(_canonical(rest)) or len(rest["n_tokens"]) != n_docs:
            return None
        parts: dict[str, Any] = {name: rest[name] for name in NAMES}
        parts |= {name: np.array(rest[name], dtype=np.float64) for name in FLOATS}
        parts |= {name: np.array(rest[name], dtype=np.int64) for name in INTEGERS}
        return Scored(LikelihoodEstimate(**parts), float(rest["seconds"]))
    except UNREADABLE:
        return None


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


@contextmanager
def _silenced() -> Iterator[None]:
    """Without warnings of documents that are hardly sampled: a page says it beside the figures."""
    source = logging.getLogger("evaluation.log_likelihood")
    source.addFilter(_is_no_warning)
    try:
        yield
    finally:
        source.removeFilter(_is_no_warning)


def _is_no_warning(record: logging.LogRecord) -> bool:
    return record.levelno != logging.WARNING
