"""The formats of a corpus: detection by file name, what each cannot store, reading and writing."""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import ne
from pathlib import Path

import numpy as np

from corpora.corpus import Corpus
from corpora.corpus_files import HEADER
from corpora.files import PathLike
from corpora.formats.json_lines import read_json_lines, write_json_lines
from corpora.formats.ldac import read_ldac, write_ldac
from corpora.formats.mallet_state_file import read_mallet_state
from corpora.formats.matrix_market import read_matrix_market, write_matrix_market
from corpora.formats.scipy_npz import read_npz, write_npz
from corpora.formats.targets import (
    check_directory_target,
    check_file_target,
    vocabulary_clash,
    why_kept,
)
from corpora.formats.text_folder import (
    new_directory,
    read_text_folder,
    safe_path,
    write_text_folder,
)
from corpora.formats.uci import read_uci, write_uci

logger = logging.getLogger(__name__)


class UnknownFormatError(ValueError):
    """The format is unknown, or cannot do what is asked; the message lists formats that can."""


@dataclass(frozen=True)
class Format:
    """A file format of a corpus."""

    name: str
    title: str
    pattern: str  #: Regular expression of its file names in lower case; empty for a directory.
    read: Callable[..., Corpus]
    """Takes the path and, if `vocabulary` is not empty, a vocabulary file or None."""
    write: Callable[..., None] | None
    """Takes corpus and path, for a directory `replace` too; None if a corpus is not enough."""
    vocabulary: str
    """"needed" beside the counts, "possible", or "" where the format holds its own."""
    loses: tuple[str, ...]  #: Keys of `LOSSES` that the format cannot store.

    @property
    def is_directory(self) -> bool:
        """Whether a corpus is a directory rather than a file."""
        return not self.pattern


def _has_unused_words(corpus: Corpus) -> bool:
    used = np.zeros(corpus.n_words, dtype=bool)
    used[corpus.counts.indices] = True
    return not used.all()


LOSSES: dict[str, Callable[[Corpus], bool]] = {
    "document ids": lambda corpus: any(
        doc_id != str(d) for d, doc_id in enumerate(corpus.doc_ids, 1)
    ),
    "ids as they are": lambda corpus: any(safe_path(each) != each for each in corpus.doc_ids),
    "titles": lambda corpus: any(map(ne, corpus.titles, corpus.doc_ids)),
    "numbers of unknown words": lambda corpus: bool(np.any(corpus.n_unknown)),
    "words that no document has": _has_unused_words,
    "the order of the vocabulary": lambda corpus: (
        list(corpus.vocabulary) != sorted(corpus.vocabulary)
    ),
}
"""Parts of a corpus that a format may lose, and functions that say whether a corpus has them."""

_NUMBERED = ("document ids", "titles", "numbers of unknown words")
_UNORDERED = ("words that no document has", "the order of the vocabulary")
_COMPRESSED = r"(\.(gz|bz2|xz|zst))?"


def _write_directory(corpus: Corpus, path: PathLike, *, replace: bool = False) -> None:
    if replace and not why_kept(Path(path), "corpus"):
        corpus.save(path)  # replaces it atomically
        return
    with new_directory(path, replace=False) as directory:
        corpus.save(directory)


def _read_state(path: PathLike) -> Corpus:
    return read_mallet_state(path).corpus()


_numbered = partial(Format, vocabulary="needed", loses=_NUMBERED)

FORMATS = {
    each.name: each
    for each in (
        _numbered(
            "uci", "UCI bag of words", rf"docword\..+\.txt{_COMPRESSED}", read_uci, write_uci
        ),
        _numbered(
            "mtx",
            "Matrix Market",
            rf".+\.mtx{_COMPRESSED}",
            read_matrix_market,
            write_matrix_market,
        ),
        _numbered("ldac", "lda-c", rf".+\.(ldac|dat){_COMPRESSED}", read_ldac, write_ldac),
        _numbered("npz", "SciPy's sparse matrix", r".+\.npz", read_npz, write_npz),
        Format(
            name="jsonl",
            title="JSON lines",
            pattern=rf".+\.jsonl{_COMPRESSED}",
            read=read_json_lines,
            write=write_json_lines,
            vocabulary="possible",
            loses=_UNORDERED,
        ),
        Format("mallet-state", "MALLET state", r".*state.*\.gz", _read_state, None, "", ()),
        Format(
            name="text",
            title="folder of texts",
            pattern="",
            read=read_text_folder,
            write=write_text_folder,
            vocabulary="possible",
            loses=("ids as they are", "titles", "numbers of unknown words", *_UNORDERED),
        ),
        Format("corpus", "corpus directory", "", Corpus.load, _write_directory, "", ()),
    )
}


