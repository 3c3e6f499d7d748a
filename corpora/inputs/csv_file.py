"""Tables of comma-separated values as rows, streamed, each with the number of its first line; one
file or a folder of them.

The first line names the columns; commas, semicolons, tabs or bars separate them, whichever the
first line has most of. Quotes are as in RFC 4180: a quoted field may hold separators and line
ends, and doubled quotes. Files may be compressed.
"""

import csv
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from corpora.articles.article import Article
from corpora.articles.shard import MAX_CHARACTERS
from corpora.errors import CorpusFormatError
from corpora.files import PathLike
from corpora.formats.compression import without_suffix
from corpora.formats.lines import LineReader
from corpora.formats.number_table import is_number
from corpora.inputs.rows import RowReader
from corpora.inputs.table_files import articles_of_files, check_columns, table_files

ENDINGS = (".csv", ".tsv", ".tab")
SEPARATORS = ",;\t|"
ROWS_ASKED = 200  # Rows by which it is told which columns hold strings
MISSING = ("nan", "NaN")  # Written by Python's and pandas' floats for a missing text


class CsvFile:
    """A file of comma- or tab-separated values; `columns` are the names in its first line. Raises
    OSError if the file cannot be read; CorpusFormatError, naming the line, if it is malformed.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path)
        is_tsv = without_suffix(self.path.name).lower().endswith((".tsv", ".tab"))
        first = next(_lines(self.path), (1, ""))[1]
        self.separator = "\t" if is_tsv else _separator(first)
        header = next(self._records(), (1, []))[1]
        if not any(name.strip() for name in header):
            raise CorpusFormatError(
                f"{self.path}, line 1: expected the names of the columns, found nothing"
            )
        self.columns = tuple(name.strip() or f"column {i}" for i, name in enumerate(header, 1))
        for i, name in enumerate(self.columns):
            if name in self.columns[:i]:
                raise CorpusFormatError(
                    f"{self.path}, line 1: two columns are called {name!r}; give each its own name"
                )

    def strings(self) -> list[str]:
        """Names of the columns that hold something else than numbers in the first rows."""
        rows = [row for _, row in islice(self.rows(), ROWS_ASKED)]
        return [
            name
            for i, name in enumerate(self.columns)
            if any(row[i].strip() and not is_number(row[i]) for row in rows)
        ]

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield line number and fields of each row after the first; blank lines are skipped."""
        n_columns = len(self.columns)
        records = self._records()
        next(records, None)
        for line, fields in records:
            if len(fields) != n_columns:
                raise CorpusFormatError(
                    f"{self.path}, line {line}: expected {n_columns} fields as in the first line,"
                    f" found {len(fields)}; quote a field that holds the separator"
                    f" {self.separator!r}"
                )
            yield line, fields

    def named_rows(self, text_column: str) -> Iterator[tuple[int, dict[str, str]]]:
        """Yield line number and columns of each row. Raises CorpusFormatError, too, if the text is
        missing as floats write it.
        """
        for line, fields in self.rows():
            row = dict(zip(self.columns, fields, strict=True))
            if row[text_column] in MISSING:
                raise CorpusFormatError(
                    f"{self.path}, line {line}, column {text_column!r}: expected a text,"
                    f" found {row[text_column]}; leave the field empty"
                )
            yield line, row

    def refuse_numbers(self, column: str) -> None:
        """Refuse a column that holds nothing but numbers as the text."""
        place = self.columns.index(column)
        rows = islice(((line, row[place]) for line, row in self.rows()), ROWS_ASKED)
        filled = [(line, field) for line, field in rows if field.strip()]
        if filled and all(is_number(f) and f not in MISSING for _, f in filled):
            line, field = filled[0]
            raise CorpusFormatError(
                f"{self.path}, line {line}, column {column!r}: expected a text, found the number"
                f" {field.strip()}; name another column"
            )

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the number of the first line and the fields of each record."""
        if csv.field_size_limit() < MAX_CHARACTERS:
            csv.field_size_limit(MAX_CHARACTERS)
        lines = _Remembered(_lines(self.path))
        records = csv.reader(lines, delimiter=self.separator, strict=True)
        while True:
            lines.begin()
            try:
                fields = next(records, None)
            except csv.Error as error:
                raise self._broken(lines.first, lines.record, error) from error
            if fields is None:
                return
            if fields:
                yield lines.first, fields

    def _broken(self, first: int, record: Sequence[str], error: csv.Error) -> CorpusFormatError:
        """Return the error of a record that cannot be parsed, by where its last quote opened."""
        opened = _line_of_open_quote(first, record, self.separator)
        if opened:
            return CorpusFormatError(
                f"{self.path}, line {opened}: a quote is opened here and not closed as it should"
                f' be ({error}); write a quote inside of a field as ""'
            )
        why = str(error)
        if any("\r" in line.removesuffix("\r\n") for line in record):
            why = "a carriage return outside of quotes; end lines by a line feed"
        return CorpusFormatError(f"{self.path}, line {first + len(record) - 1}: {why}")


class CsvTable:
    """Rows of one file or of all files of a folder, which have the same columns in any order."""

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path)
        self.files = table_files(self.path, ENDINGS)
        if not self.files:
            raise CorpusFormatError(f"{path}: no file in this folder ends in {', '.join(ENDINGS)}")

    def reader(self, text_column: str, id_column: str, language: str) -> RowReader:
        """Return what makes articles of the rows. Raises CorpusFormatError also if another file
        lacks a column that is used.
        """
        first = CsvFile(self.files[0])
        strings = None if text_column else first.strings()
        reader = RowReader(
            first.columns, text_column, id_column, language, str(self.path), strings=strings
        )
        first.refuse_numbers(reader.text_columns[0])
        for file in self.files[1:]:
            check_columns(reader, file, CsvFile(file).columns, self.files[0])
        return reader

    def articles(self, reader: RowReader) -> Iterator[Article]:
        """Yield the articles of all files."""
        text_column = reader.text_columns[0]
        rows = (
            (file, line, row)
            for file in self.files
            for line, row in CsvFile(file).named_rows(text_column)
        )
        yield from articles_of_files(reader, self.path, rows, "line")


class _Remembered:
    """Lines for the csv module; those of the present record are kept for the error message."""

    def __init__(self, lines: Iterator[tuple[int, str]]) -> None:
        self._lines = lines
        self.first = 1  # Number of the first line of the record
        self.record: list[str] = []

    def begin(self) -> None:
        """A record begins with the next line."""
        self.record = []

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        number, line = next(self._lines)
        if not self.record:
            self.first = number
        self.record.append(line)
        return line


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield number and content, with a line feed, of each line of a UTF-8 file."""
    for number, line in LineReader(path).text_lines():
        yield number, line + "\n"


def _separator(line: str) -> str:
    """Return the separator that the first line has most of, outside of quotes."""
    outside = "".join(line.split('"')[::2])
    return max(SEPARATORS, key=outside.count)  # the first of equals: a comma


def _line_of_open_quote(first: int, record: Sequence[str], separator: str) -> int:
    """Number of the line where the last quoted field of a broken record begins; 0 if none does."""
    opened, is_quoted, begins, after_quote = 0, False, True, False
    for number, line in enumerate(record, first):
        for char in line:
            if is_quoted:
                if after_quote:
                    after_quote = False
                    if char == '"':
                        continue
                    if char != separator and char not in "\r\n":
                        return opened
                    is_quoted, begins = False, True
                elif char == '"':
                    after_quote = True
            elif begins and char == '"':
                is_quoted, opened = True, number
                begins = False
            else:
                begins = char == separator
    return opened if is_quoted and not after_quote else 0
