"""One writer at a time, by a lock that the operating system frees when its holder is killed."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import StoreLockedError

if TYPE_CHECKING:
    from collections.abc import Iterator


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
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(descriptor, 20).decode(errors="replace").strip()
            raise StoreLockedError(
                f"{directory} is being written to by process {holder or 'unknown'};"
                " try again when it has ended"
            ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)
