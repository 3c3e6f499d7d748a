"""One writer at a time, by a lock that the operating system frees when its holder is killed."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import StoreLockedError

if TYPE_CHECKING:
    from collections.abc import Iterator


TRIES, TRY_EVERY = 5, 0.02
"""Whoever looks whether the lock is held, holds it himself for a moment."""


@contextmanager
def writer_lock(directory: str | os.PathLike[str]) -> Iterator[None]:
    """Hold the lock of `directory`, which must exist, in its file `lock`.

    Raises
    ------
    StoreLockedError
        If another process holds it; the message names the process.
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


def lock_holder(directory: str | os.PathLike[str]) -> int | None:
    """The process that holds the lock of `directory`: None for nobody, 0 if it cannot be told.

    Nothing is created. The file names its last holder for good; whether it holds the lock still is
    what the operating system says, which frees it however a process ends.
    """
    try:
        descriptor = os.open(Path(directory) / "lock", os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        if _locked(descriptor, fcntl.LOCK_SH):  # so that two who look do not see each other
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
