"""Lock for one writer at a time; the operating system frees it when the holder is killed.

The lock is on the open file (flock; on Windows on its first byte), by filelock. It was preferred to
portalocker, whose locks on Windows cover the whole file, so that nobody could read there who holds
it, and whose shared locks need pywin32.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from corpora.errors import StoreLockedError
from corpora.files import BINARY, PathLike, read_at, write_at

TRIES, TRY_EVERY = 5, 0.02
"""Attempts, and seconds between them: `lock_holder` holds the lock for a moment."""
LOOKS, LOOK_EVERY = 3, 0.002
"""The same for `lock_holder`, as others may look at that moment."""
FIRST = 1 if sys.platform == "win32" else 0
"""Bytes before the process id, which nobody else can read on Windows."""


@contextmanager
def writer_lock(directory: PathLike) -> Iterator[None]:
    """Hold the lock of `directory`, which must exist, in its file `lock`. Raises StoreLockedError,
    which names the other process that holds it.
    """
    descriptor = os.open(Path(directory) / "lock", os.O_RDWR | os.O_CREAT | BINARY, 0o644)
    try:
        if not _locked(descriptor, TRIES, TRY_EVERY):
            raise StoreLockedError(
                f"{directory} is being written to by process {_holder(descriptor) or 'unknown'};"
                " try again when it has ended"
            )
        os.ftruncate(descriptor, 0)
        write_at(descriptor, b" " * FIRST + f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def lock_holder(directory: PathLike) -> int | None:
    """Process id of the holder of the lock; None if it is free, 0 if unknown. Creates no file."""
    try:
        descriptor = os.open(Path(directory) / "lock", os.O_RDONLY | BINARY)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return None if _locked(descriptor, LOOKS, LOOK_EVERY) else _holder(descriptor)
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> int:
    text = read_at(descriptor, 20, FIRST).strip()
    return int(text) if text.isdigit() else 0


def _locked(descriptor: int, tries: int, seconds: float) -> bool:
    """Whether the file could be locked, in some attempts; closing it frees the lock."""
    from filelock import lock_descriptor  # noqa: PLC0415 - takes 40 ms, which --help need not

    for i in range(tries):
        if i:
            time.sleep(seconds)
        if lock_descriptor(descriptor, blocking=False):
            return True
    return False