def format_of(path: PathLike, name: str = "") -> Format:
    """Return the format called `name`; by default the format that the file name tells. A directory
    with header.json is a corpus, any other a folder of texts. Raises UnknownFormatError if there is
    none.
    """
    known = ", ".join(FORMATS)
    if name:
        if name not in FORMATS:
            raise UnknownFormatError(f"there is no format {name!r}, only {known}")
        return FORMATS[name]
    if Path(path).is_dir():
        return FORMATS["corpus" if (Path(path) / HEADER).is_file() else "text"]
    file = Path(path).name.lower()
    for each in FORMATS.values():
        if each.pattern and re.fullmatch(each.pattern, file):
            return each
    raise UnknownFormatError(f"the name of {path} does not tell its format; it can be {known}")


def losses(corpus: Corpus, into: Format) -> tuple[str, ...]:
    """Parts of `corpus` that the format `into` cannot store, as keys of `LOSSES`."""
    return tuple(loss for loss in into.loses if LOSSES[loss](corpus))


def read_corpus(path: PathLike, name: str = "", vocabulary: PathLike | None = None) -> Corpus:
    """Read the corpus at `path`, in the format `name` or the format that its name tells. Raises
    UnknownFormatError if the format is unknown, or takes no vocabulary and one is given; OSError if
    a file cannot be read; CorpusFormatError, naming file and line, if it has another form.
    """
    kind = format_of(path, name)
    if not kind.vocabulary:
        if vocabulary is not None:
            raise UnknownFormatError(f"{kind.name} holds its own vocabulary: leave the file out")
        return kind.read(path)
    return kind.read(path, vocabulary)


def write_corpus(corpus: Corpus, path: PathLike, name: str = "", *, replace: bool = False) -> None:
    """Write `corpus` to `path`, in the format `name` or the format that its name tells; on an error
    nothing is left. Raises UnknownFormatError if the format is unknown, or cannot be written from a
    corpus; FileExistsError if `check_target` refuses `path`, or `vocabulary_clash` refuses the
    vocabulary beside it, which `replace` turns into a logged warning; CorpusFormatError, naming the
    word, if the format cannot store one; OSError if a file cannot be written.
    """
    kind = format_of(path, name)
    check_target(path, kind, replace=replace)
    assert kind.write is not None
    if kind.is_directory:
        kind.write(corpus, path, replace=replace)
        return
    clash = ""
    if kind.vocabulary == "needed":
        clash = vocabulary_clash(path, corpus.vocabulary, _has_vocabulary_beside)
    if clash and not replace:
        raise FileExistsError(clash)
    kind.write(corpus, path)
    if clash:
        logger.warning("%s: written in spite of this: %s", path, clash)


def check_target(path: PathLike, kind: Format, *, replace: bool) -> None:
    """Refuse a target that `write_corpus` would refuse, before the corpus is read. Raises
    UnknownFormatError if the format cannot be written from a corpus; FileNotFoundError if the
    parent directory is missing; FileExistsError if `path` exists and is not an empty directory for
    a directory. `replace` accepts a regular file for a file, an intact corpus for a corpus, and a
    folder of texts that was written here for a folder of texts.
    """
    if kind.write is None:
        raise UnknownFormatError(
            f"{kind.name} is read only: it holds a topic for each word, and a corpus has none"
        )
    check = check_directory_target if kind.is_directory else check_file_target
    check(path, kind.name, replace=replace)


def _has_vocabulary_beside(path: Path) -> bool:
    return any(
        each.vocabulary == "needed" and re.fullmatch(each.pattern, path.name.lower())
        for each in FORMATS.values()
    )
