"""Ordered process pool that survives worker deaths and leaves no orphans.

pebble is not used: its workers share one pipe, so that a worker that is killed while it sends a
result blocks the others; in a trial their tasks timed out and the pool was broken.
"""

import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import wait
from operator import index
from typing import Any, Generic, TypeVar, cast

from corpora.worker_note import working_on
from corpora.worker_process import Worker, pickled

__all__ = ["WorkerDiedError", "available_cores", "ordered_map", "working_on"]

Item = TypeVar("Item")
Result = TypeVar("Result")


class WorkerDiedError(RuntimeError):
    """A worker process died without a result, most often because the system ran out of memory."""


def available_cores() -> int:
    """Number of cores that this process may use."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return usable or 1


def effective_n_jobs(n_jobs: int | None) -> int:
    """Return the number of threads or processes for `n_jobs`: None is 1, -1 is every core.
    Raises TypeError or ValueError if `n_jobs` is not an integer, or 0.
    """
    if n_jobs is None:
        return 1
    try:
        number = index(n_jobs)
    except TypeError:
        number = None
    if number is None or isinstance(n_jobs, bool):
        raise TypeError(f"n_jobs must be an integer or None, found {n_jobs!r}")
    if number == 0:
        raise ValueError("n_jobs = 0 has no meaning: give a number of threads, or -1 for all cores")
    return number if number > 0 else max(1, available_cores() + 1 + number)


def ordered_map(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    n_processes: int,
    initializer: Callable[..., object] | None = None,
    initargs: tuple[Any, ...] = (),
    *,
    on_death: Callable[[Item, str, int], Item] | None = None,
) -> Iterator[Result]:
    """Yield `function` of every item, in order, computed by `n_processes` processes.

    One process means this process. Otherwise `function`, which must be defined in a module, items
    and results are pickled. At most 2 `n_processes` items are taken ahead of the last result.
    `initializer(*initargs)` runs once in each process before its first item. Workers receive items
    while this generator runs, not while the caller handles a result. They use one BLAS or OpenMP
    thread each, and cannot start processes by `multiprocessing`. When the generator is closed,
    raises an error or its process is killed, workers end at once. They ignore Ctrl-C.

    When a worker dies, another takes its place; other items are not affected. `on_death(item, note,
    n_deaths)` is called in this process: `note` is the last `working_on` for this item, possibly
    empty, and `n_deaths` the number of workers that died at it. It returns the item to run instead,
    possibly the same one, or raises the error that replaces the result.

    Raises ValueError if `n_processes` is not positive; WorkerDiedError in place of a result, if a
    worker died and there is no `on_death`, or at once, if one died before its first item;
    RuntimeError if `function` raised an error that cannot be pickled; the error of `function`, in
    place of the result, or of `initializer`, at once, with a note of the worker's traceback.
    """
    if n_processes < 1:
        raise ValueError(f"n_processes must be at least 1, not {n_processes}")
    prepare = partial(initializer, *initargs) if initializer else None
    if n_processes == 1:
        return _map_here(function, items, prepare)
    return _map_in_pool(function, items, n_processes, prepare, on_death)


def _map_here(
    function: Callable[[Item], Result], items: Iterable[Item], prepare: Callable[[], object] | None
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
    on_death: Callable[[Item, str, int], Item] | None,
) -> Iterator[Result]:
    pool: _Pool[Item, Result] = _Pool(pickled((function, prepare)), n_processes, on_death)
    in_order: deque[_Task[Item, Result]] = deque()
    try:
        for item in items:
            in_order.append(pool.task(item))
            if len(in_order) == 2 * n_processes:
                yield pool.result_of(in_order.popleft())
        while in_order:
            yield pool.result_of(in_order.popleft())
    finally:
        pool.kill()


@dataclass(eq=False)
class _Task(Generic[Item, Result]):
    """An item, and its result or error once `is_done`."""

    item: Item
    n_deaths: int = 0
    is_done: bool = False
    result: Result | None = None
    error: BaseException | None = None

    def finish(self, error: BaseException | None, result: Result | None = None) -> None:
        self.is_done, self.error, self.result = True, error, result


class _Pool(Generic[Item, Result]):
    """Up to `n_processes` workers, started when tasks arrive, and the queue of waiting tasks."""

    def __init__(
        self, setup: memoryview, n_processes: int, on_death: Callable[[Item, str, int], Item] | None
    ) -> None:
        self.setup = setup
        self.n_processes = n_processes
        self.on_death = on_death
        self.waiting: deque[_Task[Item, Result]] = deque()
        self.task_of: dict[Worker, _Task[Item, Result] | None] = {}
        self.logged: set[str] = set()

    def task(self, item: Item) -> _Task[Item, Result]:
        """Queue a new task, and give tasks to workers that are idle by now."""
        task: _Task[Item, Result] = _Task(item)
        self.waiting.append(task)
        self._listen(0)
        return task

    def result_of(self, task: _Task[Item, Result]) -> Result:
        """Wait for the task; return its result or raise its error."""
        while not task.is_done:
            self._listen(None)
        if task.error is not None:
            raise task.error
        return cast("Result", task.result)

    def kill(self) -> None:
        """Kill and reap all workers."""
        for worker in self.task_of:
            worker.kill()
        for worker in self.task_of:
            worker.reap()
        self.task_of.clear()

    def _listen(self, seconds: float | None) -> None:
        """Wait for an answer or a death, with None for any time; then assign tasks."""
        ready = set(wait([worker.connection for worker in self.task_of], seconds))
        for worker in [worker for worker in self.task_of if worker.connection in ready]:
            self._receive(worker)
        self._assign()

    def _assign(self) -> None:
        """Send waiting tasks to idle workers; start up to `n_processes` workers for the rest."""
        for worker in self.task_of:
            while self.waiting and worker.is_ready and self.task_of[worker] is None:
                task = self.waiting.popleft()
                try:
                    worker.send(task.item)
                except Exception as error:  # noqa: BLE001 - raised in place of the result
                    task.finish(error)
                else:
                    self.task_of[worker] = task
        n_starting = sum(not worker.is_ready for worker in self.task_of)
        n_places = self.n_processes - len(self.task_of)
        for _ in range(min(n_places, len(self.waiting) - n_starting)):
            self.task_of[Worker(self.setup)] = None

    def _receive(self, worker: Worker) -> None:
        try:
            answer = worker.receive()
        except EOFError:
            self._reap(worker)
            return
        if isinstance(answer, logging.LogRecord):
            self._log(answer)
            return
        error, result = answer
        task, self.task_of[worker] = self.task_of[worker], None
        if task is not None:
            task.finish(error, result)
        elif error is not None:
            raise error  # the initializer's
        else:
            worker.is_ready = True

    def _log(self, record: logging.LogRecord) -> None:
        """Log what a worker has logged, each message once."""
        logger = logging.getLogger(record.name)
        if record.getMessage() not in self.logged and logger.isEnabledFor(record.levelno):
            self.logged.add(record.getMessage())
            logger.handle(record)

    def _reap(self, worker: Worker) -> None:
        task = self.task_of.pop(worker)
        worker.kill()
        note, end = worker.note.read(), worker.reap()
        if task is None and worker.is_ready:
            return  # an idle worker has no task to lose
        died = WorkerDiedError(
            f"a worker process ended {'unexpectedly' if task else 'before its first item'} ({end})"
            f"{f' while it was at {note}' if note else ''}; if the system ran out of memory, "
            f"use fewer than {self.n_processes} processes"
        )
        if task is None:
            raise died
        if self.on_death is None:
            task.finish(died)
            return
        task.n_deaths += 1
        try:
            task.item = self.on_death(task.item, note, task.n_deaths)
        except Exception as error:  # noqa: BLE001 - raised in place of the result
            task.finish(error)
        else:
            self.waiting.appendleft(task)
