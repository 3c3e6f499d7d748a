"""Which version of this software runs."""

from __future__ import annotations

from importlib import metadata


def software_version() -> str:
    """Version of this software; empty when run from a tree that was not installed."""
    try:
        return metadata.version("wikitopics")
    except metadata.PackageNotFoundError:
        return ""
