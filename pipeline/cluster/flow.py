"""Many tasks on a cluster, some at a time, and their results as they come."""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pipeline.cluster.errors import TaskKilledError
from pipeline.cluster.work import LOOK_SECONDS, Shared, Work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from distributed import Future

    from pipeline.cluster.workers import Cluster

Item = TypeVar("Item")
Result = TypeVar("Result")


class Flow(Generic[Item, Result]):
    """See `Cluster.map`."""

    def __init__(
        self,
        cluster: Cluster,
        function: Callable[..., Result],
        shared: tuple[Shared[Any], ...],
        ahead: int,
        most_kills: int,
    ) -> None:
        self._cluster, self._function, self._shared = cluster, function, shared
        self._ahead, self._most_kills = ahead, most_kills
        self._under_way: dict[int, Work[Result]] = {}
        self._arrived: queue.SimpleQueue[int] = queue.SimpleQueue()
        self.may_begin: Callable[[int], bool] = lambda _: True
        """Whether the item with this number may be begun yet; asked again when a result came."""

    def results(self, items: Iterable[Item]) -> Iterator[tuple[int, Result]]:
        """(index, result) of every item, as they come."""
        numbered = enumerate(items)
        following = next(numbered, None)
        try:
            while following is not None or self._under_way:
                while following is not None and self._has_room(following[0]):
                    self._begin(*following)
                    following = next(numbered, None)
                for index in self._waited():
                    work = self._under_way.get(index)
                    if work is None or (found := self._look(index, work)) is None:
                        continue
                    del self._under_way[index]
                    yield index, found[0]
        finally:
            for each in self._under_way.values():
                each.cancel()

    def _has_room(self, index: int) -> bool:
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

        self._under_way[index] = Work(self._cluster, begin, self._shared, self._most_kills)

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
            error.index = index
            raise
