"""Lines of whole numbers as arrays: `numpy.loadtxt` reads them, and errors name the line.

`scipy.io.mmread` is not used: it ignores the rest of a line, so that 1e3 and 2.5 in a file of
integers are read as 1 and 2, and the fourth column of a line is lost without an error.
"""

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from corpora.formats.lines import LineReader, shown

MAX_DIGITS = 18  # Digits of a number that is always below 2⁶³
REAL = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?")


@dataclass(frozen=True)
class Column:
    """Name and range of one of the numbers of a line."""

    name: str
    lowest: int
    highest: int
    is_real: bool = False  # Whether a whole number may be written as 2.0 or 2e0


def number_table(
    reader: LineReader, first: int, block: bytes, columns: Sequence[Column]
) -> NDArray[np.int64]:
    """Return the numbers (n_lines, n_columns) of a block of lines, the first of them line `first`,
    separated by spaces or tabs; blank lines are skipped. Raises CorpusFormatError if a line has
    another form, or a number is out of its column's range.
    """
    kinds = [(column.name, float if column.is_real else np.int64) for column in columns]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # nothing but blank lines; in NumPy 2.0 an integer "2.0"
            rows = np.loadtxt(BytesIO(block), dtype=kinds, comments=None, ndmin=1)
    except (ValueError, Warning):
        return _line_by_line(reader, first, block, columns)
    table = np.stack([rows[column.name] for column in columns], axis=1)
    is_in_range = [
        column.lowest <= values.min() and values.max() <= column.highest
        for column, values in zip(columns, table.T, strict=True)
    ]
    if not all(is_in_range) or np.any(table % 1):
        return _line_by_line(reader, first, block, columns)
    return table.astype(np.int64, copy=False)


def checked(field: bytes, column: Column, reader: LineReader, number: int) -> int:
    """Return the whole number in `field`; CorpusFormatError if it is none or out of range."""
    value = -1
    if field.removeprefix(b"+").isdigit() and len(field) <= MAX_DIGITS:
        value = int(field)
    elif column.is_real and REAL.fullmatch(field) and float(field).is_integer():
        value = int(float(field))
    if not column.lowest <= value <= column.highest:
        raise reader.error(
            f"{column.name} must be a whole number from {column.lowest} to {column.highest}, "
            f"found {shown(field)}",
            number,
        )
    return value


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def real(text: str | bytes) -> float:
    """Return the number in `text`; NaN if it is not a number."""
    try:
        return float(text)
    except ValueError:
        return np.nan


def _line_by_line(
    reader: LineReader, first: int, block: bytes, columns: Sequence[Column]
) -> NDArray[np.int64]:
    """Return the same as `number_table`; slower, but it finds the line and column of an error."""
    rows = []
    for number, line in enumerate(block[:-1].split(b"\n"), first):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != len(columns):
            names = " ".join(column.name.upper() for column in columns)
            raise reader.error(f"expected {names}, found {shown(line)}", number)
        rows.append([checked(*pair, reader, number) for pair in zip(fields, columns, strict=True)])
    return np.array(rows, dtype=np.int64).reshape(-1, len(columns))
