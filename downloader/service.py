"""Service that an address belongs to: one rate limit for all hosts of the Wikimedia Foundation."""

import hashlib
import os
import re
from pathlib import Path
from urllib.parse import urlsplit

from corpora.files import user_cache
from downloader.answer import one_line
from downloader.errors import SourceError

WIKIMEDIA_DOMAINS = (
    "mediawiki.org",
    "wikibooks.org",
    "wikidata.org",
    "wikifunctions.org",
    "wikimedia.org",
    "wikinews.org",
    "wikipedia.org",
    "wikiquote.org",
    "wikisource.org",
    "wikiversity.org",
    "wikivoyage.org",
    "wiktionary.org",
)


def host_of(url: str) -> str:
    """Return the host name of `url` in lower case, without a port or a final dot; empty if none."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


def is_wikimedia(url: str) -> bool:
    """Whether `url` is at a host of the Wikimedia Foundation."""
    host = host_of(url)
    return any(host == domain or host.endswith(f".{domain}") for domain in WIKIMEDIA_DOMAINS)


def service_of(url: str) -> str:
    """Return the name of the service at `url`, as part of a file name.

    Raises SourceError if `url` names no host, or an impossible port.
    """
    if is_wikimedia(url):
        return "wikimedia"
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise SourceError(f"{one_line(url, 200)!r} is no address: {error}") from error
    host = host_of(url)
    if not parts.hostname:
        raise SourceError(f"{one_line(url, 200)!r} is no address: it names no host")
    name = re.sub(r"[^a-z0-9.-]", "_", host)
    if name != host or len(name) > 100:  # an IPv6 address, or a name that no file can have
        name = f"{name[:60]}-{hashlib.sha256(host.encode(errors='surrogatepass')).hexdigest()[:12]}"
    return f"{name}_{port}"


def rate_limit_path(url: str, fallback: Path | None = None) -> Path:
    """Return the file of the rate limit for `url`, in the user's cache so that processes share it.

    If the cache cannot be written, the file is in the directory `fallback`, if that is given.

    Raises SourceError if `url` names no host, or an impossible port.
    """
    name = service_of(url)
    try:
        path = user_cache() / "pace" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        writable = os.access(path.parent, os.W_OK | os.X_OK) and (
            not path.exists() or os.access(path, os.R_OK | os.W_OK)
        )
    except (OSError, RuntimeError):  # no home directory, or a file in place of a directory
        if fallback is None:
            raise
        writable = False
    return path if writable or fallback is None else fallback / f"pace-{name}"
