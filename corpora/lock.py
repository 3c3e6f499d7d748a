"""Lock for one writer at a time; the operating system frees it when the holder is killed.

A package such as filelock would not name the process that holds the lock, which messages show.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from corpora.errors import StoreLockedError
from corpora.files import PathLike

TRIES, TRY_EVERY = 5, 0.02
"""Attempts, and seconds between them: `lock_holder` holds the lock for a moment."""


@contextmanager
def writer_lock(directory: PathLike) -> Iterator[None]:
    """Hold the lock of `directory`, which must exist, in its file `lock`. Raises StoreLockedError,
    which names the other process that holds it.
    """
    descriptor = os.open(Path(directory) / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        for _ in range(TRIES):
            if _locked(descriptor, fcntl.LOCK_EX):
                break
            time.sleep(TRY_EVERY)
        else:
            holder = os.read(descriptor, 20).decode(errors="replace").strip()
            raise StoreLockedError(
                f"{directory} is being written to by process {holder or 'unknown'};"
                " try again when it has ended"
            )
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def lock_holder(directory: PathLike) -> int | None:
    """Process id of the holder of the lock; None if it is free, 0 if unknown. Creates no file."""
    try:
        descriptor = os.open(Path(directory) / "lock", os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        if _locked(descriptor, fcntl.LOCK_SH):  # shared, so that two calls do not see each other
            return None
        text = os.pread(descriptor, 20, 0).strip()
        return int(text) if text.isdigit() else 0
    finally:
        os.close(descriptor)


def _locked(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
