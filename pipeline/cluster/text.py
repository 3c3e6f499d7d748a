"""The text stage on a cluster: shards to annotations, and annotations to counts.

A shard, or its annotation, is a task. A worker reads it where it sees it, at a URL or in a file
system that it shares with the client; once one does not, all later ones are sent the bytes, some
hundred kB each.
"""

from __future__ import annotations

import os
import socket
from collections import deque
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeVar, cast

from corpora.errors import MissingModelError, UnsuitableModelError
from corpora.tokens.worker_annotation import annotate_shard
from pipeline.cluster.errors import TaskKilledError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from corpora.articles.manifest import ShardEntry
    from corpora.tokens.workers import AnnotationFile, ArticlesToAnnotate, OfBlock, ShardAnnotation
    from pipeline.cluster.workers import Cluster

Result = TypeVar("Result")


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
        under_way: deque[AnnotationFile] = deque()

        def items() -> Iterator[AnnotationFile]:
            for file in files:
                under_way.append(file)
                yield file.read() if self._sends else file

        shared = self._cluster.share(function)
        for found in self._cluster.ordered_map(_apply, items(), shared):
            file = under_way.popleft()
            if found is None:
                self._sends = True
                yield function(file)
            else:
                yield found[0]

    def _annotate_once(
        self, articles: ArticlesToAnnotate, entries: Sequence[ShardEntry]
    ) -> Iterator[tuple[int, ShardAnnotation | None]]:
        """Index and annotation of each shard, as they come; None of those that nobody saw."""

        def items() -> Iterator[tuple[ShardEntry, bytes | None]]:
            for entry in entries:
                yield entry, articles.bytes_of(entry) if self._sends else None

        shared = self._cluster.share(articles)
        # A task that killed several workers would kill more of them: once is enough.
        found = self._cluster.map(_annotate, items(), shared, most_kills=1)
        with closing(cast("Generator[tuple[int, ShardAnnotation | None], Any, None]", found)):
            yield from found


# On a worker


def _annotate(
    item: tuple[ShardEntry, bytes | None], articles: ArticlesToAnnotate
) -> ShardAnnotation | None:
    entry, data = item
    try:
        return annotate_shard(entry, data, articles)
    except (MissingModelError, UnsuitableModelError) as error:
        raise type(error)(f"on the worker {_name()}: {error}") from error


def _apply(file: AnnotationFile, function: OfBlock[Result]) -> tuple[Result] | None:
    """The result of `function`, or None if the file cannot be read here."""
    try:
        file = file.read()
    except OSError:
        return None
    return (function(file),)


def _name() -> str:
    """What a worker is called where errors are read."""
    from distributed import get_worker  # noqa: PLC0415 - the optional package

    return f"{get_worker().address} (process {os.getpid()} on {socket.gethostname()})"
