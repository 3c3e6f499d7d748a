"""One result that is under way on a cluster, and outlives the workers that were at it."""

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

FETCH_SECONDS = 20.0
"""For a result that is there to come from a worker; twice as long after each time it did not."""
MAX_WORKER_DEATHS = 3
"""When Dask gives a task up so many times, as some four workers died at it, so do we."""
MAX_TRIES = 3
"""Of a task that fails with an OSError, as where it reads from may answer again."""


class Shared(Generic[T]):
    """A value that many tasks need: each worker is sent it once, by another worker if that has it.

    Made by `Cluster.share`.
    """

    def __init__(self, cluster: ConnectedWorkers, value: T, *, broadcast: bool = True) -> None:
        self._cluster, self._value, self._broadcast = cluster, value, broadcast
        self._future: Future[Any] | None = None

    @property
    def future(self) -> Future[Any]:
        """What stands for the value in a task's arguments; sent if it is not with any worker."""
        if self._future is None or self._future.status in ("cancelled", "lost", "error"):
            self._future = self._cluster.scatter(self._value, broadcast=self._broadcast)
        return self._future

    def renew(self) -> None:
        """Have it sent again if no worker holds it."""
        with suppress(Exception):  # of a cluster that is just changing
            if self._future is not None and self._cluster.holders(self._future):
                return
        self._future = None


class RemoteTask(Generic[Result]):
    """One result that is under way, and is begun again when it gets lost.

    Parameters
    ----------
    cluster
        Where.
    begin
        Sends the tasks, and returns the future of the result.
    shared
        Values that `begin` needs.
    max_worker_deaths
        When Dask gives it up so many times, as workers died at it, an error is raised.
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
        """Wait for it.

        Raises
        ------
        TaskKilledError
            If workers die at it again and again.
        ClusterError
            If the workers' software is not this one's.
        ClusterLostError
            If the cluster is gone.
        Exception
            What the function raised.
        """
        while True:
            found = self.poll(POLL_SECONDS)
            if found is not None:
                return found[0]
            self._cluster.check()

    def poll(self, seconds: float) -> tuple[Result] | None:
        """The result if it is there within so many seconds; begins again if it was lost."""
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
                # It is large, or is being made again as who had it is gone.
                self._fetch_seconds *= 2
                return None
            self._n_errors += 1
            if self.future.status == "error" and self._n_errors >= MAX_TRIES:
                raise
            logger.info("a task failed and is tried again: %s", error)
        except (ModuleNotFoundError, AttributeError) as error:
            if self.future.status == "error" and _is_not_installed(error):
                raise ClusterError(
                    f"a worker cannot load this software ({error}): install the same wikitopics, "
                    "and what else this command needs, on every worker"
                ) from error
            raise
        self.resubmit()
        return None

    def resubmit(self) -> None:
        """Send it anew, with shared values that no worker holds any more."""
        self._cluster.wait_for_workers()
        for each in self._shared:
            each.renew()
        self.future = self._begun()

    def cancel(self) -> None:
        """Let nobody work on it any more."""
        with suppress(Exception):  # of a cluster that is gone
            self.future.cancel(force=True)

    def _begun(self) -> Future[Any]:
        for _ in range(MAX_TRIES):
            try:
                return self._begin()
            except (OSError, TimeoutError, KeyError, RuntimeError) as error:
                # A worker went away while it was sent something.
                logger.debug("not sent: %r", error)
                self._cluster.wait_for_workers()
                for each in self._shared:
                    each.renew()
        return self._begin()


def _is_not_installed(error: Exception) -> bool:
    return isinstance(error, ModuleNotFoundError) or "module" in str(error)
