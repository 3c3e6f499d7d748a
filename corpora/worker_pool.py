"""A pool of worker processes: results in order, and no worker that outlives its parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future
    from multiprocessing.connection import Connection

Item = TypeVar("Item")
Result = TypeVar("Result")


class WorkerDiedError(RuntimeError):
    """A worker process ended without an answer, most often because the system ran out of memory."""


def available_cores() -> int:
    """Cores that this process may use."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return usable or 1


def ordered_map(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    n_processes: int,
    initializer: Callable[..., object] | None = None,
    initargs: tuple[Any, ...] = (),
) -> Iterator[Result]:
    """`function` of every item, in the order of the items, computed by `n_processes` processes.

    With one process all of it runs in this one. Otherwise `function`, the items and the results are
    pickled, so `function` has to be a module's own; large results are better written to a file by
    `function` itself. Items are taken as they are needed, at most 2 `n_processes` ahead of the
    result last given out. `initializer(*initargs)` runs once in each process, before its first
    item.

    When the generator is closed, or an error leaves it, workers end at once, in the middle of an
    item if need be; they do so too when this process is killed. They take no notice of Ctrl-C: it
    is for this process to answer.

    Raises
    ------
    ValueError
        If `n_processes` is not positive.
    WorkerDiedError
        If a worker ended by itself or was killed.
    Exception
        What `function` or `initializer` raised.
    """
    if n_processes < 1:
        raise ValueError(f"n_processes must be at least 1, not {n_processes}")
    prepare = partial(initializer, *initargs) if initializer else None
    if n_processes == 1:
        return _map_here(function, items, prepare)
    return _map_in_pool(function, items, n_processes, prepare)


def _map_here(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    prepare: Callable[[], object] | None,
) -> Iterator[Result]:
    for i, item in enumerate(items):
        if prepare and i == 0:
            prepare()
        yield function(item)


def _map_in_pool(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    n_processes: int,
    prepare: Callable[[], object] | None,
) -> Iterator[Result]:
    spawn = multiprocessing.get_context("spawn")
    resource_tracker.ensure_running()  # its start unblocks SIGINT, so not while workers start
    watched_end, held_end = spawn.Pipe(duplex=False)
    executor = ProcessPoolExecutor(n_processes, spawn, _start_worker, (watched_end, prepare))
    futures: deque[Future[Result]] = deque()
    try:
        for item in items:
            with _sigint_blocked():
                futures.append(executor.submit(_call, function, item))
            if len(futures) == 2 * n_processes:
                yield futures.popleft().result()
        while futures:
            yield futures.popleft().result()
    except BrokenProcessPool as error:
        raise WorkerDiedError(
            "a worker process ended unexpectedly; if the system ran out of memory, "
            f"use fewer than {n_processes} processes"
        ) from error
    finally:
        # A worker that ends while it sends a result leaves half of it in the pipe. Its reader here
        # waits for the rest as long as somebody could still write, and so could this process.
        executor._result_queue._writer.close()  # type: ignore[attr-defined]  # noqa: SLF001
        held_end.close()
        executor.shutdown(cancel_futures=True)
        watched_end.close()


@contextmanager
def _sigint_blocked() -> Iterator[None]:
    """Workers started in this block never see Ctrl-C; this process sees it when the block ends."""
    former = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)


# In a worker

_to_do_first: list[Callable[[], object]] = []
"""The initializer until it has run: run with an item, what it raises reaches the parent."""


def _start_worker(watched_end: Connection, prepare: Callable[[], object] | None) -> None:
    threading.Thread(target=_end_with_parent, args=(watched_end,), daemon=True).start()
    if prepare:
        _to_do_first.append(prepare)


def _end_with_parent(watched_end: Connection) -> None:
    """Wait until the parent closes its end of the pipe, which its death does as well."""
    watched_end.poll(None)
    os._exit(1)


def _call(function: Callable[[Item], Result], item: Item) -> Result:
    while _to_do_first:
        _to_do_first[-1]()
        _to_do_first.pop()
    return function(item)
