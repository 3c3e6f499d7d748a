"""Cluster: workers, values that they share, and functions mapped over items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pipeline.cluster.remote_task import MAX_WORKER_DEATHS, Shared
from pipeline.cluster.task_queue import TaskQueue
from pipeline.cluster.workers import ConnectedWorkers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

T = TypeVar("T")
Item = TypeVar("Item")
Result = TypeVar("Result")


class Cluster(ConnectedWorkers):
    """Workers that apply functions to items, one for each of their threads."""

    def share(self, value: T, *, broadcast: bool = True) -> Shared[T]:
        """Return a value that many tasks share; it is sent to workers with the first of them.

        Parameters
        ----------
        broadcast
            Whether to send it to all workers at once, or to one, from which others fetch it.
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
        the generator cancels running tasks.

        Parameters
        ----------
        max_worker_deaths
            Number of times that Dask may give up an item that is retried alone; each time about
            four workers died.

        Raises
        ------
        TaskKilledError
            If workers die at an item that is retried alone; `index` is its number.
        Exception
            Any error of `function`, and those of `RemoteTask.result`. An OSError is retried.
        """
        tasks: TaskQueue[Item, Result] = TaskQueue(self, function, shared, ahead, max_worker_deaths)
        return tasks.results(items)

    def ordered_map(
        self,
        function: Callable[..., Result],
        items: Iterable[Item],
        *shared: Shared[Any],
        ahead: int = 2,
        max_worker_deaths: int = MAX_WORKER_DEATHS,
    ) -> Iterator[Result]:
        """Yield the results of `map` in the order of the items.

        At most about 4 `ahead` results a thread wait for a slow one before them.
        """
        tasks: TaskQueue[Item, Result] = TaskQueue(self, function, shared, ahead, max_worker_deaths)
        waiting: dict[int, Result] = {}
        given = 0
        tasks.may_begin = lambda index: index <= given + 4 * ahead * max(1, self.n_threads)
        for index, result in tasks.results(items):
            waiting[index] = result
            while given in waiting:
                yield waiting.pop(given)
                given += 1
