"""E-steps of online variational Bayes on workers, if that is faster than on the client.

A batch is split into nodes of its tree (see `models.lda.e_step`), one task each. Tasks also add the
statistics, level by level, so the client receives them once. Documents are sent with the tasks:
they are small, and workers need no access to the corpus.

The weights of a batch's words and its statistics are large: n_words · K numbers each. A small batch
is faster inferred than sent. Results have the same bits wherever they are computed, so both places
are tried, and the faster one is used.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from models.kernel import seconds_compiling
from models.lda.e_step import LEAF, BatchStatistics, EStep, combined, expected_counts, nodes
from pipeline.cluster.remote_task import RemoteTask

if TYPE_CHECKING:
    from collections.abc import Callable

    from distributed import Future

    from pipeline.cluster.cluster import Cluster

logger = logging.getLogger(__name__)

DEFAULT_PLACE = "faster"  # Default place of E-steps
TASKS_A_THREAD = 2  # Tasks for each thread, of a batch that all workers share
TRY_EVERY = 200  # Batches after which the slower place is tried again
WORTH_LOADING = 10.0
"""Seconds of E-steps here after which workers load kernels, which takes each some seconds."""


class ClusterEStep:
    """E-step function for `OnlineLDA.iterate` that uses the workers of a cluster.

    `n_threads` are of this process; `staleness` is the number of batches in flight besides one. The
    place is "workers", "here", or "faster" to choose by time.
    """

    def __init__(self, cluster: Cluster, n_threads: int, staleness: int, place: str = "") -> None:
        self._cluster, self._n_threads, self._staleness = cluster, n_threads, staleness
        place = place or DEFAULT_PLACE
        self._places = _Places(place, cluster)

    def __call__(self, counts: sparse.csr_array, step: EStep) -> Callable[[], BatchStatistics]:
        """Begin the E-step of a batch (S, V)."""
        place = self._places.next()
        started, compiling = time.perf_counter(), seconds_compiling()
        if place == "here":
            statistics = expected_counts(counts, step, self._n_threads)
            compiling = seconds_compiling() - compiling
            self._places.took("here", time.perf_counter() - started - compiling)
            return lambda: statistics
        work = self._begin(counts, step)
        begun = time.perf_counter() - started

        def result() -> BatchStatistics:
            waited = time.perf_counter()
            statistics = work.result()
            # With several batches in flight, the client's own time for this one counts.
            self._places.took("workers", begun + time.perf_counter() - waited)
            return statistics

        return result

    def _begin(self, counts: sparse.csr_array, step: EStep) -> RemoteTask[BatchStatistics]:
        cluster = self._cluster
        wanted = -(-TASKS_A_THREAD * cluster.n_threads // (self._staleness + 1))
        parts = nodes(counts.shape[0], 1 if self._staleness >= cluster.n_threads else wanted)
        documents = [counts[first:last] for first, last in parts]
        shared = cluster.share(step, broadcast=len(parts) > 1)

        def begin() -> Future[Any]:
            level = [
                cluster.submit(expected_of_part, part, first // LEAF, shared.future)
                for part, (first, _) in zip(documents, parts, strict=True)
            ]
            while len(level) > 1:
                pairs = zip(level[::2], level[1::2], strict=False)
                odd = level[-1:] if len(level) % 2 else []
                level = [cluster.submit(combined, a, b) for a, b in pairs] + odd
            return level[0]

        return RemoteTask(cluster, begin, (shared,))


def expected_of_part(counts: sparse.csr_array, first_leaf: int, step: EStep) -> BatchStatistics:
    """E-step of a part of a batch, in one thread: a worker's task."""
    return expected_counts(counts, step, first_leaf=first_leaf)


def load_kernels() -> None:
    """Run a small E-step, so that imports and kernels are loaded for the next one."""
    counts = sparse.csr_array(np.ones((2, 3), dtype=np.int32))
    step = EStep(np.arange(3, dtype=np.int32), np.ones((3, 2)), np.ones(2), 2, 0.1, (0,), False)
    combined(expected_counts(counts, step), expected_counts(counts, step))


class _Places:
    """Choice of the place of the next E-step.

    Workers load kernels while the client infers, once that has taken so long that it may be worth
    it.
    """

    def __init__(self, place: str, cluster: Cluster) -> None:
        self._fixed = "" if place == "faster" else place
        self._cluster = cluster
        self._loading: list[Future[Any]] | None = None
        self._seconds_here = 0.0  # Of all batches
        self._seconds: dict[str, float] = {}  # Of the last batch, by place
        self._n, self._said = 0, ""

    def next(self) -> str:
        """Return the place of the next E-step: "here" or "workers"."""
        if self._fixed:
            return self._fixed
        if "workers" not in self._seconds:
            if self._seconds_here < WORTH_LOADING:
                return "here"
            if self._loading is None:
                workers = self._cluster.addresses
                self._loading = [self._cluster.submit_to(each, load_kernels) for each in workers]
            if any(future.status == "pending" for future in self._loading):
                return "here"
            self._loading = []
            return "workers"
        best, other = sorted(self._seconds, key=lambda place: self._seconds[place])
        self._n += 1
        if best != self._said:
            self._said = best
            logger.info(
                "E-steps are made %s: %.0f ms a batch, %s %.0f ms",
                *("by the workers" if best == "workers" else "here", 1000 * self._seconds[best]),
                *("here" if other == "here" else "by the workers", 1000 * self._seconds[other]),
            )
        return other if self._n % TRY_EVERY == 0 else best

    def took(self, place: str, seconds: float) -> None:
        """Record the seconds that a batch took."""
        self._seconds[place] = seconds
        if place == "here":
            self._seconds_here += seconds
