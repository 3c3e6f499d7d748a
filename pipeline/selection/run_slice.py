"""What a worker does for a choice of K: a slice of a run, which `train` makes, or a model's score.

A worker keeps nothing of a run: its files come with the task, are put into a temporary directory
that `train` goes on in as in any other, and those that it changed go back. Only a corpus that was
sent stays as long as it is in use, for all threads of the process.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
from tqdm import tqdm

from corpora.corpus_files import HEADER
from models import load_model, save_model
from models.kernel import seconds_compiling, working_clock
from pipeline.errors import SliceEnded
from pipeline.runs.run_directory import RunDirectory
from pipeline.selection.scores import estimate_of
from pipeline.settings import TrainSettings
from pipeline.training.train import train

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from scipy import sparse

    from evaluation import LikelihoodEstimate
    from models import Topics


@dataclass(frozen=True)
class CorpusPlace:
    """Where the client has the corpus of the runs, and what tells it from any other."""

    path: str
    """Absolute."""
    header: bytes
    """Of its `header.json`, which has the hashes of all other files."""

    @classmethod
    def of(cls, directory: Path) -> CorpusPlace:
        """The place of a corpus that this process sees."""
        return cls(os.path.abspath(directory), (directory / HEADER).read_bytes())  # noqa: PTH100

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes of each file, but for the header."""
        entries = json.loads(self.header)["files"].values()
        return {str(entry["name"]): int(entry["bytes"]) for entry in entries}

    def is_seen(self) -> bool:
        """Whether this very corpus is at the same place for the process that asks."""
        directory = Path(self.path)
        try:
            return (directory / HEADER).read_bytes() == self.header and all(
                (directory / name).stat().st_size == size for name, size in self.sizes.items()
            )
        except OSError:
            return False

    def contents(self) -> dict[str, bytes]:
        """Its files, to be sent."""
        found = {name: (Path(self.path) / name).read_bytes() for name in self.sizes}
        return {**found, HEADER: self.header}


@dataclass(frozen=True)
class RunSlice:
    """A slice of a run that is to be made."""

    name: str
    runs: str
    """The directory of runs as the client calls it, which the model's header names."""
    files: Mapping[str, bytes]
    """Of the run's directory, but for the corpus."""
    corpus: CorpusPlace
    seconds: float
    """After which training ends with a checkpoint."""


@dataclass(frozen=True)
class SliceEnd:
    """What a slice came to."""

    files: Mapping[str, bytes]
    """Those that are new or other than before."""
    is_done: bool
    """Whether the model is among them."""
    passes: float
    """That training has made, if it is not done."""
    overhead: float
    """Seconds that went into anything but training and compiling."""


def train_slice(item: RunSlice, sent: Mapping[str, bytes] | None = None) -> SliceEnd | None:
    """Train a run for some seconds, with one thread.

    Parameters
    ----------
    sent
        The files of the corpus, once a worker did not see it.

    Returns
    -------
    SliceEnd or None
        None if the corpus is not to be seen from here, and was not sent.
    """
    started, compiled = time.monotonic(), seconds_compiling()
    _prepare_process()
    with (
        _corpus_here(item.corpus, sent) as corpus,
        TemporaryDirectory(prefix="wikitopics-run-", dir=_folder()) as root,
    ):
        if corpus is None:
            return None
        run = RunDirectory(Path(root) / item.name)
        run.checkpoint_path.parent.mkdir(parents=True)
        for name, data in item.files.items():
            (run.path / name).write_bytes(data)
        run.corpus_path.symlink_to(corpus, target_is_directory=True)
        settings = TrainSettings(run=item.name, runs=root, threads=1)
        try:
            train(settings, {}, clock=_clock_of_task(), stop_after=item.seconds)
            passes, trained = 0.0, 0.0
        except SliceEnded as ended:
            passes, trained = ended.n_passes, item.seconds
        else:
            _name_runs(run.model_path, item.runs)
        found = {name: (run.path / name).read_bytes() for name in run_files(run)}
        compiling = seconds_compiling() - compiled
        return SliceEnd(
            files={name: data for name, data in found.items() if item.files.get(name) != data},
            is_done=run.model_path.exists(),
            passes=passes,
            overhead=max(0.0, time.monotonic() - started - compiling - trained),
        )


