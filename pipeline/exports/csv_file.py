"""CSV and TSV files that spreadsheets, too, take for what they are.

A spreadsheet computes a cell that begins with = + - @, even a text in quotes, and a formula can
send the table elsewhere (CWE-1236). Titles, ids and words come from others, so each text that could
be a formula gets an apostrophe before it; `plain_text` takes the apostrophe away again.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from corpora.files import PathLike
from corpora.formats.compression import SUFFIXES, without_suffix, write_bytes

DELIMITERS = {".csv": ",", ".tsv": "\t"}
ENDINGS = tuple(DELIMITERS)
FORMULA = re.compile(r"[\s']*[=+\-@＝＋－＠]")
"""Beginning of a text that a spreadsheet may compute; white space before it may be trimmed."""
CONTROL_START = re.compile(r"'*[\t\r\n]")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)

Cell = str | int | float | None


class CsvWriter:
    """Writer of the rows of a table; see `open_csv`."""

    def __init__(self, stream: io.TextIOWrapper, delimiter: str) -> None:
        self._stream = stream
        # It puts texts into quotes that have a character of the end of lines: both kinds.
        self._rows = csv.writer(self, delimiter=delimiter, lineterminator="\r\n")
        self.n_rows = 0
        self.n_quoted = 0  # Texts that got an apostrophe

    def write_rows(self, rows: Iterable[Iterable[Cell]]) -> None:
        """Write rows; None is an empty cell, and a float has the digits that restore it."""
        for row in rows:
            self._rows.writerow([self._safe(c) if isinstance(c, str) else c for c in row])
            self.n_rows += 1

    def write(self, line: str) -> None:
        """Write the line of a row, ended by a line feed alone."""
        self._stream.write(f"{line[:-2]}\n")

    def _safe(self, text: str) -> str:
        safe = safe_text(text)
        self.n_quoted += safe is not text
        return safe


def is_csv(path: PathLike) -> bool:
    """Whether the name is that of a CSV or TSV file, plain or compressed."""
    return ending_of(path) in DELIMITERS


def ending_of(path: PathLike) -> str:
    """Return the ending of a file name in lower case, without that of a compression."""
    name = without_suffix(str(path)).lower()
    return next((each for each in DELIMITERS if name.endswith(each)), "")


def described_endings() -> str:
    """Return the endings of file names, as a phrase."""
    return f"{' or '.join(ENDINGS)}, also with {', '.join(SUFFIXES)}"


@contextmanager
def open_csv(path: PathLike, header: Iterable[str]) -> Iterator[CsvWriter]:
    """Open a table that appears, complete, when the block ends: UTF-8, compressed as its name says.

    Half surrogate pairs become question marks. Raises MissingExtraError if zstandard is needed and
    missing; OSError if the file cannot be written, which leaves an existing file unchanged.
    """
    with write_bytes(path) as stream:
        text = io.TextIOWrapper(stream, "utf-8", errors="replace", newline="", write_through=True)
        writer = CsvWriter(text, DELIMITERS[ending_of(path)])
        writer.write_rows([header])
        writer.n_rows = 0
        yield writer
        text.detach()


def safe_text(text: str) -> str:
    """Return the text, with an apostrophe before it if a spreadsheet might compute it."""
    return f"'{text}" if _could_be_formula(text) else text


def plain_text(text: str) -> str:
    """Return the text that `safe_text` was given."""
    return text[1:] if text.startswith("'") and _could_be_formula(text) else text


def _could_be_formula(text: str) -> bool:
    if NUMBER.fullmatch(text):
        return False
    return FORMULA.match(text) is not None or CONTROL_START.match(text) is not None
