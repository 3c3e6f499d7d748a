"""Interface of the text stage to remote workers, with plain values as arguments.

Workers need not share a file system: they read what they see, are sent the rest, write nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from corpora.articles.manifest import ShardEntry
from corpora.articles.remote import path_of
from corpora.articles.shard_file import stored_bytes
from corpora.tokens.annotation_file import annotated_from
from corpora.tokens.block import TokenBlock
from corpora.tokens.selection import select
from corpora.tokens.settings import TextSettings

Result = TypeVar("Result")


class Workers(Protocol):
    """Whoever has the work of the text stage done elsewhere."""

    def annotate(
        self, articles: "ArticlesToAnnotate", entries: Iterable[ShardEntry]
    ) -> "Iterator[tuple[ShardEntry, ShardAnnotation | None]]":
        """`worker_annotation.annotate_shard` of each, as they come; None of one that kills."""
        ...

    def map(
        self, function: "OfBlock[Result]", files: "Iterable[AnnotationFile]"
    ) -> Iterator[Result]:
        """`function` of each file, in their order."""
        ...


@dataclass(frozen=True, slots=True)
class ArticlesToAnnotate:
    """A store, and how its articles are annotated."""

    store: str  # Its directory or URL, see `corpora.articles.remote.absolute`
    settings: TextSettings
    about: str  # Description of the settings by `store.describe`, as kept with the annotations

    def bytes_of(self, entry: ShardEntry) -> bytes:
        """The bytes of a shard, for workers that cannot read it themselves."""
        return stored_bytes(path_of(self.store), entry)


@dataclass(frozen=True, slots=True)
class ShardAnnotation:
    """An annotated shard."""

    data: bytes  # Content of its file, see `corpora.tokens.annotation_file`
    n_articles: int
    n_tokens: int
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AnnotationFile:
    """Annotation of a shard: its path, or its content."""

    path: str  # Absolute path
    shard_sha256: str
    data: bytes | None = None  # Content, for workers that cannot read it

    def read(self) -> "AnnotationFile":
        """The file with what it holds; raises an OSError if it cannot be read here."""
        data = Path(self.path).read_bytes() if self.data is None else self.data
        return replace(self, data=data)


@dataclass(frozen=True)
class OfBlock(Generic[Result]):
    """A function of the tokens of a shard, as one of their file; can be pickled if `step` can."""

    settings: TextSettings  # Settings that decide which tokens of a text become words
    step: Callable[[TokenBlock], Result]

    def __call__(self, file: AnnotationFile) -> Result:
        """Apply `step` to the tokens; errors are those of reading the file."""
        data = file.read().data
        assert data is not None
        return self.step(select(annotated_from(data, file.path, file.shard_sha256), self.settings))
