"""What may be written where: nothing foreign is replaced, and nothing at all unless it is asked."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from corpora.corpus_files import HEADER, read_header
from corpora.errors import CorpusFormatError
from corpora.formats.text_folder import MARK

PathLike = str | os.PathLike[str]


class NotReplaceableError(FileExistsError):
    """Something is there that is not replaced even if asked: another name has to be chosen."""


def check_file_target(path: PathLike, name: str, *, replace: bool) -> None:
    """Refuse a place where a file of the format called `name` cannot be written.

    Raises
    ------
    FileNotFoundError
        If the directory that `path` is to be in is missing.
    NotReplaceableError
        If something at `path` is no regular file.
    FileExistsError
        If there is a file, and it is not to `replace` it.
    """
    target = Path(path)
    _check_parent(target)
    if target.exists() and not target.is_file():
        found = "a directory" if target.is_dir() else "a pipe or a device"
        raise NotReplaceableError(f"{path} is {found}, which {name} cannot take the place of")
    if target.exists() and not replace:
        raise FileExistsError(f"{path} exists")


def check_directory_target(path: PathLike, name: str, *, replace: bool) -> None:
    """Refuse a place where a directory of the format called `name` cannot be written.

    Raises
    ------
    FileNotFoundError
        If the directory that `path` is to be in is missing.
    NotReplaceableError
        If something at `path` is neither an empty directory nor one written in this format.
    FileExistsError
        If there is one written in this format, and it is not to `replace` it.
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
    """Why the directory is none that the format called `name` may take the place of; or ""."""
    mark = HEADER if name == "corpus" else MARK
    if not (directory / mark).is_file():
        return "holds other files"
    if name == "corpus":
        try:
            read_header(directory)
        except CorpusFormatError as error:
            return f"holds no corpus that can be replaced ({error})"
    return ""


def _check_parent(target: Path) -> None:
    if not target.absolute().parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(target.parent))
