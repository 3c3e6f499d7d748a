"""Looks at a training while it runs: its clocks and memory, and its topics in a file."""

from __future__ import annotations

import json
import signal
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.lda_trainers import process_tree
from corpora.files import atomic_write_text
from models import LDATopics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BEGAN = "began.json"
"""Of the file that says that training has begun, with `start_memory`."""


class TimeUpError(Exception):
    """The time that a trainer has is over."""


@dataclass(frozen=True)
class Snapshot:
    """A look whose topics, beside it in a file, are yet to be scored."""

    n_steps: int
    seconds: float
    cpu_seconds: float
    peak_memory: int


class Recorder:
    """Takes looks at growing distances and writes each to a directory.

    Parameters
    ----------
    directory
        Where to: a JSON file and topics in an `.npz` for each look.
    first : float
        Seconds of training before the first look.
    growth : float
        The next look is when the seconds have grown by this factor.
    limit : float
        Seconds of training after which `step` ends it; may be infinite.
    """

    def __init__(self, directory: Path, first: float, growth: float, limit: float) -> None:
        self._directory, self._growth = directory, growth
        self.limit = limit
        self._next = first
        self._n_steps = self._n_steps_seen = self._n_looks = 0
        self._seconds = self._cpu_seconds = 0.0

    def start(self) -> None:
        """Training begins."""
        process_tree.reset_peak_memory()
        began = {"start_memory": process_tree.peak_memory()}
        (self._directory / BEGAN).write_text(json.dumps(began))
        self._go()

    def start_anew(self) -> None:
        """Training begins from nothing; what was trained before does not count."""
        self._seconds = self._cpu_seconds = 0.0
        self._go()

    def look_at(self, n_steps: int, topics: Callable[[], LDATopics]) -> float:
        """Take a look after the last of so many steps; return the seconds of training."""
        self._n_steps = n_steps
        self._look(topics)
        return self._seconds

    def step(self, topics: Callable[[], LDATopics]) -> None:
        """Another sweep or batch has been made; look if it is time.

        Raises
        ------
        TimeUpError
            If the limit is reached; the last look has then been taken.
        """
        self._n_steps += 1
        seconds = self._seconds + time.perf_counter() - self._went
        if seconds >= min(self._next, self.limit):
            self._look(topics)
            if self._seconds >= self.limit:
                raise TimeUpError

    def finish(self, topics: Callable[[], LDATopics]) -> None:
        """Take the last look, if the last step was not looked at."""
        if self._n_steps > self._n_steps_seen:
            self._look(topics)

    def _look(self, topics: Callable[[], LDATopics]) -> None:
        process_tree.signal_descendants(signal.SIGSTOP)
        self._seconds += time.perf_counter() - self._went
        self._cpu_seconds += process_tree.cpu_seconds() - self._cpu_went
        self._next = self._growth * self._seconds
        self._n_steps_seen = self._n_steps
        snapshot = Snapshot(
            self._n_steps, self._seconds, self._cpu_seconds, process_tree.peak_memory()
        )
        stem = f"{self._n_looks:04d}"
        now = topics()
        # No compression: it is written quickly, and gone as soon as it is scored.
        np.savez(
            self._directory / f"{stem}.npz",
            topic_word=now.topic_word.astype(np.float32),
            alpha=now.alpha,
        )
        atomic_write_text(self._directory / f"{stem}.json", json.dumps(asdict(snapshot)))
        self._n_looks += 1
        del now
        process_tree.reset_peak_memory()
        self._go()

    def _go(self) -> None:
        self._cpu_went = process_tree.cpu_seconds()
        process_tree.signal_descendants(signal.SIGCONT)
        self._went = time.perf_counter()


def start_memory(directory: Path) -> int:
    """Bytes before training began."""
    return int(json.loads((directory / BEGAN).read_text())["start_memory"])


def snapshots(directory: Path) -> Iterator[tuple[Snapshot, LDATopics]]:
    """All looks that a recorder has written, by time."""
    for path in sorted(directory.glob("[0-9]*.json")):
        snapshot = Snapshot(**json.loads(path.read_text()))
        with np.load(path.with_suffix(".npz")) as arrays:
            yield snapshot, LDATopics.from_weights(arrays["topic_word"], arrays["alpha"])
