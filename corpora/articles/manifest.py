"""The manifest of an article store: a header line, then one line for each shard, each with a check.

A shard is stored when its line is in the manifest, which is appended and fsynced after the shard
file: whatever is killed or runs full, the store is what its complete lines say. A last line without
its newline is an append that was cut short, which the next writer replaces, as it does a shard file
without a line. The check of a line, so that changed, dropped and reordered lines are noticed, is
the
first 16 hexadecimal digits of

    SHA-256(check of the line before, empty at first + this line's JSON without its check)
"""

import io
import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from corpora.articles.remote import is_url, read_bytes
from corpora.errors import CorpusFormatError, UnsupportedVersionError
from corpora.files import sha256_of, sync_file

FORMAT = "wikitopics article store"
VERSION = 1
HEADER = json.dumps({"format": FORMAT, "version": VERSION}).encode()

LINE = re.compile(
    rb'(\{"shard": "([0-9]{6,}\.pkl\.gz)", "articles": ([1-9][0-9]{0,17}),'
    rb' "bytes": (0|[1-9][0-9]{0,17}), "sha256": "([0-9a-f]{64})"), "check": "([0-9a-f]{16})"\}'
)
"""A line as `entry_line` writes it, and no other way of writing the same JSON."""


@dataclass(frozen=True, slots=True)
class ShardEntry:
    """One line of the manifest, less its check."""

    shard: str  # `000001.pkl.gz` for the first shard and so on without a gap
    articles: int
    bytes: int
    sha256: str  # SHA-256 of the file in hexadecimal


@dataclass(frozen=True, slots=True)
class Tail:
    """End of a manifest, now or earlier: all that the next line depends on."""

    n_shards: int
    n_articles: int
    check: str  # Check of the last line
    size: int  # Bytes of the complete lines


START = Tail(0, 0, "", len(HEADER) + 1)


def shard_name(index: int) -> str:
    """File name of the shard with this number, counted from 0."""
    return f"{index + 1:06}.pkl.gz"


def read_manifest(path: Path, start: Tail = START) -> Iterator[tuple[ShardEntry, Tail]]:
    """Each shard stored when reading began, with the manifest's tail just behind it, from behind
    `start` on. Raises FileNotFoundError if there is no file; CorpusFormatError, which names file
    and line, if it is damaged; UnsupportedVersionError if a newer version of this software wrote
    it; OSError if it cannot be read.
    """
    tail = start
    with _opened(path) as stream:
        end = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        if start is START:
            header = stream.readline()
            _check_header(header[:-1] if header.endswith(b"\n") else b"", str(path))
        stream.seek(tail.size)
        while tail.size < end and (line := stream.readline()):
            if line.endswith(b"\n"):
                if (parsed := _parse_line(line[:-1], tail)) is None:
                    raise CorpusFormatError(
                        f"{path}, line {tail.n_shards + 2}: this line or the one before it was"
                        " changed or dropped"
                    )
                yield parsed
                tail = parsed[1]
            elif _parse_line(line[:-1], tail) is not None:
                # Not an append that was cut short: all of the line, and then something else.
                raise CorpusFormatError(
                    f"{path}, line {tail.n_shards + 2}: its newline was changed"
                )
            else:
                return


def append_entry(path: Path, tail: Tail, entry: ShardEntry) -> Tail:
    """Write the line of `entry` behind `tail`, durably, in place of anything that is there."""
    line, check = entry_line(entry, tail.check)
    with path.open("r+b") as stream:
        stream.truncate(tail.size)  # less a line that was cut short
        stream.seek(tail.size)
        stream.write(line + b"\n")
        stream.flush()
        os.fsync(stream.fileno())
    return _behind(tail, entry, check, len(line))


def make_durable(path: Path) -> None:
    """See to it that what can be read of the manifest outlasts a power cut."""
    sync_file(path)


def entry_line(entry: ShardEntry, check_before: str) -> tuple[bytes, str]:
    """The entry's line, without its newline, and its check."""
    fields = asdict(entry)
    check = _check_of(check_before, json.dumps(fields).encode())
    return json.dumps(fields | {"check": check}).encode(), check


def _opened(path: Path) -> IO[bytes]:
    """The file, for reading; one at a URL is read at once, so that all of it is of one moment."""
    return io.BytesIO(read_bytes(path)) if is_url(path) else path.open("rb")


def _check_of(check_before: str, fields: bytes) -> str:
    return sha256_of(check_before.encode() + fields)[:16]


def _behind(tail: Tail, entry: ShardEntry, check: str, length: int) -> Tail:
    return Tail(tail.n_shards + 1, tail.n_articles + entry.articles, check, tail.size + length + 1)


def _parse_line(line: bytes, before: Tail) -> tuple[ShardEntry, Tail] | None:
    match = LINE.fullmatch(line)
    if match is None:
        return None
    fields, name, articles, size, sha256, check = match.groups()
    entry = ShardEntry(name.decode(), int(articles), int(size), sha256.decode())
    expected = _check_of(before.check, fields + b"}")
    if check.decode() != expected or entry.shard != shard_name(before.n_shards):
        return None
    return entry, _behind(before, entry, expected, len(line))


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
