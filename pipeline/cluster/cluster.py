"""A cluster: its workers, values that they share, and functions of many items."""

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
    """Workers that call functions of items, as many at a time as they have threads."""

    def share(self, value: T, *, broadcast: bool = True) -> Shared[T]:
        """A value that many tasks need, to be sent to workers when the first of these is begun.

        Parameters
        ----------
        broadcast
            Send it to all workers at once, rather than to one, from which others get it if they
            need it.
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
        """(index, `function(item, *values of shared)`) of every item, as they come.

        Items are taken as workers get free, at most about `ahead` a thread in advance. Those of a
        worker that is lost go to others; one that several lost workers held is tried with no other
        under way. Leaving the generator cancels what is under way.

        Parameters
        ----------
        max_worker_deaths
            An item that Dask gives up so many times when it is tried so is given up: each time some
            four workers died.

        Raises
        ------
        TaskKilledError
            If workers die at an item that is tried so; `index` is its number.
        Exception
            What `function` raised, and as `RemoteTask.result`. A task with an OSError is retried.
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
        """The results of `map` in the order of the items.

        While one takes long, at most about 4 `ahead` results a thread behind it are made and wait.
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
