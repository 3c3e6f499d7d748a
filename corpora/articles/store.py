"""The article store: a directory of compressed shards and a checksummed list of them.

    DIR/manifest.jsonl         a header line, then one line for each shard
    DIR/shards/000001.pkl.gz   see `corpora.articles.shard`
    DIR/lock                   held by the one process that writes

A shard is stored when its line is in the manifest. The line is appended and fsynced after the shard
file has been, so at any moment, whatever is killed or runs full, the store is what its complete
lines say. A last line without its newline is an append that was cut short: readers pass over it and
the next writer replaces it, as it does a shard file that has no line.

Each line carries a check, the first 16 hexadecimal digits of

    SHA-256(check of the line before + this line's JSON without its check)

so a changed, dropped or reordered line is noticed; the check before the first shard is empty.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.articles.shard import check_article, pack_shard, read_articles, read_keys
from corpora.errors import CorpusFormatError, UnsupportedVersionError
from corpora.files import (
    atomic_write,
    atomic_write_text,
    remove_partial_files,
    sha256_of,
    sync_directory,
)
from corpora.lock import writer_lock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from corpora.articles.article import Article

FORMAT = "wikitopics article store"
VERSION = 1
HEADER = json.dumps({"format": FORMAT, "version": VERSION}).encode()


@dataclass(frozen=True, slots=True)
class ShardEntry:
    """One line of the manifest, less its check."""

    shard: str
    """File name, `000001.pkl.gz` for the first shard and so on without a gap."""
    articles: int
    bytes: int
    """Size of the file."""
    sha256: str
    """SHA-256 of the file in hexadecimal."""


class ArticleStore:
    """Articles on disk, in the order in which they were appended; each (language, page_id) once.

    One process at a time may append; any number may read meanwhile, and see what was stored when
    they began. Reading and writing hold one shard in memory at a time. Making an `ArticleStore`
    does not touch the disk: the first `append` makes the directory.

    Parameters
    ----------
    path
        The directory.
    shard_size
        Articles in a shard that this object writes; existing shards are left as they are.

    Raises
    ------
    CorpusFormatError
        By every method that reads, if the directory is not a store or is damaged; the message names
        the file, and the line if it is the manifest.
    """

    def __init__(self, path: str | os.PathLike[str], shard_size: int = 250) -> None:
        if shard_size < 1:
            raise ValueError(f"shard_size must be at least 1, not {shard_size}")
        self.path = Path(path)
        self.shard_size = shard_size

    @property
    def exists(self) -> bool:
        """Whether there is a store at `path`, sound or not."""
        return self._manifest_path.is_file()

    @property
    def entries(self) -> tuple[ShardEntry, ...]:
        """The shards that are stored at this moment, in order."""
        return self._read_manifest().entries

    def __len__(self) -> int:
        return sum(entry.articles for entry in self.entries)

    def __iter__(self) -> Iterator[Article]:
        return chain.from_iterable(map(self.read_shard, self.entries))

    def keys(self) -> set[tuple[str, int]]:
        """(language, page_id) of every stored article."""
        return {
            key
            for entry in self.entries
            for key in read_keys(self._shard_bytes(entry), str(self._shard_path(entry)))
        }

    def read_shard(self, entry: ShardEntry) -> Iterator[Article]:
        """The articles of one shard, once its SHA-256 has been found to be the one in the manifest.

        Raises
        ------
        CorpusFormatError
            If the shard is missing or is not the one that was stored.
        """
        return read_articles(self._shard_bytes(entry), str(self._shard_path(entry)))

    def verify(self) -> None:
        """Check every line of the manifest, every shard and every article.

        Raises
        ------
        CorpusFormatError
            At the first fault; also if an article is stored twice.
        """
        shard_of: dict[tuple[str, int], str] = {}
        for entry in self.entries:
            n_articles = 0
            for article in self.read_shard(entry):
                n_articles += 1
                key = article.language, article.page_id
                if key in shard_of:
                    raise CorpusFormatError(
                        f"{self.path}: article {article.document_id} is stored twice, in shard"
                        f" {shard_of[key]} and in shard {entry.shard}"
                    )
                shard_of[key] = entry.shard
            if n_articles != entry.articles:
                raise CorpusFormatError(
                    f"{self._shard_path(entry)}: expected {entry.articles} articles as the manifest"
                    f" says, found {n_articles}"
                )

    def append(self, articles: Iterable[Article]) -> int:
        """Store those of `articles` that are not stored yet, and return how many that were.

        The iterable is consumed one article at a time. A shard is committed whenever `shard_size`
        articles have gathered, and however the iteration ends: if it raises (KeyboardInterrupt
        too), what has gathered is committed before the error goes on to the caller.

        Raises
        ------
        StoreLockedError
            If another process is appending; nothing is then written or consumed.
        CorpusFormatError
            If `path` is a directory of something else, or a damaged store; no article is then
            written.
        ValueError
            If an article cannot be stored, see `corpora.articles.shard.check_article`.
        OSError
            If the disk is full, for instance. What was committed before is intact, and a later
            `append` goes on from there.
        """
        self._refuse_other_directories()
        self.path.mkdir(parents=True, exist_ok=True)
        with writer_lock(self.path):
            manifest = self._prepare_for_writing()
            known = self.keys()
            n_before = len(known)
            gathered: list[Article] = []
            try:
                for article in articles:
                    check_article(article)
                    key = article.language, article.page_id
                    if key in known:
                        continue
                    known.add(key)
                    gathered.append(article)
                    if len(gathered) >= self.shard_size:
                        manifest = self._commit(manifest, gathered)
                        gathered = []
            finally:
                # From the disk, because an interrupt may have come between the commit and here.
                if gathered:
                    self._commit(self._read_manifest(), gathered)
            return len(known) - n_before

    @property
    def _manifest_path(self) -> Path:
        return self.path / "manifest.jsonl"

    def _shard_path(self, entry: ShardEntry) -> Path:
        return self.path / "shards" / entry.shard

    def _shard_bytes(self, entry: ShardEntry) -> bytes:
        """The bytes of a shard file, which are those that the manifest says."""
        path = self._shard_path(entry)
        try:
            data = path.read_bytes()
        except FileNotFoundError as error:
            raise CorpusFormatError(f"{path}: the shard is missing") from error
        for what, expected, found in (
            ("bytes", entry.bytes, len(data)),
            ("SHA-256", entry.sha256, sha256_of(data)),
        ):
            if found != expected:
                raise CorpusFormatError(
                    f"{path}: the shard is damaged: expected {what} {expected}, found {found}"
                )
        return data

    def _read_manifest(self) -> _Manifest:
        try:
            data = self._manifest_path.read_bytes()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise CorpusFormatError(
                f"no article store at {self.path}: make one with"
                f" `python -m pipeline download --output {self.path}`"
            ) from error
        return _parse_manifest(data, str(self._manifest_path))

    def _refuse_other_directories(self) -> None:
        """Never mix a store into a directory that holds something else."""
        if self.exists or not self.path.exists():
            return
        if not self.path.is_dir():
            raise CorpusFormatError(f"{self.path} is a file; an article store is a directory")
        for item in self.path.iterdir():
            # A first writer that was killed at once leaves its lock and its unfinished manifest.
            if item.name != "lock" and not item.name.startswith(f".{self._manifest_path.name}."):
                raise CorpusFormatError(
                    f"{self.path} holds {item.name} but no {self._manifest_path.name}, so it is not"
                    " an article store; name a new or an empty directory"
                )

    def _prepare_for_writing(self) -> _Manifest:
        """Make the store if there is none, and clear away what a killed writer left."""
        shards = self.path / "shards"
        if not self.exists:
            atomic_write_text(self._manifest_path, HEADER.decode() + "\n")
            sync_directory(self.path.parent)
        shards.mkdir(exist_ok=True)
        sync_directory(self.path)
        remove_partial_files(self.path)
        remove_partial_files(shards)
        return self._read_manifest()

    def _commit(self, manifest: _Manifest, articles: list[Article]) -> _Manifest:
        """Store `articles` as the next shard; does nothing if they already are the last one."""
        data = pack_shard(articles)
        entry = ShardEntry(
            shard=_shard_name(len(manifest.entries)),
            articles=len(articles),
            bytes=len(data),
            sha256=sha256_of(data),
        )
        if manifest.entries and manifest.entries[-1].sha256 == entry.sha256:
            return manifest
        line, check = _entry_line(entry, manifest.check)
        with atomic_write(self._shard_path(entry)) as stream:
            stream.write(data)
        with self._manifest_path.open("r+b") as stream:
            stream.truncate(manifest.size)  # less a line that was cut short
            stream.seek(manifest.size)
            stream.write(line + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
        return _Manifest((*manifest.entries, entry), check, manifest.size + len(line) + 1)


@dataclass(frozen=True, slots=True)
class _Manifest:
    entries: tuple[ShardEntry, ...]
    check: str
    """Check of the last entry."""
    size: int
    """Bytes of the complete lines."""


def _shard_name(index: int) -> str:
    return f"{index + 1:06}.pkl.gz"


def _entry_line(entry: ShardEntry, check_before: str) -> tuple[bytes, str]:
    """The entry's line, without its newline, and its check."""
    fields = asdict(entry)
    check = sha256_of((check_before + json.dumps(fields)).encode())[:16]
    return json.dumps(fields | {"check": check}).encode(), check


