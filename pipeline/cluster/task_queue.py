"""Many tasks on a cluster, some at a time, and their results as they come.

When a worker dies, Dask counts it against every task that the worker held, as nobody knows which of
them it died of. So a task that Dask gives up is a suspect: it is tried again with no other under
way, and what dies then is its own doing.
"""

from __future__ import annotations

import queue
from collections import deque
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pipeline.cluster.remote_task import Shared, Work
from pipeline.cluster.workers import LOOK_SECONDS, ConnectedWorkers
from pipeline.errors import TaskKilledError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from distributed import Future


Item = TypeVar("Item")
Result = TypeVar("Result")


class Flow(Generic[Item, Result]):
    """See `Cluster.map`."""

    def __init__(
        self,
        cluster: ConnectedWorkers,
        function: Callable[..., Result],
        shared: tuple[Shared[Any], ...],
        ahead: int,
        most_kills: int,
    ) -> None:
        self._cluster, self._function, self._shared = cluster, function, shared
        self._ahead, self._most_kills = ahead, most_kills
        self._under_way: dict[int, Work[Result]] = {}
        self._suspects: deque[tuple[int, Work[Result]]] = deque()
        """What Dask gave up, as workers died that held it."""
        self._alone: int | None = None
        """Which of them is under way, with no other."""
        self._n_kills = 0
        """Times that Dask gave that one up since."""
        self._arrived: queue.SimpleQueue[int] = queue.SimpleQueue()
        self.may_begin: Callable[[int], bool] = lambda _: True
        """Whether the item with this number may be begun yet; asked again when a result came."""

    def results(self, items: Iterable[Item]) -> Iterator[tuple[int, Result]]:
        """(index, result) of every item, as they come."""
        numbered = enumerate(items)
        following = next(numbered, None)
        try:
            while following is not None or self._under_way or self._suspects:
                self._try_alone()
                while following is not None and self._has_room(following[0]):
                    self._begin(*following)
                    following = next(numbered, None)
                for index in self._waited():
                    work = self._under_way.get(index)
                    if work is None or (found := self._look(index, work)) is None:
                        continue
                    del self._under_way[index]
                    if index == self._alone:
                        self._alone = None
                    yield index, found[0]
        finally:
            for each in self._under_way.values():
                each.cancel()

    def _try_alone(self) -> None:
        """Begin the next suspect, if nothing else is under way."""
        if self._suspects and not self._under_way:
            index, work = self._suspects.popleft()
            work.begin_again()
            self._alone, self._n_kills = index, 0
            self._under_way[index] = work

    def _has_room(self, index: int) -> bool:
        if self._suspects or self._alone is not None:
            return False
        if not self._under_way:
            return True
        most = max(1, self._ahead * self._cluster.n_threads)
        return len(self._under_way) < most and self.may_begin(index)

    def _begin(self, index: int, item: Item) -> None:
        def begin() -> Future[Any]:
            values = [each.future for each in self._shared]
            future = self._cluster.submit(self._function, item, *values)
            future.add_done_callback(lambda _: self._arrived.put(index))
            return future

        self._under_way[index] = Work(self._cluster, begin, self._shared, most_kills=1)

    def _waited(self) -> list[int]:
        """Numbers of work that has something to show; maybe none."""
        try:
            return [self._arrived.get(timeout=LOOK_SECONDS)]
        except queue.Empty:
            self._cluster.check()
            return [i for i, each in self._under_way.items() if each.future.status != "pending"]

    def _look(self, index: int, work: Work[Result]) -> tuple[Result] | None:
        try:
            return work.look(LOOK_SECONDS)
        except TaskKilledError as error:
            if index != self._alone:
                self._suspects.append((index, self._under_way.pop(index)))
                return None
            self._n_kills += 1
            if self._n_kills >= self._most_kills:
                error.index = index
                raise
            work.begin_again()
            return None
