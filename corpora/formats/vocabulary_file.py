"""Vocabularies as text: one word a line, in the order of the columns of the counts.

The file beside NAME.mtx or NAME.ldac is written as NAME.vocab, beside docword.NAME.txt as
vocab.NAME.txt. Reading tries that name first, then vocab.NAME.txt, NAME.vocab, NAME.vocab.txt,
NAME_vocabulary.txt, vocab.txt and vocabulary.txt, in this order.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from corpora.errors import CorpusFormatError
from corpora.files import PathLike, is_unicode
from corpora.formats.compression import without_suffix
from corpora.formats.lines import LineReader, shown

NUMBERS = "numbers"
"""Stands in place of a vocabulary file: words are called by their numbers in the format."""


def stem_of(path: PathLike) -> str:
    """Return NAME of docword.NAME.txt.gz, NAME.mtx, NAME.ldac."""
    name = without_suffix(Path(path).name)
    found = re.fullmatch(r"docword\.(.+)\.txt", name)
    return found[1] if found else name.rpartition(".")[0] or name


def find_vocabulary(path: PathLike) -> Path:
    """Return the vocabulary file of the counts in `path`; FileNotFoundError lists usual names."""
    candidates = vocabulary_candidates(path)
    for beside in candidates:
        if beside.is_file():
            return beside
    names = ", ".join(beside.name for beside in candidates)
    raise FileNotFoundError(
        f"{path}: no vocabulary beside it ({names}): give its file as the vocabulary, or "
        f"{NUMBERS!r} for words that are their numbers"
    )


def vocabulary_candidates(path: PathLike) -> tuple[Path, ...]:
    """Paths of the vocabulary of the counts in `path`, in the order of the search, first the one
    that is written.
    """
    stem, written = stem_of(path), vocabulary_beside(path)
    usual = (
        *(f"vocab.{stem}.txt", f"{stem}.vocab", f"{stem}.vocab.txt", f"{stem}_vocabulary.txt"),
        *("vocab.txt", "vocabulary.txt"),
    )
    return written, *(Path(path).with_name(name) for name in usual if name != written.name)


def vocabulary_beside(path: PathLike) -> Path:
    """Path of the vocabulary when counts are written to `path`."""
    stem = stem_of(path)
    is_uci = Path(path).name.startswith("docword.")
    return Path(path).with_name(f"vocab.{stem}.txt" if is_uci else f"{stem}.vocab")


def words_of(path: PathLike, vocabulary: PathLike | None) -> tuple[str, ...] | None:
    """Return the words for the counts in `path`; None if words are called by their numbers."""
    if vocabulary == NUMBERS:
        return None
    return read_vocabulary(find_vocabulary(path) if vocabulary is None else vocabulary)


def read_vocabulary(path: PathLike) -> tuple[str, ...]:
    """Read the words of a vocabulary file, plain or compressed, in UTF-8. Raises OSError if it
    cannot be read; CorpusFormatError, naming the line, if one is empty, repeats a word or is not
    UTF-8.
    """
    reader = LineReader(path)
    line_of: dict[str, int] = {}
    for number, word in reader.text_lines():
        if not word.strip():
            raise reader.error("expected a word, found an empty line", number)
        if line_of.setdefault(word, number) != number:
            raise reader.error(f"{shown(word)} is in line {line_of[word]} already", number)
    return tuple(line_of)


def write_vocabulary(stream: IO[bytes], words: Sequence[str]) -> None:
    """Write the file for `read_vocabulary`; call `check_writable` with `fits_a_line` before."""
    stream.write("".join(f"{word}\n" for word in words).encode())


def fits_a_line(word: str) -> bool:
    """Whether a word can be written on a line of its own."""
    return bool(word.strip()) and not re.search("[\r\n\ufeff]", word)


def fits_a_text(word: str) -> bool:
    """Whether a word stays one word in a text that is split at white space."""
    return word.split() == [word] and "\ufeff" not in word


def check_writable(words: Sequence[str], path: PathLike, fits: Callable[[str], bool]) -> None:
    """Raise CorpusFormatError, naming the word, if one does not fit the format or contains half a
    surrogate pair.
    """
    for word in words:
        if not fits(word):
            raise CorpusFormatError(
                f"{path}: the word {shown(word)} cannot be written in this format: it is empty or "
                "holds white space or a line break; .jsonl can hold it"
            )
        if not is_unicode(word):
            raise CorpusFormatError(
                f"{path}: the word {shown(word)} cannot be written: half a surrogate pair is no "
                "character"
            )
