"""What a run leaves behind, and when one run was as good as another became."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from corpora.files import atomic_write_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Look:
    """A point of a curve."""

    n_steps: int
    """Sweeps, batches or updates so far."""
    seconds: float
    """Of training, by the wall clock."""
    cpu_seconds: float
    """Of training, by all threads and processes."""
    peak_memory: int
    """Bytes, since the look before."""
    perplexity: float


@dataclass(frozen=True)
class Run:
    """One training."""

    trainer: str
    is_ours: bool
    n_threads: int
    n_topics: int
    seed: int
    start_memory: int
    """Bytes before training: Python, packages and the input."""
    ended: bool
    """Whether it came to its end before it was stopped."""
    looks: tuple[Look, ...]
    """By time, one at least."""

    @property
    def peak_memory(self) -> int:
        """Bytes."""
        return max(look.peak_memory for look in self.looks)


@dataclass(frozen=True)
class Results:
    """All runs of a benchmark."""

    settings: dict[str, Any]
    versions: dict[str, str]
    """Of the packages."""
    runs: list[Run]

    def save(self, path: Path) -> None:
        """Write it as JSON."""
        atomic_write_text(path, json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def load(cls, path: Path) -> Results:
        """Read what `save` wrote."""
        stored = json.loads(path.read_text())
        runs = [
            Run(**{**run, "looks": tuple(Look(**look) for look in run["looks"])})
            for run in stored["runs"]
        ]
        return cls(stored["settings"], stored["versions"], runs)


def first_as_good(looks: Sequence[Look], perplexity: float) -> Look | None:
    """The first look at or below a perplexity; None if there is none. Nothing is interpolated."""
    return next((look for look in looks if look.perplexity <= perplexity), None)


@dataclass(frozen=True)
class Judgement:
    """Ours against a peer, of one number of topics and seed."""

    goal: float
    """The peer's last perplexity."""
    peer: Look
    """The peer's first look that was as good."""
    ours: Look | None
    """Our first look that was as good, if any was."""


def judge(ours: Run, peer: Run) -> Judgement:
    """When both were first as good as the peer was in the end."""
    goal = peer.looks[-1].perplexity
    reached = first_as_good(peer.looks, goal)
    assert reached is not None
    return Judgement(goal, reached, first_as_good(ours.looks, goal))
