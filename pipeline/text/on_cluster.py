"""Text stage on a cluster: shards to annotations, and annotations to counts.

A task is a shard, or some annotations. Workers read them from a URL or a shared file system; once
a worker cannot, all later tasks bring the bytes along, some hundred kB a shard.
"""

import os
import socket
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

from corpora.articles.manifest import ShardEntry
from corpora.errors import MissingModelError, UnsuitableModelError
from corpora.tokens.worker_annotation import annotate_shard
from corpora.tokens.workers import AnnotationFile, ArticlesToAnnotate, OfBlock, ShardAnnotation
from pipeline.cluster.cluster import Cluster
from pipeline.errors import TaskKilledError

# Shard to annotate; its bytes, for workers that cannot read it; settings.
ShardItem: TypeAlias = tuple[ShardEntry, bytes | None, ArticlesToAnnotate]

Result = TypeVar("Result")

TOGETHER = 8
"""Annotations that a task counts; each takes about 20 ms, and a task costs 10 ms itself."""


class TextWorkers:
    """Workers of a cluster, as `corpora.tokens.workers.Workers`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._sends = False  # Whether some worker could not read its files

    def annotate(
        self, articles: ArticlesToAnnotate, entries: Iterable[ShardEntry]
    ) -> Iterator[tuple[ShardEntry, ShardAnnotation | None]]:
        """Yield the annotations of shards as they are done; None for a shard that kills workers.

        Raises MissingModelError or UnsuitableModelError if a worker, which the message names, has
        another model than the client; ClusterError or ClusterLostError as `Cluster.map` does.
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
        """Yield `function` of each file, in order; files that no worker can read are done here."""
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
        """Ask workers whether they can read a file, so that few tasks fail for that."""
        if not self._sends:
            paths = [file.path] * self._cluster.n_threads
            self._sends = not all(seen for _, seen in self._cluster.map(_sees, paths))

    def _annotate_once(
        self, articles: ArticlesToAnnotate, entries: Sequence[ShardEntry]
    ) -> Iterator[tuple[int, ShardAnnotation | None]]:
        """Yield (index, annotation) of each shard as it is done; None if no worker can read it."""

        def items() -> Iterator[ShardItem]:
            for entry in entries:
                yield entry, articles.bytes_of(entry) if self._sends else None, articles

        # A task that killed several workers would kill more: it is not repeated.
        with _closing(self._cluster.map(_annotate, items(), max_worker_deaths=1)) as found:
            yield from found


def _together(files: Iterable[AnnotationFile]) -> Iterator[tuple[AnnotationFile, ...]]:
    """Group the files, independently of the number of workers."""
    iterator = iter(files)
    while some := tuple(islice(iterator, TOGETHER)):
        yield some


def _closing(results: Iterator[Result]) -> closing[Generator[Result, Any, None]]:
    """Context in whose end running tasks are cancelled at once."""
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
    """Return the results of `function`, or None if this worker cannot read a file."""
    try:
        files = tuple(file.read() for file in files)
    except OSError:
        return None
    return tuple(map(function, files))


def _sees(path: str) -> bool:
    return Path(path).is_file()


def _name() -> str:
    from distributed import get_worker  # noqa: PLC0415 - the optional package

    return f"{get_worker().address} (process {os.getpid()} on {socket.gethostname()})"
