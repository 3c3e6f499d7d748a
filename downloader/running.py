"""Whether anybody is filling an article store at this moment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from corpora.lock import lock_holder

if TYPE_CHECKING:
    import os


def download_is_running(store: str | os.PathLike[str]) -> bool:
    """Whether a process holds one of the locks of the store at the path `store`.

    A download holds the one in `download` from its beginning to its end, whoever writes to the
    store that of the store. A store that is not there has nobody who fills it.
    """
    directories = (Path(store) / "download", Path(store))
    return any(lock_holder(directory) is not None for directory in directories)
