"""What an interrupted training goes on from: the trainer's state and the looks at validation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from models import OnlineLDAState
from models.saved import ModelFormatError, read_arrays, write_arrays

if TYPE_CHECKING:
    from pathlib import Path

KIND = "wikitopics checkpoint"

CHECKPOINT_SECONDS = 30.0


@dataclass
class Checkpoint:
    """Where training is."""

    corpus_hash: str
    state: OnlineLDAState | None = None
    """None before the first step."""
    metrics: list[dict[str, Any]] = field(default_factory=list)
    """A line each time validation was looked at."""
    seconds: float = 0.0
    """Spent training, validation not counted."""
    stopped: bool = False
    """Training has come to its end."""
    shards: list[str] = field(default_factory=list)
    """Of a store that is followed: SHA-256 of the shards that training has come to so far."""

    def save(self, path: Path) -> None:
        """Write it whole or not at all, in the place of the last one."""
        assert self.state is not None
        header = {
            "corpus_hash": self.corpus_hash,
            "metrics": self.metrics,
            "seconds": self.seconds,
            "stopped": self.stopped,
            "shards": self.shards,
        }
        arrays = {name: np.asarray(value) for name, value in vars(self.state).items()}
        write_arrays(path, KIND, header, arrays)

    @classmethod
    def load(cls, path: Path, corpus_hash: str, stream_hash: str = "") -> Checkpoint:
        """The last checkpoint, or a fresh start if there is none.

        One that was saved as `stream_hash`, while the corpus was not complete, will do too.

        Raises
        ------
        ModelFormatError
            If the file is damaged, or belongs to another corpus.
        """
        if not path.exists():
            return cls(corpus_hash)
        header, arrays = read_arrays(path, KIND)
        if header.get("corpus_hash") not in (corpus_hash, stream_hash or corpus_hash):
            raise ModelFormatError(f"{path} belongs to another corpus: delete it to start anew")
        try:
            state = OnlineLDAState(
                excess=arrays["excess"],
                scale=float(arrays["scale"]),
                excess_sum=arrays["excess_sum"],
                alpha=arrays["alpha"],
                eta=arrays["eta"],
                frozen=arrays["frozen"],
                n_batches=int(arrays["n_batches"]),
                n_documents=int(arrays["n_documents"]),
                seed=int(arrays["seed"]),
                n_streamed=int(arrays.get("n_streamed", 0)),
            )
            return cls(
                corpus_hash,
                state,
                header["metrics"],
                header["seconds"],
                header["stopped"],
                header.get("shards", []),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFormatError(f"{path}: not a usable checkpoint: {error!r}") from error
