"""Which hosts the Wikimedia Foundation runs: they share one set of manners and one allowance."""

from __future__ import annotations

from urllib.parse import urlsplit

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
    """Host name of `url` in small letters, without a port or a final dot; empty if it has none."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


def is_wikimedia(url: str) -> bool:
    """Whether `url` is at a host of the Wikimedia Foundation."""
    host = host_of(url)
    return any(host == domain or host.endswith(f".{domain}") for domain in WIKIMEDIA_DOMAINS)
