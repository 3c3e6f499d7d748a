"""Modules of packages that are installed with an extra of wikitopics."""

from importlib import import_module
from typing import Any

from corpora.errors import MissingExtraError


def optional_module(name: str, extra: str, needed_by: str) -> Any:
    """Import a module. Raises MissingExtraError, which says how to install it, if it is missing;
    `needed_by` begins the message: "Parquet needs", "files compressed by zstd need".
    """
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise MissingExtraError(
            f"{needed_by} {package}, which is not installed: pip install 'wikitopics[{extra}]'"
        ) from error


def of_pyarrow(name: str = "pyarrow") -> Any:
    """Import pyarrow or a module of it; raises as `optional_module`."""
    return optional_module(name, "parquet", "Parquet needs")
