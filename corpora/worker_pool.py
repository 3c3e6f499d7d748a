"""A pool of worker processes: results in order, deaths outlived, and no worker without a parent."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from corpora.worker_note import working_on
from corpora.worker_process import Worker, pickled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["WorkerDiedError", "available_cores", "ordered_map", "working_on"]

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
    *,
    on_death: Callable[[Item, str, int], Item] | None = None,
) -> Iterator[Result]:
    """`function` of every item, in the order of the items, computed by `n_processes` processes.

    With one process all of it runs in this one. Otherwise `function`, the items and the results are
    pickled, so `function` has to be a module's own; large results are better written to a file by
    `function` itself. Items are taken as they are needed, at most 2 `n_processes` ahead of the
    result last given out. `initializer(*initargs)` runs once in each process, before its first
    item. Workers get their next items while this generator runs, not while its caller is busy with
    a result. They use one BLAS or OpenMP thread each, and cannot start processes by
    `multiprocessing` themselves.

    When the generator is closed, or an error leaves it, workers end at once, in the middle of an
    item if need be; they do so too when this process is killed. They take no notice of Ctrl-C: it
    is for this process to answer.

    When a worker dies, another takes its place and all other items go on undisturbed. Its own item
    is handed to `on_death(item, note, n_deaths)`, in this process: `note` is what the worker last
    said by `working_on` while it had that item, empty if nothing, and `n_deaths` how many workers
    this item has had die, 1 the first time. It returns the item to be run in its place, the same
    one if that is worth another try, or raises what is then raised here in place of the result. To
    stop trying at some time is up to it.

    Raises
    ------
    ValueError
        If `n_processes` is not positive.
    WorkerDiedError
        In place of its item's result, if a worker ended by itself or was killed and there is no
        `on_death`. At once if it never got as far as taking an item: another would do the same.
    RuntimeError
        If `function` raised something that cannot be pickled; the message says what.
    Exception
        What `function` raised, in place of the result, or `initializer`, at once; with a note that
        holds the worker's traceback.
    """
    if n_processes < 1:
        raise ValueError(f"n_processes must be at least 1, not {n_processes}")
    prepare = partial(initializer, *initargs) if initializer else None
    if n_processes == 1:
        return _map_here(function, items, prepare)
    return _map_in_pool(function, items, n_processes, prepare, on_death)


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
    """An item on its way to a result or to an error; `is_done` tells whether it is there."""

    item: Item
    n_deaths: int = 0
    is_done: bool = False
    result: Result | None = None
    error: BaseException | None = None

    def end(self, error: BaseException | None, result: Result | None = None) -> None:
        self.is_done, self.error, self.result = True, error, result


class _Pool(Generic[Item, Result]):
    """Up to `n_processes` workers, started as tasks come, and the tasks that wait for them."""

    def __init__(
        self,
        setup: memoryview,
        n_processes: int,
        on_death: Callable[[Item, str, int], Item] | None,
    ) -> None:
        self.setup = setup
        self.n_processes = n_processes
        self.on_death = on_death
        self.waiting: deque[_Task[Item, Result]] = deque()
        self.task_of: dict[Worker, _Task[Item, Result] | None] = {}

    def task(self, item: Item) -> _Task[Item, Result]:
        """A new task; without waiting for any, workers that have become free are kept busy."""
        task: _Task[Item, Result] = _Task(item)
        self.waiting.append(task)
        self._listen(0)
        return task

    def result_of(self, task: _Task[Item, Result]) -> Result:
        """Wait for the task's result and return it, or raise the error that it came to."""
        while not task.is_done:
            self._listen(None)
        if task.error is not None:
            raise task.error
        return cast("Result", task.result)

    def kill(self) -> None:
        """End all workers, whatever they are at."""
        for worker in self.task_of:
            worker.kill()
        for worker in self.task_of:
            worker.bury()
        self.task_of.clear()

    def _listen(self, seconds: float | None) -> None:
        """Wait for a worker to answer or to die, None for as long as it takes; then hand out."""
        ready = set(wait([worker.connection for worker in self.task_of], seconds))
        for worker in [worker for worker in self.task_of if worker.connection in ready]:
            self._hear(worker)
        self._hand_out()

    def _hand_out(self) -> None:
        """Give waiting tasks to idle workers; start workers for the rest while there may be more.

        So a task that is not done is always with a worker, or waits for one that will answer.
        """
        for worker in self.task_of:
            while self.waiting and worker.is_ready and self.task_of[worker] is None:
                task = self.waiting.popleft()
                try:
                    worker.give(task.item)
                except Exception as error:  # noqa: BLE001 - raised in place of the result
                    task.end(error)
                else:
                    self.task_of[worker] = task
        n_starting = sum(not worker.is_ready for worker in self.task_of)
        n_places = self.n_processes - len(self.task_of)
        for _ in range(min(n_places, len(self.waiting) - n_starting)):
            self.task_of[Worker(self.setup)] = None

    def _hear(self, worker: Worker) -> None:
        try:
            error, result = worker.hear()
        except EOFError:
            self._bury(worker)
            return
        task, self.task_of[worker] = self.task_of[worker], None
        if task is not None:
            task.end(error, result)
        elif error is not None:
            raise error  # the initializer's
        else:
            worker.is_ready = True

    def _bury(self, worker: Worker) -> None:
        """Have the task of a worker that died done by another, if `on_death` says so."""
        task = self.task_of.pop(worker)
        worker.kill()
        note, end = worker.note.read(), worker.bury()
        if task is None and worker.is_ready:
            return  # it was idle: nothing is lost
        died = WorkerDiedError(
            f"a worker process ended {'unexpectedly' if task else 'before its first item'} ({end})"
            f"{f' while it was at {note}' if note else ''}; if the system ran out of memory, "
            f"use fewer than {self.n_processes} processes"
        )
        if task is None:
            raise died
        if self.on_death is None:
            task.end(died)
            return
        task.n_deaths += 1
        try:
            task.item = self.on_death(task.item, note, task.n_deaths)
        except Exception as error:  # noqa: BLE001 - raised in place of the result
            task.end(error)
        else:
            self.waiting.appendleft(task)
