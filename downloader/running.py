"""Whether anybody is filling an article store at this moment."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

LOCKS = ("download/lock", "lock")
"""Held by a download from its beginning to its end, and by whoever writes to the store."""


def download_is_running(store: str | os.PathLike[str]) -> bool:
    """Whether a process holds one of the locks of the store at the path `store`.

    The operating system frees them with their holder, however it ends. Nothing is created, and a
    store that is not there has nobody who fills it.
    """
    return any(_is_held(Path(store) / name) for name in LOCKS)


def _is_held(lock: Path) -> bool:
    try:
        descriptor = os.open(lock, os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        # Shared, so that two who look do not take each other for a holder.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
