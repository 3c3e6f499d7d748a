"""Runs of a selection on workers: each run is trained in slices, and each slice is a task.

A slice takes the files of a run, trains for about a minute by `train` itself, and returns the
changed files, so the client always has a checkpoint that is at most one slice old. A lost worker
costs a slice; the death of the client or the scheduler costs a slice of each active run, and the
same command continues. A resumed run has the same bits as an uninterrupted one, so the result does
not depend on slices or workers.
"""

from __future__ import annotations

import logging
import queue
from collections import deque
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from corpora import writer_lock
from corpora.files import atomic_write, remove_partial_files
from models import load_model
from pipeline.cluster.remote_task import RemoteTask, Shared
from pipeline.cluster.workers import POLL_SECONDS
from pipeline.errors import TaskKilledError, UsageError
from pipeline.progress import Progress
from pipeline.selection.run_slice import (
    CorpusPlace,
    RunSlice,
    SliceEnd,
    run_files,
    score_model,
    train_slice,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from pathlib import Path

    from distributed import Future
    from scipy import sparse

    from evaluation import LikelihoodEstimate
    from pipeline.cluster.cluster import Cluster
    from pipeline.runs.run_directory import RunDirectory

logger = logging.getLogger(__name__)

FIRST_SECONDS = 5.0  # Seconds of a run's first slice; each next one is twice as long
SLICE_SECONDS = 60.0  # Seconds of later slices
LONGEST_SECONDS = 600.0
OVERHEADS = 20  # Shortest slice, in units of its overhead, which then takes a twentieth of the time
BYTES_A_SECOND = 100e6  # Assumed rate of the network, to estimate the overhead
MAX_SENT = 1 << 30
"""Largest corpus that is sent to workers, in bytes; workers must be able to read a larger one."""
MAX_SHOWN = 4  # Active runs whose passes are shown


def train_on(cluster: Cluster, runs: Sequence[RunDirectory], corpus: Path, n_wanted: int) -> None:
    """Train runs as `RunsOnCluster`, and log their validation results; `n_wanted` are all runs."""
    slices = RunsOnCluster(cluster, runs, corpus).results()
    passes: dict[str, float] = {}
    with (
        Progress("runs", n_wanted, "runs", n_wanted - len(runs)) as progress,
        closing(cast("Generator[tuple[RunDirectory, SliceEnd]]", slices)) as arriving,
    ):
        for run, end in arriving:
            name = run.path.name
            passes[name] = end.passes
            if end.is_done:
                del passes[name]
                logger.info("run %s is done%s", name, _validation_of(run))
            in_flight = [f"{each} pass {passes[each]:.1f}" for each in passes]
            more = ", …" if len(in_flight) > MAX_SHOWN else ""
            progress.update(int(end.is_done), ", ".join(in_flight[:MAX_SHOWN]) + more)


def _validation_of(run: RunDirectory) -> str:
    """Validation perplexity of a finished run, as the end of a sentence."""
    metrics, best = run.metrics(), run.provenance().get("best_look")
    if best is None:
        return ""
    look = metrics[best]
    return f": validation perplexity {look['perplexity']:.1f} after {look['passes']:.1f} passes"


@dataclass
class _InFlight:
    """Run, and the slice of it that a worker trains."""

    run: RunDirectory
    work: RemoteTask[SliceEnd | None]
    seconds: float  # Seconds of the next slice, if its overhead is small


class RunsOnCluster:
    """Runs that the workers of a cluster train, as many at a time as they have threads.

    Each run was begun and has its corpus, which all share; they are trained in their order.
    """

    def __init__(self, cluster: Cluster, runs: Sequence[RunDirectory], corpus: Path) -> None:
        self._cluster, self._runs = cluster, runs
        self._corpus = CorpusPlace.of(corpus)
        self._sent: tuple[Shared[Any], ...] = ()
        self._in_flight: dict[int, _InFlight] = {}
        self._arrived: queue.SimpleQueue[int] = queue.SimpleQueue()

    def results(self) -> Iterator[tuple[RunDirectory, SliceEnd]]:
        """Yield (run, end of a slice) in order of completion; the run's files are written.

        Leaving the generator cancels running tasks.

        Raises UsageError if the corpus is too large to be sent to a worker that cannot read it;
        StoreLockedError if another process trains one of the runs; the errors of
        `RemoteTask.result`.
        """
        waiting = deque(enumerate(self._runs))
        with ExitStack() as stack:
            for run in self._runs:
                stack.enter_context(writer_lock(run.path))
                for directory in (run.path, run.checkpoint_path.parent):
                    remove_partial_files(directory)
            stack.callback(self._cancel)
            while waiting or self._in_flight:
                while waiting and len(self._in_flight) < max(1, self._cluster.n_threads):
                    number, run = waiting.popleft()
                    self._begin(number, run, FIRST_SECONDS, FIRST_SECONDS)
                for number in self._waited():
                    end = self._poll(number)
                    if end is not None:
                        yield self._runs[number], end

    def _begin(self, number: int, run: RunDirectory, seconds: float, planned: float) -> None:
        """Submit a slice of `seconds`; `planned` is its length without overhead."""
        sent = self._sent

        def begin() -> Future[Any]:
            # Read from disk: it may be resubmitted, and large files are not kept in memory.
            files = {name: (run.path / name).read_bytes() for name in run_files(run)}
            item = RunSlice(
                run.path.name, str(run.path.parent), files, self._corpus, seconds=seconds
            )
            future = self._cluster.submit(train_slice, item, *(each.future for each in sent))
            future.add_done_callback(lambda _: self._arrived.put(number))
            return future

        work: RemoteTask[SliceEnd | None] = RemoteTask(self._cluster, begin, sent)
        following = min(2 * planned, SLICE_SECONDS)
        self._in_flight[number] = _InFlight(run, work, following)

    def _waited(self) -> list[int]:
        """Numbers of runs whose slice may be done; maybe none."""
        try:
            return [self._arrived.get(timeout=POLL_SECONDS)]
        except queue.Empty:
            self._cluster.check()
            return list(self._in_flight)

    def _poll(self, number: int) -> SliceEnd | None:
        """Return the end of a run's slice, if it is done, and submit the next one."""
        in_flight = self._in_flight.get(number)
        if in_flight is None or in_flight.work.future.status == "pending":
            return None
        run = in_flight.run
        try:
            found = in_flight.work.poll(POLL_SECONDS)
        except TaskKilledError as error:
            raise TaskKilledError(f"run {run.path.name}: {error}") from error
        if found is None:
            return None
        (end,) = found
        if end is None:
            self._send_corpus()
            self._begin(number, run, FIRST_SECONDS, FIRST_SECONDS)
            return None
        for name, data in end.files.items():
            with atomic_write(run.path / name) as stream:
                stream.write(data)
        if end.is_done:
            del self._in_flight[number]
        else:
            # Files are sent both ways.
            n_bytes = 2 * sum((run.path / name).stat().st_size for name in run_files(run))
            overhead = end.overhead + n_bytes / BYTES_A_SECOND
            seconds = min(max(in_flight.seconds, OVERHEADS * overhead), LONGEST_SECONDS)
            self._begin(number, run, seconds, in_flight.seconds)
        return end

    def _send_corpus(self) -> None:
        if self._sent:
            return
        n_bytes = sum(self._corpus.sizes.values())
        if n_bytes > MAX_SENT:
            raise UsageError(
                f"{self._corpus.path} is not to be seen by some worker, and has "
                f"{n_bytes / 2**30:.1f} GiB, more than is sent to them: put --runs on a file "
                "system that all workers see at the same path"
            )
        logger.info("workers do not see %s: it is sent to them", self._corpus.path)
        self._sent = (self._cluster.share(self._corpus.contents()),)

    def _cancel(self) -> None:
        for each in self._in_flight.values():
            each.work.cancel()


def estimates_on(
    cluster: Cluster, models: Sequence[Path], counts: sparse.csr_array
) -> Iterator[tuple[int, LikelihoodEstimate]]:
    """Yield (number of the model, its score of held-out counts (D, V)), as they are done."""
    topics = (load_model(path).topics for path in models)
    shared = cluster.share(counts)
    found = cluster.map(score_model, topics, shared, ahead=1)
    with closing(cast("Generator[tuple[int, LikelihoodEstimate]]", found)) as arriving:
        yield from arriving
