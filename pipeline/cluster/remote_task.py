"""Task on a cluster that survives the loss of workers."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pipeline.cluster.workers import POLL_SECONDS, ConnectedWorkers
from pipeline.errors import ClusterError, TaskKilledError

if TYPE_CHECKING:
    from collections.abc import Callable

    from distributed import Future


logger = logging.getLogger(__name__)

T = TypeVar("T")
Result = TypeVar("Result")

FETCH_SECONDS = 20.0  # Seconds to fetch a result from a worker; doubled after each failure
MAX_WORKER_DEATHS = 3
"""Times that Dask may give up a task, each after the death of about four workers."""
MAX_TRIES = 3  # Attempts at a task that fails with an OSError, which may be temporary


class Shared(Generic[T]):
    """Value that many tasks share, sent once to each worker; made by `Cluster.share`."""

    def __init__(self, cluster: ConnectedWorkers, value: T, *, broadcast: bool = True) -> None:
        self._cluster, self._value, self._broadcast = cluster, value, broadcast
        self._future: Future[Any] | None = None

    @property
    def future(self) -> Future[Any]:
        """Future of the value, for a task's arguments; sent again if no worker holds it."""
        if self._future is None or self._future.status in ("cancelled", "lost", "error"):
            self._future = self._cluster.scatter(self._value, broadcast=self._broadcast)
        return self._future

    def renew(self) -> None:
        """Send the value with the next task if no worker holds it."""
        with suppress(Exception):  # the cluster may just be changing
            if self._future is not None and self._cluster.holders(self._future):
                return
        self._future = None


class RemoteTask(Generic[Result]):
    """Task that is resubmitted when its result is lost.

    `begin` submits the task and returns the future of the result; it needs the values `shared`.
    Dask may give up the task `max_worker_deaths` times before an error is raised.
    """

    def __init__(
        self,
        cluster: ConnectedWorkers,
        begin: Callable[[], Future[Any]],
        shared: tuple[Shared[Any], ...] = (),
        max_worker_deaths: int = MAX_WORKER_DEATHS,
    ) -> None:
        self._cluster, self._begin, self._shared = cluster, begin, shared
        self._max_worker_deaths, self._n_deaths, self._n_errors = max_worker_deaths, 0, 0
        self._fetch_seconds = FETCH_SECONDS
        self.future = self._begun()

    def result(self) -> Result:
        """Wait for the result.

        Raises TaskKilledError if workers die at the task repeatedly; ClusterError if the workers'
        software differs from this one; ClusterLostError if the cluster is lost; any error of the
        function.
        """
        while True:
            found = self.poll(POLL_SECONDS)
            if found is not None:
                return found[0]
            self._cluster.check()

    def poll(self, seconds: float) -> tuple[Result] | None:
        """Return the result if it arrives within `seconds`, else None; resubmit a lost task."""
        from distributed import KilledWorker  # noqa: PLC0415
        from distributed.client import FutureCancelledError  # noqa: PLC0415

        self._cluster.wait_for(self.future, seconds)
        if self.future.status == "pending":
            return None
        try:
            return (self.future.result(timeout=self._fetch_seconds),)
        except KilledWorker as error:
            self._n_deaths += 1
            if self._n_deaths >= self._max_worker_deaths:
                raise TaskKilledError(
                    "workers died again and again at one task; most often they have too little "
                    "memory: give each more, or start fewer on a machine"
                ) from error
        except FutureCancelledError:
            pass
        except OSError as error:
            if isinstance(error, TimeoutError) and self.future.status in ("finished", "pending"):
                # The result is large, or is computed again, as its worker is lost.
                self._fetch_seconds *= 2
                return None
            self._n_errors += 1
            if self.future.status == "error" and self._n_errors >= MAX_TRIES:
                raise
            logger.info("a task failed and is tried again: %s", error)
        except (ModuleNotFoundError, AttributeError) as error:
            is_not_installed = isinstance(error, ModuleNotFoundError) or "module" in str(error)
            if self.future.status == "error" and is_not_installed:
                raise ClusterError(
                    f"a worker cannot load this software ({error}): install the same wikitopics, "
                    "and what else this command needs, on every worker"
                ) from error
            raise
        self.resubmit()
        return None

    def resubmit(self) -> None:
        """Submit the task again, with shared values that no worker holds any more."""
        self._cluster.wait_for_workers()
        for each in self._shared:
            each.renew()
        self.future = self._begun()

    def cancel(self) -> None:
        """Cancel the task."""
        with suppress(Exception):  # the cluster may be lost
            self.future.cancel(force=True)

    def _begun(self) -> Future[Any]:
        for _ in range(MAX_TRIES):
            try:
                return self._begin()
            except (OSError, TimeoutError, KeyError, RuntimeError) as error:
                # A worker was lost while data were sent to it.
                logger.debug("not sent: %r", error)
                self._cluster.wait_for_workers()
                for each in self._shared:
                    each.renew()
        return self._begin()
