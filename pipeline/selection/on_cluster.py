"""The runs of a choice of K on workers: each is trained in slices, and each slice is a task.

A slice takes the files of a run along, trains for about a minute by `train` itself, and brings back
what changed, so that every run has a checkpoint here that is a slice old at most. A lost worker
costs a slice; the death of the client or of the scheduler costs one of each run under way, and the
same command goes on. As a run that is gone on with comes to the same bits as one without a break,
neither slices nor who makes them show in the result.
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
from pipeline.cluster.remote_task import RemoteTask
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
    from pipeline.cluster.remote_task import Shared
    from pipeline.runs.run_directory import RunDirectory

logger = logging.getLogger(__name__)

FIRST_SECONDS = 5.0
"""Of a run's first slice; each further one is twice as long, so that some result comes early."""
SLICE_SECONDS = 60.0
"""Of the others."""
LONGEST_SECONDS = 600.0
OVERHEADS = 20
"""A slice is at least so many times as long as what it takes besides training, which then costs a
twentieth of the time."""
BYTES_A_SECOND = 100e6
"""That come and go over a network, for that reckoning."""
MOST_SENT = 1 << 30
"""Bytes of a corpus that is sent to workers; a larger one must be where they see it."""
MAX_SHOWN = 4
"""Runs under way whose passes are shown."""


def train_on(cluster: Cluster, runs: Sequence[RunDirectory], corpus: Path, n_wanted: int) -> None:
    """Train runs, and say of each that is done what it came to.

    Parameters
    ----------
    cluster, runs, corpus
        See `RunsOnCluster`, also for what is raised.
    n_wanted
        Runs with those that were done before.
    """
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
    """What the validation documents said of a run that is done, as the end of a sentence."""
    metrics, best = run.metrics(), run.provenance().get("best_look")
    if best is None:
        return ""
    look = metrics[best]
    return f": validation perplexity {look['perplexity']:.1f} after {look['passes']:.1f} passes"


@dataclass
class _InFlight:
    """A run, and the slice of it that some worker makes."""

    run: RunDirectory
    work: RemoteTask[SliceEnd | None]
    seconds: float
    """Of the next slice, if what it takes besides is little."""


class RunsOnCluster:
    """Runs that the workers of a cluster train, as many at a time as they have threads.

    Parameters
    ----------
    cluster
        Who trains.
    runs
        The directories of the runs, each begun and with its corpus, in the order in which they are
        to be trained.
    corpus
        The corpus that all of them have.
    """

    def __init__(self, cluster: Cluster, runs: Sequence[RunDirectory], corpus: Path) -> None:
        self._cluster, self._runs = cluster, runs
        self._corpus = CorpusPlace.of(corpus)
        self._sent: tuple[Shared[Any], ...] = ()
        self._in_flight: dict[int, _InFlight] = {}
        self._arrived: queue.SimpleQueue[int] = queue.SimpleQueue()

    def results(self) -> Iterator[tuple[RunDirectory, SliceEnd]]:
        """A run and what a slice of it came to, as they come; its files are written by then.

        Leaving the generator cancels what is under way.

        Raises
        ------
        UsageError
            If the corpus is too large to be sent to a worker that does not see it.
        TaskKilledError, ClusterError, ClusterLostError
            As `RemoteTask.result` does.
        StoreLockedError
            If another process trains one of the runs.
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
        """Let a worker make a slice of so many seconds, in the place of so many as planned."""
        sent = self._sent

        def begin() -> Future[Any]:
            # From disk, as it may be begun again, and what is large is not kept here meanwhile.
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
        """Numbers of runs whose slice may be there; maybe none."""
        try:
            return [self._arrived.get(timeout=POLL_SECONDS)]
        except queue.Empty:
            self._cluster.check()
            return list(self._in_flight)

    def _poll(self, number: int) -> SliceEnd | None:
        """What the slice of a run came to, if it is there, and the next one is begun."""
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
            # There and back.
            n_bytes = 2 * sum((run.path / name).stat().st_size for name in run_files(run))
            overhead = end.overhead + n_bytes / BYTES_A_SECOND
            seconds = min(max(in_flight.seconds, OVERHEADS * overhead), LONGEST_SECONDS)
            self._begin(number, run, seconds, in_flight.seconds)
        return end

    def _send_corpus(self) -> None:
        """From now on, let the corpus go with the tasks, once to each worker."""
        if self._sent:
            return
        n_bytes = sum(self._corpus.sizes.values())
        if n_bytes > MOST_SENT:
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
    """Number of a model's file and the score of held-out counts (D, V) under it, as they come."""
    topics = (load_model(path).topics for path in models)
    shared = cluster.share(counts)
    found = cluster.map(score_model, topics, shared, ahead=1)
    with closing(cast("Generator[tuple[int, LikelihoodEstimate]]", found)) as arriving:
        yield from arriving
