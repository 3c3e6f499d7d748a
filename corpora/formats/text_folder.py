"""Folders of plain text: each file a document of words between white space, its path the id.

Hidden files and folders are skipped, links to folders are not followed, pipes and devices are
refused. The format has no titles, unknown words, order of the vocabulary, and words without a
document.
"""

import os
import re
import secrets
import shutil
import stat
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from corpora.corpus import Corpus
from corpora.errors import CorpusFormatError
from corpora.files import TEMPORARY_SUFFIX, PathLike, is_unicode, sync_directory
from corpora.formats.bags import BagGatherer
from corpora.formats.lines import BYTE_ORDER_MARK, shown
from corpora.formats.vocabulary_file import check_writable, fits_a_text, read_vocabulary

MARK = ".wikitopics-text"
"""Hidden file in folders that were written here; only these may be replaced."""
MAX_NAME_BYTES = 200  # Bytes of a file name; file systems allow 255
UNSAFE = '%\\<>:"|?*' if sys.platform == "win32" else "%\\"
DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""File names that stand for a device on Windows."""
WORDS_AT_ONCE = 1 << 14


def read_text_folder(path: PathLike, vocabulary: PathLike | None = None) -> Corpus:
    """Read the files of a folder and its subfolders, in the order of their paths. The columns are
    the words of the file `vocabulary`, others count as unknown; by default all words that appear,
    in alphabetical order. Raises OSError if the folder or a file cannot be read; CorpusFormatError
    if a file is not UTF-8 (the message names the byte), or not a regular file, as reading might
    never end.
    """
    bags = BagGatherer(None if vocabulary is None else read_vocabulary(vocabulary))
    folder = Path(path)
    for name in sorted(file_names(folder)):
        if not is_unicode(name):
            raise CorpusFormatError(f"{folder}: the name of the file {shown(name)} is not UTF-8")
        try:
            text = file_content(folder / name).removeprefix(BYTE_ORDER_MARK).decode("utf-8")
        except UnicodeDecodeError as error:
            raise CorpusFormatError(
                f"{folder / name}: not UTF-8 text (byte {error.start}: {error.reason})"
            ) from error
        bags.add(name, name, Counter(text.split()))
    return bags.corpus()


def write_text_folder(corpus: Corpus, path: PathLike, *, replace: bool = False) -> None:
    """Write a file for each document; the folder appears complete or not at all. Words stand in the
    order of the vocabulary, each as often as counted. The id is the file's path; characters that
    are unsafe in a file name are written as %XX, so that no file lies outside of the folder. Raises
    CorpusFormatError if a word is empty or holds white space, or two documents would be the same
    file; FileExistsError if `path` exists; with `replace`, if it was not written here; OSError if a
    file cannot be written.
    """
    check_writable(corpus.vocabulary, path, fits_a_text)
    counts = corpus.counts
    with new_directory(path, replace=replace and (Path(path) / MARK).is_file()) as folder:
        (folder / MARK).touch()
        for d, doc_id in enumerate(corpus.doc_ids):
            row = slice(counts.indptr[d], counts.indptr[d + 1])
            file = folder / safe_path(doc_id)
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                with file.open("x", encoding="utf-8", newline="\n") as stream:
                    bag = zip(counts.indices[row].tolist(), counts.data[row].tolist(), strict=True)
                    for w, count in bag:
                        stream.writelines(_repeated(corpus.vocabulary[w], count))
            except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
                raise CorpusFormatError(
                    f"{path}: document {shown(doc_id)} would be the same file as another one, or "
                    "a folder with its name; give it another id"
                ) from error


def safe_path(doc_id: str) -> str:
    """Relative path without hidden parts for a document, different for each id; the id itself if it
    is such a path.
    """
    return "/".join(_safe_name(part) for part in doc_id.split("/"))


@contextmanager
def new_directory(path: PathLike, *, replace: bool) -> Iterator[Path]:
    """Open a directory to fill, which is renamed to `path` when the block ends without an error.
    Raises FileExistsError if `path` exists, unless it is an empty directory or `replace` is set.
    """
    target = Path(os.path.abspath(path))  # noqa: PTH100  # resolve would follow a link at its end
    if target.exists() and not replace and not (target.is_dir() and not any(target.iterdir())):
        raise FileExistsError(
            f"{path} exists and was not written as such: remove it, or name another"
        )
    hidden = f".{target.name}.{secrets.token_hex(4)}"
    partial = target.with_name(hidden + TEMPORARY_SUFFIX)
    former = target.with_name(f"{hidden}.former{TEMPORARY_SUFFIX}")
    partial.mkdir()
    try:
        yield partial
        sync_directory(partial)
        if replace and target.exists():
            target.rename(former)
        partial.rename(target)
    except BaseException:
        if former.exists() and not target.exists():
            former.rename(target)
        shutil.rmtree(partial, ignore_errors=True)
        raise
    shutil.rmtree(former, ignore_errors=True)
    sync_directory(target.parent)


def file_names(
    folder: Path, is_left_out: Callable[[Collection[str]], bool] = lambda _: False
) -> Iterator[str]:
    """Paths of files that are not hidden, relative to `folder`, with / between parts. Subfolders
    are left out if `is_left_out` of the names in them.
    """

    def give_up(error: OSError) -> None:
        raise error

    for directory, folders, files in os.walk(folder, onerror=give_up):
        if Path(directory) != folder and is_left_out({*folders, *files}):
            folders.clear()
            continue
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if not name.startswith("."):
                yield Path(directory, name).relative_to(folder).as_posix()


def file_content(file: Path) -> bytes:
    """Return the bytes of a regular file; CorpusFormatError if it is none."""
    if not stat.S_ISREG(file.stat().st_mode):  # opening alone may block
        raise CorpusFormatError(
            f"{file}: no regular file but a pipe, a device or the like; take it out of the folder"
        )
    return file.read_bytes()


def _safe_name(part: str) -> str:
    """One part of a path, with %XX for each unsafe byte."""
    escaped = "".join(
        char if char.isprintable() and char not in UNSAFE else _escape(char) for char in part
    )
    if escaped.startswith("."):
        escaped = _escape(".") + escaped[1:]
    if sys.platform == "win32" and DEVICE.fullmatch(escaped):
        escaped = _escape(escaped[0]) + escaped[1:]
    if sys.platform == "win32" and escaped.endswith((".", " ")):
        escaped = escaped[:-1] + _escape(escaped[-1])
    if len(escaped.encode()) > MAX_NAME_BYTES:
        digest = sha256(part.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        beginning = escaped.encode()[: MAX_NAME_BYTES - 40].decode("utf-8", "ignore")
        return f"{beginning}%{digest}%"  # no escape ends like this
    return escaped or "%"


def _escape(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))


def _repeated(word: str, count: int) -> Iterator[str]:
    """Lines of `word`, `count` times in total, in pieces of bounded size."""
    for start in range(0, count, WORDS_AT_ONCE):
        yield " ".join([word] * min(WORDS_AT_ONCE, count - start)) + "\n"
