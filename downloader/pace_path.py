"""Where the pace file of a service is."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from urllib.parse import urlsplit

from downloader.answer import one_line
from downloader.errors import SourceError
from downloader.wikimedia import host_of, is_wikimedia


def pace_path(url: str, fallback: Path | None = None) -> Path:
    """The pace file of the service at `url`: in the user's cache, so that all processes share it.

    All hosts of the Wikimedia Foundation are one service; any other host and port is one of its
    own. If the cache cannot be written, the file is in the directory `fallback`, if that is given.

    Raises
    ------
    SourceError
        If `url` names no host, or a port that cannot be.
    """
    name = service_of(url)
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


def service_of(url: str) -> str:
    """Name of the service at `url`, fit for a file.

    Raises
    ------
    SourceError
        If `url` names no host, or a port that cannot be.
    """
    return "wikimedia" if is_wikimedia(url) else _host_and_port(url)


def _host_and_port(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise SourceError(f"{one_line(url, 200)!r} is no address: {error}") from error
    host = host_of(url)
    if not parts.hostname:
        raise SourceError(f"{one_line(url, 200)!r} is no address: it names no host")
    name = re.sub(r"[^a-z0-9.-]", "_", host)
    if name != host or len(name) > 100:  # an IPv6 address, or nothing that a file could be called
        name = f"{name[:60]}-{hashlib.sha256(host.encode(errors='surrogatepass')).hexdigest()[:12]}"
    return f"{name}_{port}"
