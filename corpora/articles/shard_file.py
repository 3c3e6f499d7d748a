"""The file of a shard, which holds what the manifest says or is refused."""

import os
from pathlib import Path

from corpora.articles.manifest import ShardEntry
from corpora.articles.remote import read_bytes
from corpora.articles.shard import read_keys
from corpora.errors import CorpusFormatError
from corpora.files import sha256_of

FOLDER = "shards"


def shard_path(store: Path, entry: ShardEntry) -> Path:
    """Return the path of a shard of the store in the directory, or at the URL, `store`."""
    return store / FOLDER / entry.shard


def stored_bytes(store: Path, entry: ShardEntry) -> bytes:
    """The bytes of a shard file. Raises CorpusFormatError if the shard is missing or not the stored
    one; OSError if it cannot be read.
    """
    path = shard_path(store, entry)
    try:
        data = read_bytes(path)
    except FileNotFoundError as error:
        raise CorpusFormatError(f"{path}: the shard is missing") from error
    return checked(data, entry, str(path))


def checked(data: bytes, entry: ShardEntry, name: str) -> bytes:
    """Return `data`; CorpusFormatError, which begins with `name`, if it is not the stored shard."""
    for what, expected, found in (
        ("bytes", entry.bytes, len(data)),
        ("SHA-256", entry.sha256, sha256_of(data)),
    ):
        if found != expected:
            raise CorpusFormatError(
                f"{name}: the shard is damaged: expected {what} {expected}, found {found}"
            )
    return data


def stored_keys(store: Path, entry: ShardEntry) -> list[tuple[str, int]]:
    """(language, page_id) of each article of a shard; raises what `stored_bytes` does."""
    return read_keys(stored_bytes(store, entry), str(shard_path(store, entry)))


def has_expected_size(store: Path, entry: ShardEntry) -> bool:
    """Whether the file is there with as many bytes as the manifest says; does not read it."""
    try:
        return os.stat(f"{store}/{FOLDER}/{entry.shard}").st_size == entry.bytes  # noqa: PTH116 - fast
    except FileNotFoundError:
        return False
