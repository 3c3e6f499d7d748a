"""Version of this software."""

from importlib import metadata


def software_version() -> str:
    """Return the installed version; empty if the software is not installed."""
    try:
        return metadata.version("wikitopics")
    except metadata.PackageNotFoundError:
        return ""