def score_model(topics: Topics, counts: sparse.csr_array) -> LikelihoodEstimate:
    """How probable held-out counts (D, V) are under a model: a worker's task."""
    _prepare_process()
    return estimate_of(topics, counts, 1)


def run_files(run: RunDirectory) -> list[str]:
    """The files of a run, but for its corpus and its lock, that are there; the model last."""
    paths = [
        *(run.settings_path, run.bigrams_path, run.path / "provenance.json"),
        *(run.path / "metrics.jsonl", run.path / "topics.txt", run.checkpoint_path, run.model_path),
    ]
    return [str(path.relative_to(run.path)) for path in paths if path.is_file()]


@cache
def _prepare_process() -> None:
    """One thread a task, also in linear algebra; no semaphores, which killed processes leave."""
    threadpool_limits(1)
    tqdm.set_lock(threading.RLock())


def _folder() -> str | None:
    """Where a worker keeps what is temporary; None elsewhere, for where the system does."""
    from distributed import get_worker  # noqa: PLC0415 - the optional package

    try:
        return str(get_worker().local_directory)
    except ValueError:
        return None


def _clock_of_task() -> Callable[[], float]:
    """The clock of training, which ends it when nobody waits for the task any more."""
    from distributed import get_worker  # noqa: PLC0415 - the optional package

    try:
        worker = get_worker()
    except ValueError:
        return working_clock
    key = worker.get_current_task()

    def clock() -> float:
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            raise InterruptedError("the client of this task has cancelled it, or is gone")
        return working_clock()

    return clock


def _name_runs(model_path: Path, runs: str) -> None:
    """Put the client's directory of runs into the header of a model, in place of this one."""
    model = load_model(model_path)
    settings = model.header["settings"]
    if "runs" in settings:
        header = {**model.header, "settings": {**settings, "runs": runs}}
        save_model(model_path, replace(model, header=header))


class _SentCorpora:
    """Corpora that this process was sent, each written once; unused ones make room for others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._directories: dict[bytes, TemporaryDirectory[str]] = {}
        self._users: Counter[bytes] = Counter()

    def enter(self, place: CorpusPlace, sent: Mapping[str, bytes] | None) -> Path | None:
        """The corpus, to be used until `leave`; None if it is not here."""
        with self._lock:
            if place.header not in self._directories:
                if sent is None:
                    return None
                for each in [each for each in self._directories if not self._users[each]]:
                    self._directories.pop(each).cleanup()
                self._directories[place.header] = _written(sent)
            self._users[place.header] += 1
            return Path(self._directories[place.header].name)

    def leave(self, place: CorpusPlace) -> None:
        """Another use is at its end."""
        with self._lock:
            self._users[place.header] -= 1


_sent_corpora = _SentCorpora()


@contextmanager
def _corpus_here(place: CorpusPlace, sent: Mapping[str, bytes] | None) -> Iterator[Path | None]:
    """The corpus where the client has it, or as it was sent."""
    if place.is_seen():
        yield Path(place.path)
        return
    found = _sent_corpora.enter(place, sent)
    try:
        yield found
    finally:
        if found is not None:
            _sent_corpora.leave(place)


def _written(files: Mapping[str, bytes]) -> TemporaryDirectory[str]:
    directory = TemporaryDirectory(
        prefix="wikitopics-corpus-", dir=_folder(), ignore_cleanup_errors=True
    )
    try:
        for name, data in files.items():
            (Path(directory.name) / name).write_bytes(data)
    except BaseException:
        directory.cleanup()
        raise
    return directory
