"""What a run leaves behind, and when one run was as good as another became."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from benchmarks.lda_trainers.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

FILE = "runs.jsonl"


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
    settings: Settings
    """Those that the trainer heeds."""
    start_memory: int
    """Bytes before training: Python, packages and the input."""
    ended: bool
    """Whether it came to its end before it was stopped."""
    limit: float
    """Seconds after which it was to be stopped."""
    looks: tuple[Look, ...]
    """By time; none if it failed."""
    failed: str = ""
    """Why there is no look."""
    versions: dict[str, str] = field(default_factory=dict)
    """Of Python and packages."""
    machine: str = ""
    load: float = 0.0
    """Of the machine before the run: 0 if nothing else ran."""

    @property
    def peak_memory(self) -> int:
        """Bytes."""
        return max(look.peak_memory for look in self.looks)

    @property
    def key(self) -> tuple[str, int, int, int, int]:
        """What a folder has one run of: trainer, documents, topics, seed and threads."""
        asked = self.settings
        return self.trainer, asked.documents, asked.n_topics, asked.seed, asked.threads

    def answers(self, trainer: str, settings: Settings, limit: float) -> bool:
        """Whether this is the run that is asked for: the limit matters if it was reached."""
        same = (self.trainer, self.settings) == (trainer, settings)
        return same and (self.ended or self.limit == limit)


def append_run(run: Run, directory: Path) -> None:
    """Add a line to the runs of a directory."""
    with (directory / FILE).open("a") as stream:
        stream.write(json.dumps(asdict(run)) + "\n")


def load_runs(directory: Path) -> list[Run]:
    """The runs of a directory; of several with one key the last."""
    path = directory / FILE
    runs: dict[tuple[str, int, int, int, int], Run] = {}
    if path.exists():
        for line in path.read_text().splitlines():
            stored = json.loads(line)
            stored["settings"] = Settings(**stored["settings"])
            stored["looks"] = tuple(Look(**look) for look in stored["looks"])
            run = Run(**stored)
            runs[run.key] = run
    return list(runs.values())


def comparable(runs: Sequence[Run]) -> dict[tuple[int, int, int], list[Run]]:
    """Group runs by the documents, topics and threads that they were asked for, in order."""
    groups: dict[tuple[int, int, int], list[Run]] = {}
    for run in runs:
        asked = run.settings
        groups.setdefault((asked.documents, asked.n_topics, asked.threads), []).append(run)
    return dict(sorted(groups.items()))


def label(group: tuple[int, int, int], groups: Iterable[tuple[int, int, int]]) -> str:
    """Return K of a group, with its documents and threads where other groups have others."""
    n_docs, n_topics, threads = group
    of_docs, _, of_threads = (set(each) for each in zip(*groups, strict=True))
    parts = [str(n_topics)]
    parts += [f"{n_docs:,} documents"] if len(of_docs) > 1 else []
    parts += [said(threads)] if len(of_threads) > 1 else []
    return ", ".join(parts)


def said(threads: int) -> str:
    """Return a number of threads in words."""
    return "1 thread" if threads == 1 else f"{threads} threads"


def first_as_good(looks: Sequence[Look], perplexity: float) -> Look | None:
    """The first look at or below a perplexity; None if there is none. Nothing is interpolated."""
    return next((look for look in looks if look.perplexity <= perplexity), None)


def last_by(looks: Sequence[Look], clock: str, seconds: float) -> Look | None:
    """The last look that is no later by the clock "seconds" or "cpu_seconds"."""
    return next((look for look in reversed(looks) if getattr(look, clock) <= seconds), None)


@dataclass(frozen=True)
class Judgement:
    """Ours against a peer, of one number of topics and seed."""

    goal: float
    """The peer's last perplexity."""
    peer: Look
    """The peer's first look that was as good."""
    ours: Look | None
    """Our first look that was as good, if any was."""
    ours_then: Look | None
    """Our last look that was no later than the peer's last by the wall clock."""
    ours_at_equal_cpu: Look | None
    """The same by CPU seconds."""


def judge(ours: Run, peer: Run) -> Judgement:
    """When both were first as good as the peer was in the end, and how good ours was then."""
    last = peer.looks[-1]
    reached = first_as_good(peer.looks, last.perplexity)
    assert reached is not None
    return Judgement(
        last.perplexity,
        reached,
        first_as_good(ours.looks, last.perplexity),
        last_by(ours.looks, "seconds", last.seconds),
        last_by(ours.looks, "cpu_seconds", last.cpu_seconds),
    )
