"""Checkpoint of training: the trainer's state and the validation checks."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models import Topics
from models.families import arrays_of, family_of, topics_of_arrays, trainers
from models.saved import ModelFormatError, read_arrays, write_arrays

KIND = "wikitopics checkpoint"
BEST = "best_"  # Prefix of the names of the arrays of the best topics

CHECKPOINT_SECONDS = 30.0

FIRST_KIND = "OnlineLDAState"  # Class of the state in old checkpoints, which do not name it


@dataclass
class Checkpoint:
    """Progress of training."""

    corpus_hash: str
    state: Any = None  # State of the trainer; None before the first step
    metrics: list[dict[str, Any]] = field(default_factory=list)  # A line for each validation check
    seconds: float = 0.0  # Seconds of training, without validation
    stopped: bool = False  # Whether training has ended
    shards: list[str] = field(default_factory=list)
    """SHA-256 of the shards read by now, if training follows a download."""
    best: Topics | None = None  # Best topics by validation; None before the first check
    best_look: int | None = None  # Index in `metrics` of the check of the best topics

    def save(self, path: Path) -> None:
        """Replace the last checkpoint, atomically."""
        assert self.state is not None
        kept = ("corpus_hash", "metrics", "seconds", "stopped", "shards", "best_look")
        header = {name: getattr(self, name) for name in kept}
        header["state"] = type(self.state).__name__
        arrays = {name: np.asarray(value) for name, value in vars(self.state).items()}
        if self.best is not None:
            header["family"] = family_of(self.best)
            arrays |= arrays_of(self.best, BEST)
        write_arrays(path, KIND, header, arrays)

    @classmethod
    def load(cls, path: Path, corpus_hash: str, stream_hash: str = "") -> "Checkpoint":
        """Load the last checkpoint; return an empty one if there is none.

        A checkpoint saved as `stream_hash`, before the corpus was complete, is accepted too.

        Raises ModelFormatError if the file is damaged, or belongs to another corpus.
        """
        if not path.exists():
            return cls(corpus_hash)
        header, arrays = read_arrays(path, KIND)
        if header.get("corpus_hash") not in (corpus_hash, stream_hash or corpus_hash):
            raise ModelFormatError(f"{path} belongs to another corpus: delete it to start again")
        try:
            best = None
            if f"{BEST}topic_word" in arrays:
                best = topics_of_arrays(header.get("family", "lda"), arrays, BEST)
            state = _state_of(header.get("state", FIRST_KIND), arrays)
            known = (header["metrics"], header["seconds"], header["stopped"])
            others = (header.get("shards", []), best, header.get("best_look"))
            return cls(corpus_hash, state, *known, *others)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFormatError(f"{path}: not a usable checkpoint: {error!r}") from error


FORMER_FIELDS = {"n_kw_before": "n_wk_before"}
"""Fields of states by the names that earlier versions saved them under."""


def _state_of(name: str, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Return the state with these arrays as fields; numbers and texts are 0-dimensional arrays.

    A field that an older version did not write takes its default.
    """
    kind = {each.state.__name__: each.state for each in trainers()}[name]
    arrays = {FORMER_FIELDS.get(field, field): array for field, array in arrays.items()}
    values: dict[str, Any] = {}
    for each in fields(kind):
        if each.name in arrays:
            value = arrays[each.name]
            values[each.name] = value.item() if value.ndim == 0 else value
        elif each.default is MISSING and each.default_factory is MISSING:
            raise KeyError(each.name)
    return kind(**values)
