"""Work of a worker for a selection: a slice of a run, trained by `train`, or a model's score.

A worker keeps nothing of a run: its files come with the task and go into a temporary directory,
where `train` resumes; changed files go back. A corpus that was sent stays as long as it is in use,
for all threads of the process.
"""

import json
import os
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from scipy import sparse
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
from tqdm import tqdm

from corpora.corpus_files import HEADER
from evaluation import LikelihoodEstimate
from models import Topics, load_model, save_model
from models.kernel import seconds_compiling, working_clock
from pipeline.errors import SliceEnded
from pipeline.runs.run_directory import RunDirectory
from pipeline.selection.scores import estimate_of
from pipeline.settings import TrainSettings
from pipeline.training.train import train


@dataclass(frozen=True)
class CorpusPlace:
    """Path of the runs' corpus on the client, and its identity."""

    path: str  # Absolute path
    header: bytes  # Content of its `header.json`, which has the hashes of all other files

    @classmethod
    def of(cls, directory: Path) -> "CorpusPlace":
        """Describe a corpus that this process can read."""
        return cls(os.path.abspath(directory), (directory / HEADER).read_bytes())  # noqa: PTH100

    @property
    def sizes(self) -> dict[str, int]:
        """Size of each file in bytes, except the header."""
        entries = json.loads(self.header)["files"].values()
        return {str(entry["name"]): int(entry["bytes"]) for entry in entries}

    def is_seen(self) -> bool:
        """Whether this process finds the same corpus at the path."""
        directory = Path(self.path)
        try:
            return (directory / HEADER).read_bytes() == self.header and all(
                (directory / name).stat().st_size == size for name, size in self.sizes.items()
            )
        except OSError:
            return False

    def contents(self) -> dict[str, bytes]:
        """Contents of its files, to be sent."""
        found = {name: (Path(self.path) / name).read_bytes() for name in self.sizes}
        return {**found, HEADER: self.header}


@dataclass(frozen=True)
class RunSlice:
    """Slice of a run to train."""

    name: str
    runs: str  # Folder of runs as the client names it; the model's header contains it
    files: Mapping[str, bytes]  # Files of the run's directory, except the corpus
    corpus: CorpusPlace
    seconds: float  # Seconds after which training ends with a checkpoint


@dataclass(frozen=True)
class SliceEnd:
    """End of a slice."""

    files: Mapping[str, bytes]  # New and changed files
    is_done: bool  # Whether the run is finished, with its model among the files
    passes: float  # Passes that training has made, if it is not done
    overhead: float  # Seconds spent outside training and compiling


def train_slice(item: RunSlice, sent: Mapping[str, bytes] | None = None) -> SliceEnd | None:
    """Train a run for some seconds, with one thread.

    `sent` are the files of the corpus, if some worker could not read it. None if this worker cannot
    read the corpus, and it was not sent.
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
        try:
            run.corpus_path.symlink_to(corpus, target_is_directory=True)
        except OSError:  # on Windows links are for administrators
            shutil.copytree(corpus, run.corpus_path)
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
    """Score held-out counts (D, V) under a model, as a worker's task."""
    _prepare_process()
    return estimate_of(topics, counts, 1)


def run_files(run: RunDirectory) -> list[str]:
    """Existing files of a run, except its corpus and its lock; the model last."""
    paths = [
        *(run.settings_path, run.bigrams_path, run.provenance_path),
        *(run.metrics_path, run.path / "topics.txt", run.checkpoint_path, run.model_path),
    ]
    return [str(path.relative_to(run.path)) for path in paths if path.is_file()]


@cache
def _prepare_process() -> None:
    """Use one thread a task, also in BLAS; make no semaphores, which killed processes leave."""
    threadpool_limits(1)
    tqdm.set_lock(threading.RLock())


def _folder() -> str | None:
    """Temporary folder of a worker; None outside of workers, for the system's."""
    from distributed import get_worker  # noqa: PLC0415 - the optional package

    try:
        return str(get_worker().local_directory)
    except ValueError:
        return None


def _clock_of_task() -> Callable[[], float]:
    """Clock of training, which ends training when the task was cancelled."""
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
    """Write the client's folder of runs into the header of a model."""
    model = load_model(model_path)
    settings = model.header["settings"]
    if "runs" in settings:
        header = {**model.header, "settings": {**settings, "runs": runs}}
        save_model(model_path, replace(model, header=header))


class _SentCorpora:
    """Corpora sent to this process, each written once; unused ones are deleted for others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._directories: dict[bytes, TemporaryDirectory[str]] = {}
        self._users: Counter[bytes] = Counter()

    def enter(self, place: CorpusPlace, sent: Mapping[str, bytes] | None) -> Path | None:
        """Return the corpus, for use until `leave`; None if this process does not have it."""
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
        """End a use of the corpus."""
        with self._lock:
            self._users[place.header] -= 1


_sent_corpora = _SentCorpora()


@contextmanager
def _corpus_here(place: CorpusPlace, sent: Mapping[str, bytes] | None) -> Iterator[Path | None]:
    """Corpus at the client's path, or as it was sent."""
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
