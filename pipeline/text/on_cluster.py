"""The text stage on a cluster: shards to annotations, and annotations to counts.

A shard is a task, or some annotations are. A worker reads them where it sees them, at a URL or in a
file system that it shares with the client; once one does not, all later tasks bring the bytes
along, some hundred kB a shard.
"""

from __future__ import annotations

import os
import socket
from collections import deque
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from corpora.errors import MissingModelError, UnsuitableModelError
from corpora.tokens.worker_annotation import annotate_shard
from pipeline.errors import TaskKilledError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from corpora.articles.manifest import ShardEntry
    from corpora.tokens.workers import AnnotationFile, ArticlesToAnnotate, OfBlock, ShardAnnotation
    from pipeline.cluster.cluster import Cluster

    # What to annotate; its bytes, for workers that do not see it; and how.
    ShardItem: TypeAlias = tuple[ShardEntry, bytes | None, ArticlesToAnnotate]

Result = TypeVar("Result")

TOGETHER = 8
"""Annotations that are counted in a task; one takes some 20 ms, and a task itself half of that."""


class TextWorkers:
    """The workers of a cluster, as `corpora.tokens.workers.Workers`.

    Parameters
    ----------
    cluster
        Where they are.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._sends = False
        """Whether some worker did not see what it was to read."""

    def annotate(
        self, articles: ArticlesToAnnotate, entries: Iterable[ShardEntry]
    ) -> Iterator[tuple[ShardEntry, ShardAnnotation | None]]:
        """The annotations of the shards, as they come; None of a shard that kills its workers.

        Raises
        ------
        MissingModelError, UnsuitableModelError
            If a worker has not the same model as the client; the message names the worker.
        ClusterError, ClusterLostError
            As `Cluster.map` does.
        """
        left = list(entries)
        while left:
            unseen: list[ShardEntry] = []
            ended: set[int] = set()
            killing = None
            try:
                for i, found in self._annotate_once(articles, left):
                    ended.add(i)
                    if found is None:
                        self._sends = True
                        unseen.append(left[i])
                    else:
                        yield left[i], found
            except TaskKilledError as error:
                if error.index is None:
                    raise
                ended.add(error.index)
                killing = left[error.index]
            if killing is not None:
                yield killing, None
            left = [*unseen, *(entry for i, entry in enumerate(left) if i not in ended)]

    def map(self, function: OfBlock[Result], files: Iterable[AnnotationFile]) -> Iterator[Result]:
        """`function` of each file, in their order; here of those that a worker did not see."""
        in_flight: deque[tuple[AnnotationFile, ...]] = deque()

        def items() -> Iterator[tuple[AnnotationFile, ...]]:
            for some in _together(files):
                if not in_flight:
                    self._probe(some[0])
                in_flight.append(some)
                yield tuple(file.read() for file in some) if self._sends else some

        shared = self._cluster.share(function)
        with _closing(self._cluster.ordered_map(_apply, items(), shared)) as results:
            for found in results:
                some = in_flight.popleft()
                if found is None:
                    self._sends = True
                    yield from map(function, some)
                else:
                    yield from found

    def _probe(self, file: AnnotationFile) -> None:
        """Have workers look for a file, so that few are asked for what they do not see."""
        if not self._sends:
            paths = [file.path] * self._cluster.n_threads
            self._sends = not all(seen for _, seen in self._cluster.map(_sees, paths))

    def _annotate_once(
        self, articles: ArticlesToAnnotate, entries: Sequence[ShardEntry]
    ) -> Iterator[tuple[int, ShardAnnotation | None]]:
        """Index and annotation of each shard, as they come; None of those that nobody saw."""

        def items() -> Iterator[ShardItem]:
            for entry in entries:
                yield entry, articles.bytes_of(entry) if self._sends else None, articles

        # A task that killed several workers would kill more of them: once is enough.
        with _closing(self._cluster.map(_annotate, items(), max_worker_deaths=1)) as found:
            yield from found


def _together(files: Iterable[AnnotationFile]) -> Iterator[tuple[AnnotationFile, ...]]:
    """The files, some at a time, however many workers there are."""
    iterator = iter(files)
    while some := tuple(islice(iterator, TOGETHER)):
        yield some


def _closing(results: Iterator[Result]) -> closing[Generator[Result, Any, None]]:
    """Has what is under way cancelled when the block ends, not some time later."""
    return closing(cast("Generator[Result, Any, None]", results))


# On a worker


def _annotate(item: ShardItem) -> ShardAnnotation | None:
    entry, data, articles = item
    try:
        return annotate_shard(entry, data, articles)
    except (MissingModelError, UnsuitableModelError) as error:
        raise type(error)(f"on the worker {_name()}: {error}") from error


def _apply(
    files: tuple[AnnotationFile, ...], function: OfBlock[Result]
) -> tuple[Result, ...] | None:
    """The results of `function`, or None if a file cannot be read here."""
    try:
        files = tuple(file.read() for file in files)
    except OSError:
        return None
    return tuple(map(function, files))


def _sees(path: str) -> bool:
    """Whether there is such a file here."""
    return Path(path).is_file()


def _name() -> str:
    """What a worker is called where errors are read."""
    from distributed import get_worker  # noqa: PLC0415 - the optional package

    return f"{get_worker().address} (process {os.getpid()} on {socket.gethostname()})"
