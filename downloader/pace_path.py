"""Where the pace file of a service is."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from urllib.parse import urlsplit

from downloader.wikimedia import host_of, is_wikimedia


def pace_path(url: str, fallback: Path | None = None) -> Path:
    """The pace file of the service at `url`: in the user's cache, so that all processes share it.

    All hosts of the Wikimedia Foundation are one service; any other host and port is one of its
    own. If the cache cannot be written, the file is in the directory `fallback`, if that is given.
    """
    name = "wikimedia" if is_wikimedia(url) else _host_and_port(url)
    try:
        stated = Path(os.environ.get("XDG_CACHE_HOME", ""))
        cache = stated if stated.is_absolute() else Path.home() / ".cache"
        path = cache / "wikitopics" / "pace" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        writable = os.access(path.parent, os.W_OK | os.X_OK) and (
            not path.exists() or os.access(path, os.R_OK | os.W_OK)
        )
    except (OSError, RuntimeError):  # no home, or something in the way
        if fallback is None:
            raise
        writable = False
    return path if writable or fallback is None else fallback / f"pace-{name}"


def _host_and_port(url: str) -> str:
    parts = urlsplit(url)
    host = host_of(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    name = re.sub(r"[^a-z0-9.-]", "_", host)
    if name != host or len(name) > 100:  # an IPv6 address, or nothing that a file could be called
        name = f"{name[:60]}-{hashlib.sha256(host.encode()).hexdigest()[:12]}"
    return f"{name}_{port}"
