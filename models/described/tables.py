"""Tables of text as rows of fields: comma-, semicolon-, tab- or bar-separated, or by spaces."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np

from corpora.articles.shard import MAX_CHARACTERS
from corpora.errors import CorpusFormatError
from corpora.files import PathLike
from corpora.formats.lines import LineReader, shown
from corpora.formats.number_table import is_number
from models.arrays import Floats

SEPARATORS = "\t,;|"
PEEKED = 50  # Rows by which the kind of a table is told
TOPIC_NAME = re.compile(r"(topic|component|theta|gamma|[tkvx])?[\s_.:-]*-?\d+", re.IGNORECASE)
ROW_NAMES = ("", "topic", "index", "id", "doc", "document", "doc_id")
CORNERS = (*ROW_NAMES, "term", "word", "token", "feature", "words")
TOPIC_COLUMN = re.compile(r"topic[\s_.:-]*\d+", re.IGNORECASE)


@dataclass(frozen=True)
class Row:
    """Fields of a record, and the number of the line on which it begins."""

    line: int
    fields: list[str]


@dataclass(frozen=True)
class Table:
    """Rows of a file, read anew each time."""

    path: Path
    separator: str  # Empty for white space

    @classmethod
    def at(cls, path: PathLike) -> "Table":
        """Return the table in a file; the first line that is not blank tells the separator.

        Raises OSError if the file cannot be read; CorpusFormatError if it has nothing but blanks.
        """
        for _, line in LineReader(path).text_lines():
            if line.strip():
                counts = {each: line.count(each) for each in SEPARATORS}
                best = max(SEPARATORS, key=lambda each: counts[each])
                return cls(Path(path), best if counts[best] else "")
        raise CorpusFormatError(f"{path}: the file is empty")

    def rows(self) -> Iterator[Row]:
        """Yield rows; blank lines are skipped.

        Raises CorpusFormatError, with the line, if quotes do not match or the file is not UTF-8.
        """
        reader = LineReader(self.path)
        if not self.separator:
            for number, line in reader.text_lines():
                if line.strip():
                    yield Row(number, [field.strip('"') for field in line.split()])
            return
        if csv.field_size_limit() < MAX_CHARACTERS:
            csv.field_size_limit(MAX_CHARACTERS)
        lines = (f"{line}\n" for _, line in reader.text_lines())
        records = csv.reader(lines, delimiter=self.separator, strict=True)
        while True:
            first = records.line_num + 1
            try:
                fields = next(records, None)
            except csv.Error as error:
                raise self.error(first, f"{error}; are quotes in a field doubled?") from error
            if fields is None:
                return
            if any(field.strip() for field in fields):
                yield Row(first, [field.strip() for field in fields])

    def peek(self) -> list[Row]:
        """Return the first rows."""
        return list(islice(self.rows(), PEEKED))

    def error(self, line: int, message: str) -> CorpusFormatError:
        """Return the error that names the file and the line."""
        return CorpusFormatError(f"{self.path}, line {line}: {message}")

    def numbers(self, row: Row, first: int, n_columns: int) -> list[float]:
        """Return the numbers of a row from column `first` on.

        Raises CorpusFormatError if the row has another number of columns, or a field is no finite
        number.
        """
        fields = row.fields[first:]
        if len(fields) != n_columns:
            raise self.error(row.line, f"expected {n_columns} numbers, found {len(fields)}")
        try:
            values = [float(field) for field in fields]
        except ValueError:
            wrong = next(field for field in fields if not is_number(field))
            raise self.error(row.line, f"expected a number, found {shown(wrong)}") from None
        if not np.isfinite(values).all():
            raise self.error(row.line, "expected finite numbers; replace NaN and infinite ones")
        return values


@dataclass(frozen=True, eq=False)
class Matrix:
    """Numbers of a table with the names of its rows and columns, None where they have none."""

    values: Floats
    rows: list[str] | None
    columns: list[str] | None


def read_matrix(table: Table) -> Matrix:
    """Read a table of numbers: a header or none, a column of names or none.

    As R's `write.table`, the header may lack the corner above the names of rows.

    Raises CorpusFormatError, with the line, if a row has another number of fields, or a field is no
    number.
    """
    peeked = table.peek()
    has_header = _is_header(peeked[0].fields, [row.fields for row in peeked[1:]])
    body = peeked[1:] if has_header else peeked
    if not body:
        raise table.error(peeked[0].line, "expected rows of numbers after the names of columns")
    header = peeked[0].fields if has_header else None
    has_names = _has_names(header, body)
    n_columns = len(body[0].fields) - has_names
    names: list[str] = []
    values: list[Floats] = []
    for row in islice(table.rows(), int(has_header), None):
        names.append(row.fields[0])
        values.append(np.array(table.numbers(row, int(has_names), n_columns)))
    columns = None
    if header is not None:
        columns = header[len(header) - n_columns :]
        if len(header) not in (n_columns, n_columns + has_names):
            raise table.error(
                peeked[0].line, f"expected {n_columns} names of columns, found {len(header)}"
            )
    return Matrix(np.array(values), names if has_names else None, columns)


def _is_header(first: list[str], body: Sequence[list[str]]) -> bool:
    """Whether the first row names the columns: by words, or by numbers that count from 0 or 1.

    Numbers count columns, and are no weights, below a corner that names none, beside one column
    more of names, or if those of the other rows are no whole numbers.
    """
    if not all(map(is_number, first[1:] or first)):
        return True
    if not is_number(first[0]):
        return not first[0] or (first[0].lower() in CORNERS and are_numbered(first[1:]))
    if not body or not are_numbered(first):
        return False
    is_short = len(first) == len(body[0]) - 1
    return is_short or (len(first) > 2 and not all(map(str.isdecimal, chain.from_iterable(body))))


def _has_names(header: list[str] | None, body: Sequence[Row]) -> bool:
    """Whether the first column names the rows."""
    if not all(is_number(row.fields[0]) for row in body):
        return True
    if header is None:
        return False
    is_short = len(header) == len(body[0].fields) - 1
    return is_short or header[0].lower() in ROW_NAMES


def share_of_numbers(rows: Sequence[Row]) -> float:
    """Return the share of fields after the first that are numbers."""
    fields = list(chain.from_iterable(row.fields[1:] or row.fields for row in rows))
    return sum(map(is_number, fields)) / max(1, len(fields))


def are_numbered(names: Sequence[str]) -> bool:
    """Whether names only number columns, as V1, V2, … or word_0, word_1, … do."""
    found = [re.fullmatch(r"(\D*)(\d+)", name.strip()) for name in names]
    if not found or any(each is None for each in found):
        return False
    parts = [(each[1], int(each[2])) for each in found if each is not None]
    first = parts[0][1]
    return first in (0, 1) and parts == [(parts[0][0], first + i) for i in range(len(parts))]


def place_of(header: Sequence[str], names: Sequence[str]) -> int | None:
    """Return the first column that has one of these names, in the order of the names."""
    lowered = [field.strip().lower().replace(" ", "_") for field in header]
    return next((lowered.index(name) for name in names if name in lowered), None)
