"""Workers of a Dask cluster, and the tasks they are given.

A task is a function of a module and values, without state on the worker, so any other worker can
repeat a lost task. Dask does that itself as long as it has the inputs; inputs that are lost too are
sent again from here.
"""

from __future__ import annotations

import logging
import platform
import signal
import time
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pipeline.errors import ClusterError, ClusterLostError, InterruptedAloneError
from pipeline.interrupts import Deferred
from pipeline.version import software_version

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from distributed import Client, Future

logger = logging.getLogger(__name__)
POLL_SECONDS = 1.0  # Seconds between two checks of the cluster while a result is awaited
PATIENCE_SECONDS = 600.0
"""Seconds without a worker after which a command gives up; its progress is kept."""
ANSWER_SECONDS = 5.0  # Seconds for a scheduler to list its workers
Result = TypeVar("Result")
PACKAGES = ("numba", "numpy", "scipy", "spacy")


class ConnectedWorkers:
    """Connection to workers; messages give the address as the user gave it."""

    def __init__(self, client: Client, address: str) -> None:
        self.client, self.address = client, address
        self._environment = describe_environment()
        self._threads: dict[str, int] = {}
        self._looked, self._alone_since = -1e9, 0.0
        self._look_at_workers()

    @property
    def n_threads(self) -> int:
        """Number of threads of all workers, as last seen."""
        return sum(self._threads.values())

    @property
    def n_workers(self) -> int:
        """Number of workers, as last seen."""
        return len(self._threads)

    @property
    def addresses(self) -> tuple[str, ...]:
        """Addresses of the workers, as last seen."""
        return tuple(self._threads)

    def submit(self, function: Callable[..., Any], *arguments: Any, **how: Any) -> Future[Any]:
        """Submit a call of a module's function; arguments may be futures."""
        task = called, function, self._environment, *arguments
        return self.client.submit(*task, pure=False, **how)

    def submit_to(self, worker: str, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Submit a call to the worker at this address alone."""
        return self.submit(function, *arguments, workers=[worker])

    def scatter(self, value: object, *, broadcast: bool) -> Future[Any]:
        """Send a value to all workers, or to one of them."""
        # In a list: a bare list would be taken for several values.
        (found,) = self.client.scatter([value], hash=False, timeout=ANSWER_SECONDS)
        future = cast("Future[Any]", found)
        if broadcast:
            self._spread(future)
        return future

    def holders(self, future: Future[Any]) -> tuple[str, ...]:
        """Workers that hold a value."""
        return tuple(self.client.who_has([future]).get(future.key, ()))

    def wait_for(self, future: Future[Any], seconds: float) -> None:
        """Wait until a future has ended, at most `seconds`."""
        from distributed import wait  # noqa: PLC0415

        with self.client.as_current(), suppress(TimeoutError, CancelledError):
            wait(future, timeout=seconds)

    def check(self) -> None:
        """Check that the cluster still exists; wait if it has no workers.

        Raises ClusterLostError if the scheduler is lost, or no worker came back for
        `PATIENCE_SECONDS`; InterruptedAloneError if there are no workers, and a deferred signal
        waits for their results.
        """
        if time.monotonic() - self._looked > POLL_SECONDS:
            self._look_at_workers()

    def wait_for_workers(self) -> None:
        """Wait until there is a worker; errors are those of `check`."""
        self._look_at_workers()
        while not self._threads:
            time.sleep(POLL_SECONDS / 5)
            self._look_at_workers()

    def check_environment(self) -> None:
        """Check that the workers' software is the same as this one.

        Raises ClusterError if it differs on a worker, which the message names.
        """
        try:
            found = self.client.run(describe_environment, on_error="return")
        except (OSError, TimeoutError) as error:
            raise ClusterError(f"{self.address}: workers do not answer: {error}") from error
        processors = set()
        for worker, theirs in found.items():
            if isinstance(theirs, Exception):
                raise ClusterError(
                    f"worker {worker} cannot load this software ({theirs}): install the same "
                    "wikitopics there"
                )
            if different := differences(self._environment, theirs):
                raise ClusterError(f"worker {worker} has {different}: install the same versions")
            processors.add(theirs["processor"])
        if processors - {self._environment["processor"]}:
            logger.warning(
                "workers have other processors than this machine (%s, %s): results may differ from "
                "those made here in their last digits",
                ", ".join(sorted(processors)),
                self._environment["processor"],
            )

    def _spread(self, future: Future[Any]) -> None:
        """Wait until all workers that are not lost hold a value.

        Dask's own broadcast never ends if a worker is lost during it.
        """
        holding = {worker: self.submit_to(worker, hold, future) for worker in self.addresses}
        while holding:
            for each in holding.values():
                self.wait_for(each, POLL_SECONDS)
            holding = {
                worker: each
                for worker, each in holding.items()
                if each.status == "pending" and worker in self._threads
            }
            self.check()

    def _look_at_workers(self) -> None:
        now, before, is_first = time.monotonic(), self._threads, self._looked < 0
        try:
            self._threads = dict(self.client.nthreads(callback_timeout=ANSWER_SECONDS))
        except Exception as error:
            if self.client.status not in ("running", "connecting"):
                raise ClusterLostError(
                    f"the scheduler at {self.address} is gone; what was done is kept: start it and "
                    f"its workers again (`dask scheduler`, `dask worker {self.address}`), and give "
                    "the same command again to go on"
                ) from error
            self._threads = {}
        self._looked = time.monotonic()
        if self._threads:
            self._alone_since = 0.0
            if not is_first:
                _tell_of_change(self.address, before, self._threads)
            return
        if not self._alone_since:
            self._alone_since = now
            logger.warning("cluster %s has no workers at the moment: waiting", self.address)
        handler = signal.getsignal(signal.SIGTERM)
        if isinstance(handler, Deferred) and handler.signal_number is not None:
            raise InterruptedAloneError(handler.signal_number)
        if now - self._alone_since > PATIENCE_SECONDS:
            raise ClusterLostError(
                f"cluster {self.address} has had no workers for {PATIENCE_SECONDS / 60:.0f} "
                "minutes; what was done is kept: give the same command again to go on"
            )


def _tell_of_change(address: str, before: Collection[str], now: Collection[str]) -> None:
    gone = sorted(set(before) - set(now))
    if gone:
        logger.warning(
            "%s has left cluster %s: what it was at is done again", ", ".join(gone), address
        )
    if set(before) != set(now):
        logger.info(
            "cluster %s has %d worker%s now", address, len(now), "" if len(now) == 1 else "s"
        )


@cache
def describe_environment() -> dict[str, str]:
    """Return versions of the software that results depend on, and the processor of kernels."""
    from llvmlite import binding  # noqa: PLC0415 - brings LLVM along
    from numba.core import config  # noqa: PLC0415

    about = {name: metadata.version(name) for name in PACKAGES}
    python = ".".join(platform.python_version_tuple()[:2])
    about |= {"wikitopics": software_version(), "python": python}
    return about | {"processor": str(vars(config).get("CPU_NAME") or binding.get_host_cpu_name())}


def differences(ours: Mapping[str, str], theirs: Mapping[str, str]) -> str:
    """Describe differences between versions; empty if there are none.

    Processors do not count: kernels run on all of them, though last bits may differ.
    """
    return ", ".join(
        f"{name} {theirs.get(name, 'none')} in place of {version}"
        for name, version in ours.items()
        if name != "processor" and theirs.get(name) != version
    )


def called(
    function: Callable[..., Result], environment: Mapping[str, str], *arguments: Any
) -> Result:
    """Call the function on a worker, if its software is the client's.

    Raises ClusterError if the software differs, as of a worker that joined after the client's
    check.
    """
    if different := differences(environment, describe_environment()):
        from distributed import get_worker  # noqa: PLC0415

        raise ClusterError(
            f"worker {get_worker().address} has {different}: install the same versions"
        )
    return function(*arguments)


def hold(_: object) -> None:
    """Do nothing: a task that makes a worker hold a value."""
