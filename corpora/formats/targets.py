"""Checks before writing: only files written here are replaced, and only if the user asks."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

from corpora.corpus_files import HEADER, read_header
from corpora.errors import CorpusFormatError
from corpora.files import PathLike
from corpora.formats.text_folder import MARK
from corpora.formats.vocabulary_file import (
    find_vocabulary,
    read_vocabulary,
    stem_of,
    vocabulary_beside,
    vocabulary_candidates,
)


class NotReplaceableError(FileExistsError):
    """The target is never replaced, even if the user asks; another name has to be chosen."""


def check_file_target(path: PathLike, name: str, *, replace: bool) -> None:
    """Refuse a target that a file of the format called `name` cannot be written to. Raises
    FileNotFoundError if the parent directory is missing; NotReplaceableError if `path` is not a
    regular file; FileExistsError if there is a file, unless `replace` is set.
    """
    target = Path(path)
    _check_parent(target)
    if target.exists() and not target.is_file():
        found = "a directory" if target.is_dir() else "a pipe or a device"
        raise NotReplaceableError(f"{path} is {found}, which {name} cannot take the place of")
    if target.exists() and not replace:
        raise FileExistsError(f"{path} exists")


def check_directory_target(path: PathLike, name: str, *, replace: bool) -> None:
    """Refuse a target that a directory of the format called `name` cannot be written to. Raises
    FileNotFoundError if the parent directory is missing; NotReplaceableError if `path` is neither
    an empty directory nor written in this format; FileExistsError if it is written in this format,
    unless `replace` is set.
    """
    target = Path(path)
    _check_parent(target)
    if not target.exists():
        return
    if not target.is_dir():
        raise NotReplaceableError(f"{path} is a file, which {name} cannot take the place of")
    if any(target.iterdir()):
        if reason := why_kept(target, name):
            raise NotReplaceableError(f"{path} {reason}")
        if not replace:
            raise FileExistsError(f"{path} exists")


def why_kept(directory: Path, name: str) -> str:
    """Reason why the format called `name` must not replace the directory; or ""."""
    mark = HEADER if name == "corpus" else MARK
    if not (directory / mark).is_file():
        return "holds other files"
    if name == "corpus":
        try:
            read_header(directory)
        except CorpusFormatError as error:
            return f"holds no corpus that can be replaced ({error})"
    return ""


def vocabulary_clash(
    path: PathLike, words: tuple[str, ...], has_counts: Callable[[Path], bool]
) -> str:
    """Reason why `words` should not be written as the vocabulary of the counts in `path`, or "":
    another vocabulary may exist, or the new file may be found first for other counts of the same
    NAME. `has_counts` tells, from its name, whether a file holds counts with a vocabulary beside
    it. Raises NotReplaceableError if the path of the vocabulary is not a regular file; OSError if
    the directory cannot be read.
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
            continue  # these counts have no vocabulary to lose
        order = vocabulary_candidates(other)
        if order.index(beside) < order.index(found) and not _holds(found, words):
            return f"{beside} would be read in place of {found.name} for {other.name}"
    return ""


def _check_parent(target: Path) -> None:
    if not target.absolute().parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(target.parent))


def _holds(path: Path, words: tuple[str, ...]) -> bool:
    try:
        return read_vocabulary(path) == words
    except (OSError, CorpusFormatError):
        return False
