"""Whether a vocabulary that is to be written would give counts beside it to the wrong words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import CorpusFormatError
from corpora.formats.targets import NotReplaceableError
from corpora.formats.vocabulary_file import (
    find_vocabulary,
    read_vocabulary,
    stem_of,
    vocabulary_beside,
    vocabulary_candidates,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    PathLike = str | os.PathLike[str]


def vocabulary_clash(
    path: PathLike, words: tuple[str, ...], has_counts: Callable[[Path], bool]
) -> str:
    """Why `words` should not be written as the vocabulary of the counts in `path`; or "".

    Another vocabulary may be there already, or the new file may come to be read in place of the one
    that other counts of the same NAME have had so far.

    Parameters
    ----------
    path
        The counts, which need not be there.
    words
        The vocabulary.
    has_counts
        Whether a file is, by its name, of a format with its vocabulary beside it.

    Raises
    ------
    NotReplaceableError
        If something that is no regular file has the name of the vocabulary.
    OSError
        If the directory cannot be read.
    """
    beside = vocabulary_beside(path)
    if beside.is_file():
        return "" if _holds(beside, words) else f"{beside} exists and holds another vocabulary"
    if beside.exists():
        raise NotReplaceableError(
            f"{beside}, where the vocabulary is to go, is a directory or a device"
        )
    for other in sorted(beside.parent.iterdir()):
        is_namesake = stem_of(other) == stem_of(path) and other.name != Path(path).name
        if not (is_namesake and has_counts(other) and other.is_file()):
            continue
        try:
            found = find_vocabulary(other)
        except FileNotFoundError:
            continue  # nothing is taken from counts without a vocabulary
        order = vocabulary_candidates(other)
        if order.index(beside) < order.index(found) and not _holds(found, words):
            return f"{beside} would be read in place of {found.name} for {other.name}"
    return ""


def _holds(path: Path, words: tuple[str, ...]) -> bool:
    try:
        return read_vocabulary(path) == words
    except (OSError, CorpusFormatError):
        return False
