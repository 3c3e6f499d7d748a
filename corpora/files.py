"""Atomic writing of files: write beside the target, fsync, rename."""

import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

PathLike = str | os.PathLike[str]
TEMPORARY_SUFFIX = ".partial"


@contextmanager
def atomic_write(path: PathLike) -> Iterator[IO[bytes]]:
    """Open a binary file that replaces `path` when the block ends without an error. Data and
    directory entry are fsynced: after a crash, or an OSError as of a full disk, `path` has either
    the former content or the new one. An error leaves no file behind.
    """
    target = Path(path)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}{TEMPORARY_SUFFIX}")
    try:
        with partial.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    sync_directory(target.parent)


def atomic_write_text(path: PathLike, text: str) -> None:
    """Write `text` as UTF-8 to `path` atomically."""
    with atomic_write(path) as stream:
        stream.write(text.encode())


def sync_directory(path: Path) -> None:
    """Fsync the directory, so that new names and renames survive a crash."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_partial_files(directory: Path) -> None:
    """Delete partial files of a killed writer; the caller must hold the writer's lock."""
    for partial in directory.glob(f".*{TEMPORARY_SUFFIX}"):
        partial.unlink(missing_ok=True)


def sha256_of(data: bytes | memoryview) -> str:
    """SHA-256 of `data` in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
