"""Atomic writing of files: write beside the target, fsync, rename; what systems do differently."""

import hashlib
import os
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

PathLike = str | os.PathLike[str]
TEMPORARY_SUFFIX = ".partial"
BINARY = getattr(os, "O_BINARY", 0)
"""Flag of `os.open` for a file of bytes, which Windows needs."""
IN_USE_SECONDS, IN_USE_TRIES = 2.0, 100
"""Seconds to wait on Windows until nobody has a file open, and attempts in that time."""


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
        replace(partial, target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    sync_directory(target.parent)


def atomic_write_text(path: PathLike, text: str) -> None:
    """Write `text` as UTF-8 to `path` atomically."""
    with atomic_write(path) as stream:
        stream.write(text.encode())


def user_cache() -> Path:
    """Return the folder for what this software keeps for a user: in $XDG_CACHE_HOME if that is an
    absolute path, else in ~/.cache, on Windows in %LOCALAPPDATA%. RuntimeError without a home.
    """
    names = ("XDG_CACHE_HOME", "LOCALAPPDATA") if sys.platform == "win32" else ("XDG_CACHE_HOME",)
    stated = (Path(os.environ.get(name, "")) for name in names)
    cache = next((path for path in stated if path.is_absolute()), None)
    return (cache or Path.home() / ".cache") / "wikitopics"


def replace(source: Path, target: Path) -> None:
    """Rename a file. On Windows, where a file cannot be replaced while it is open, try for two
    seconds: others read the files that are replaced in a moment.
    """
    if sys.platform == "win32":
        for _ in range(IN_USE_TRIES):
            with suppress(PermissionError):
                source.replace(target)
                return
            time.sleep(IN_USE_SECONDS / IN_USE_TRIES)
    source.replace(target)


def remove_unused(path: Path) -> None:
    """Delete a file. On Windows it stays if some process has it open or mapped."""
    try:
        path.unlink(missing_ok=True)
    except PermissionError:
        if sys.platform != "win32":
            raise


def sync_directory(path: Path) -> None:
    """Fsync the directory, so that new names and renames survive a crash. Windows opens none."""
    if sys.platform == "win32":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """Fsync a file that is closed. Windows syncs only what is open for writing."""
    with path.open("r+b" if sys.platform == "win32" else "rb") as stream:
        os.fsync(stream.fileno())


def remove_partial_files(directory: Path) -> None:
    """Delete partial files of a killed writer; the caller must hold the writer's lock."""
    for partial in directory.glob(f".*{TEMPORARY_SUFFIX}"):
        remove_unused(partial)


def read_at(descriptor: int, n_bytes: int, offset: int) -> bytes:
    """Read at most `n_bytes` from `offset` on, and leave the file's position as it is."""
    if sys.platform == "win32":
        before = os.lseek(descriptor, 0, os.SEEK_CUR)
        try:
            os.lseek(descriptor, offset, os.SEEK_SET)
            return os.read(descriptor, n_bytes)
        finally:
            os.lseek(descriptor, before, os.SEEK_SET)
    return os.pread(descriptor, n_bytes, offset)


def write_at(descriptor: int, data: bytes, offset: int) -> None:
    """Write `data` at `offset`, and leave the file's position as it is."""
    if sys.platform == "win32":
        before = os.lseek(descriptor, 0, os.SEEK_CUR)
        try:
            os.lseek(descriptor, offset, os.SEEK_SET)
            os.write(descriptor, data)
        finally:
            os.lseek(descriptor, before, os.SEEK_SET)
    else:
        os.pwrite(descriptor, data, offset)


def sha256_of(data: bytes | memoryview) -> str:
    """SHA-256 of `data` in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def is_unicode(text: str) -> bool:
    """Whether the text can be encoded as UTF-8: half a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