def _parse_manifest(data: bytes, name: str) -> _Manifest:
    *complete, tail = data.split(b"\n")
    header, *lines = complete or [b""]
    _check_header(header, name)
    entries: list[ShardEntry] = []
    check = ""
    for number, line in enumerate(lines, start=2):
        parsed = _parse_entry(line, len(entries), check)
        if parsed is None:
            raise CorpusFormatError(
                f"{name}, line {number}: this line or the one before it was changed or dropped"
            )
        entry, check = parsed
        entries.append(entry)
    if _parse_entry(tail[:-1], len(entries), check) is not None:
        # Not an append that was cut short: all of the line is there, and then something else.
        raise CorpusFormatError(f"{name}, line {len(entries) + 2}: its newline was changed")
    return _Manifest(tuple(entries), check, len(data) - len(tail))


def _check_header(line: bytes, name: str) -> None:
    if line == HEADER:
        return
    try:
        version = json.loads(line)["version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        version = None
    if isinstance(version, int) and version > VERSION and FORMAT.encode() in line:
        raise UnsupportedVersionError(
            f"{name} was written by a newer wikitopics; upgrade to read it"
        )
    raise CorpusFormatError(f"{name}, line 1: this is not the manifest of an article store")


def _parse_entry(line: bytes, index: int, check_before: str) -> tuple[ShardEntry, str] | None:
    """Entry number `index` and its check, or None if that is not what `line` is, byte for byte."""
    try:
        *values, _ = json.loads(line).values()
    except (ValueError, AttributeError, RecursionError):
        return None
    if [type(value) for value in values] != [str, int, int, str]:
        return None
    entry = ShardEntry(*values)
    expected, check = _entry_line(entry, check_before)
    if line != expected or entry.shard != _shard_name(index) or entry.articles < 1:
        return None
    return entry, check
