"""Cluster: workers, values that they share, and functions mapped over items."""

from __future__ import annotations

import queue
from collections import deque
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pipeline.cluster.remote_task import MAX_WORKER_DEATHS, RemoteTask, Shared
from pipeline.cluster.workers import POLL_SECONDS, ConnectedWorkers
from pipeline.errors import TaskKilledError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from distributed import Future

T = TypeVar("T")
Item = TypeVar("Item")
Result = TypeVar("Result")


class Cluster(ConnectedWorkers):
    """Workers that apply functions to items, one for each of their threads."""

    def share(self, value: T, *, broadcast: bool = True) -> Shared[T]:
        """Return a value that many tasks share; it is sent to workers with the first of them.

        If it is not broadcast to all workers at once, it goes to one, from which others fetch it.
        """
        return Shared(self, value, broadcast=broadcast)

    def map(
        self,
        function: Callable[..., Result],
        items: Iterable[Item],
        *shared: Shared[Any],
        ahead: int = 2,
        max_worker_deaths: int = MAX_WORKER_DEATHS,
    ) -> Iterator[tuple[int, Result]]:
        """Yield (index, `function(item, *shared values)`) of every item, as they are done.

        Items are taken as workers become free, at most about `ahead` a thread in advance. Items of
        a lost worker go to others; an item that several lost workers held is retried alone. Leaving
        the generator cancels running tasks. Dask may give up an item that is retried alone
        `max_worker_deaths` times; each time about four workers died.

        Raises TaskKilledError if workers die at an item that is retried alone, whose number is
        `index`; any error of `function`, of which an OSError is retried; those of
        `RemoteTask.result`.
        """
        tasks: TaskQueue[Item, Result] = TaskQueue(self, function, shared, ahead, max_worker_deaths)
        return tasks.results(items)

    def ordered_map(
        self,
        function: Callable[..., Result],
        items: Iterable[Item],
        *shared: Shared[Any],
        ahead: int = 2,
    ) -> Iterator[Result]:
        """Yield the results of `map` in the order of the items.

        At most about 4 `ahead` results a thread wait for a slow one before them.
        """
        tasks: TaskQueue[Item, Result] = TaskQueue(self, function, shared, ahead, MAX_WORKER_DEATHS)
        waiting: dict[int, Result] = {}
        given = 0
        tasks.may_begin = lambda index: index <= given + 4 * ahead * max(1, self.n_threads)
        for index, result in tasks.results(items):
            waiting[index] = result
            while given in waiting:
                yield waiting.pop(given)
                given += 1


class TaskQueue(Generic[Item, Result]):
    """Queue behind `Cluster.map`: some tasks run at a time, and results come as they are done.

    When a worker dies, Dask blames every task that the worker held, as it cannot tell which one was
    the cause. A task that Dask gives up is therefore retried alone: workers that die then die
    because of it.
    """

    def __init__(
        self,
        cluster: ConnectedWorkers,
        function: Callable[..., Result],
        shared: tuple[Shared[Any], ...],
        ahead: int,
        max_worker_deaths: int,
    ) -> None:
        self._cluster, self._function, self._shared = cluster, function, shared
        self._ahead, self._max_worker_deaths = ahead, max_worker_deaths
        self._in_flight: dict[int, RemoteTask[Result]] = {}
        self._retry_alone: deque[tuple[int, RemoteTask[Result]]] = deque()
        """Tasks that Dask gave up, because workers that held them died."""
        self._alone: int | None = None  # Index of the task that is retried alone
        self._n_deaths = 0  # Times that Dask gave up the task that is retried alone
        self._arrived: queue.SimpleQueue[int] = queue.SimpleQueue()
        self.may_begin: Callable[[int], bool] = lambda _: True
        """Whether the item with this number may begin; asked again after each result."""

    def results(self, items: Iterable[Item]) -> Iterator[tuple[int, Result]]:
        """Yield (index, result) of every item, as they are done."""
        numbered = enumerate(items)
        following = next(numbered, None)
        try:
            while following is not None or self._in_flight or self._retry_alone:
                self._start_retry()
                while following is not None and self._has_room(following[0]):
                    self._begin(*following)
                    following = next(numbered, None)
                for index in self._waited():
                    work = self._in_flight.get(index)
                    if work is None or (found := self._poll(index, work)) is None:
                        continue
                    del self._in_flight[index]
                    if index == self._alone:
                        self._alone = None
                    yield index, found[0]
        finally:
            for each in self._in_flight.values():
                each.cancel()

    def _start_retry(self) -> None:
        """Retry the next task alone, if no other is running."""
        if self._retry_alone and not self._in_flight:
            index, work = self._retry_alone.popleft()
            work.resubmit()
            self._alone, self._n_deaths = index, 0
            self._in_flight[index] = work

    def _has_room(self, index: int) -> bool:
        if self._retry_alone or self._alone is not None:
            return False
        if not self._in_flight:
            return True
        most = max(1, self._ahead * self._cluster.n_threads)
        return len(self._in_flight) < most and self.may_begin(index)

    def _begin(self, index: int, item: Item) -> None:
        def begin() -> Future[Any]:
            values = [each.future for each in self._shared]
            future = self._cluster.submit(self._function, item, *values)
            future.add_done_callback(lambda _: self._arrived.put(index))
            return future

        self._in_flight[index] = RemoteTask(self._cluster, begin, self._shared, max_worker_deaths=1)

    def _waited(self) -> list[int]:
        """Numbers of tasks that may be done; maybe none."""
        try:
            return [self._arrived.get(timeout=POLL_SECONDS)]
        except queue.Empty:
            self._cluster.check()
            return [i for i, each in self._in_flight.items() if each.future.status != "pending"]

    def _poll(self, index: int, work: RemoteTask[Result]) -> tuple[Result] | None:
        try:
            return work.poll(POLL_SECONDS)
        except TaskKilledError as error:
            if index != self._alone:
                self._retry_alone.append((index, self._in_flight.pop(index)))
                return None
            self._n_deaths += 1
            if self._n_deaths >= self._max_worker_deaths:
                error.index = index
                raise
            work.resubmit()
            return None
