"""What scores blocks in place of a cluster, here and out of order."""

from __future__ import annotations

import pickle
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest import mock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from evaluation import LikelihoodEstimate


class Backwards:
    """What `Cluster.map` does, here: all is pickled to and fro, and of every few the last is first.

    Parameters
    ----------
    ahead
        Items taken before any result is given.
    spoil
        What happens instead of a result.
    """

    def __init__(self, ahead: int = 5, spoil: Callable[[int], None] = lambda _: None) -> None:
        self.ahead, self.spoil = ahead, spoil
        self.n_items = self.n_given = 0
        self.is_closed = False
        self.sizes: list[tuple[int, ...]] = []

    def share(self, value: Any) -> bytes:
        return pickle.dumps(value)

    def map(
        self, function: Any, items: Iterable[Any], *shared: bytes
    ) -> Iterator[tuple[int, LikelihoodEstimate]]:
        values = [pickle.loads(each) for each in shared]
        waiting: list[tuple[int, bytes]] = []
        try:
            for index, item in enumerate(items):
                self.n_items += 1
                self.sizes.append(item[1].counts.shape)
                waiting.append((index, pickle.dumps(item)))
                if len(waiting) == self.ahead:
                    yield from self._given(function, waiting, values)
            yield from self._given(function, waiting, values)
        finally:
            self.is_closed = True

    def _given(
        self, function: Any, waiting: list[tuple[int, bytes]], values: list[Any]
    ) -> Iterator[tuple[int, LikelihoodEstimate]]:
        while waiting:
            index, item = waiting.pop()
            self.spoil(index)
            result = function(pickle.loads(item), *values)
            self.n_given += 1
            yield index, pickle.loads(pickle.dumps(result))


@contextmanager
def instead_of_a_cluster(fake: Backwards) -> Iterator[None]:
    @contextmanager
    def cluster_of(address: str) -> Iterator[Backwards | None]:
        assert address in ("", "local:2")
        yield fake if address else None

    with mock.patch("pipeline.scoring.evaluate.cluster_of", cluster_of):
        yield
