"""Counts of pairs of letters: from a table, or counted in the built-in sample."""

import csv
import logging
import string
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from corpora import ArticleStore, CorpusFormatError
from corpora.articles.article import without_headings
from evaluation.arrays import Ints
from pipeline.downloads.download import download
from pipeline.runs.run_directory import SAMPLE_STORE
from pipeline.settings import DownloadSettings

logger = logging.getLogger(__name__)
LETTERS = string.ascii_uppercase
SAMPLE = "sample"
MAX_COUNT = 2**53  # Largest total of pairs: larger ones are not exact as floating-point numbers


class LetterPairs(NamedTuple):
    """Counts of pairs and their source."""

    source: str  # Name of the file, or "sample"
    counts: Ints  # (26, 26), the first letter of the pair in rows, the second in columns, A to Z


def letter_pairs(path: str, threads: int) -> LetterPairs:
    """Return the pairs of the table at `path`; without a path those of the built-in sample.

    Raises FileNotFoundError if there is no such file; CorpusFormatError if the file is no such
    table; the message names the line.
    """
    return LetterPairs(Path(path).name, read_pairs(path)) if path else sample_pairs(threads)


def sample_pairs(threads: int) -> LetterPairs:
    """Pairs in the articles of the built-in sample, whose store is that of `train`."""
    if not Path(SAMPLE_STORE).exists():
        logger.info("no --table: counting letter pairs of the built-in sample")
    download(DownloadSettings(output=SAMPLE_STORE, threads=threads))
    store = ArticleStore(SAMPLE_STORE)
    return LetterPairs(SAMPLE, count_pairs(without_headings(each.text) for each in store))


def count_pairs(texts: Iterable[str]) -> Ints:
    """Count adjacent pairs (26, 26) of the letters A to Z, without case.

    All other characters separate words, letters with accents too.
    """
    counts = np.zeros(26 * 26, dtype=np.int64)
    for text in texts:
        code = np.frombuffer(text.encode("utf-8", "replace").upper(), dtype=np.uint8)
        letter = code.astype(np.int64) - ord("A")
        is_letter = (letter >= 0) & (letter < 26)
        is_pair = is_letter[:-1] & is_letter[1:]
        pairs = 26 * letter[:-1][is_pair] + letter[1:][is_pair]
        counts += np.bincount(pairs, minlength=26 * 26)
    return counts.reshape(26, 26)


def read_pairs(path: str) -> Ints:
    """Read pairs (26, 26) of a CSV whose header and rows name the letters A to Z.

    Letters have any case and order; the first letter of a pair names the row.

    Raises FileNotFoundError if there is no such file; CorpusFormatError if the file is no such
    table; the message names the line.
    """
    lines = csv_lines(path, "letter pairs")
    if not lines:
        raise CorpusFormatError(f"{path}: empty; expected a header with the letters A to Z")
    columns = _letters(path, lines[0][0], lines[0][1][1:])
    counts, seen = np.zeros((26, 26), dtype=np.int64), set()
    for number, line in lines[1:]:
        row = line[0].strip().upper()
        if len(row) != 1 or row not in LETTERS or row in seen:
            raise CorpusFormatError(
                f"{path}, line {number}: expected a row for each of the letters A to Z once, "
                f"found {line[0]!r}"
            )
        if len(line) != 27:
            raise CorpusFormatError(
                f"{path}, line {number}: expected a letter and 26 counts, found {len(line)} fields"
            )
        seen.add(row)
        counts[LETTERS.index(row), columns] = [_count(path, number, field) for field in line[1:]]
    if len(seen) < 26:
        missing = ", ".join(sorted(set(LETTERS) - seen))
        raise CorpusFormatError(f"{path}: there is no row for {missing}")
    total = sum(map(int, counts.ravel()))
    if not 0 < total <= MAX_COUNT:
        raise CorpusFormatError(
            f"{path}: all pairs must be from 1 to 2**53 together, found {total}"
        )
    return counts


def _letters(path: str, number: int, names: list[str]) -> list[int]:
    letters = [name.strip().upper() for name in names]
    if sorted(letters) != list(LETTERS):
        raise CorpusFormatError(
            f"{path}, line {number}: expected a header with the letters A to Z after its first "
            f"field, found {','.join(names)[:60]!r}"
        )
    return [LETTERS.index(letter) for letter in letters]


def _count(path: str, number: int, field: str) -> int:
    text = field.strip()
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise CorpusFormatError(
            f"{path}, line {number}: expected whole numbers, none negative, found {field!r}"
        )
    return int(text)


def csv_lines(path: str, what: str) -> list[tuple[int, list[str]]]:
    """Return number and fields of each line that is not empty; `what` the file should hold.

    Raises FileNotFoundError if there is no such file; CorpusFormatError if the file is no CSV.
    """
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, strict=True)
            return [(reader.line_num, line) for line in reader if line]
    except (UnicodeDecodeError, csv.Error) as error:
        raise CorpusFormatError(f"{path}: no CSV of {what}: {error}") from error
