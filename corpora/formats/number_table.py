"""Lines of whole numbers, as arrays: NumPy on whole blocks; where it hesitates, line by line.

The slow way defines what is accepted and finds the line of an error. The fast way either gives the
same numbers or gives up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corpora.formats.lines import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from corpora.formats.lines import LineReader

MOST_DIGITS = 18
"""Of a number that is surely below 2⁶³."""
REAL = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?")
_BLANK = np.isin(np.arange(256), list(b" \t\r\n"))
_OF_A_REAL = np.isin(np.arange(256), list(b"0123456789+-.eE"))


@dataclass(frozen=True)
class Column:
    """One of the numbers of a line: its name for messages, and from what to what it may be."""

    name: str
    lowest: int
    highest: int
    is_real: bool = False
    """Whether it may be written as 2.0 or 2e0; its value must be whole all the same."""


def number_table(
    reader: LineReader, first: int, block: bytes, columns: Sequence[Column]
) -> NDArray[np.int64]:
    """The numbers (n_lines, n_columns) of a block of lines, the first of them line `first`.

    Numbers stand between spaces or tabs; blank lines are passed over.

    Raises
    ------
    CorpusFormatError
        If a line holds anything else, or a number that is out of its column's range.
    """
    table = fast_table(block, columns)
    return slow_table(reader, first, block, columns) if table is None else table


def fast_table(block: bytes, columns: Sequence[Column]) -> NDArray[np.int64] | None:
    """The numbers of a block of whole lines; None if any line is out of the ordinary."""
    data = np.frombuffer(block, dtype=np.uint8)
    starts, ends = token_edges(_BLANK[data])
    if not len(starts) or len(starts) % len(columns):
        return None
    starts, ends = starts.reshape(-1, len(columns)), ends.reshape(-1, len(columns))
    feeds = np.flatnonzero(data == ord("\n"))
    if len(feeds) != len(starts):
        return None
    if np.any(feeds < ends[:, -1]) or np.any(feeds[:-1] > starts[1:, 0]):
        return None
    table = np.empty(starts.shape, dtype=np.int64)
    for j, column in enumerate(columns):
        read = _reals if column.is_real else digits
        values = read(data, starts[:, j], ends[:, j])
        if values is None or values.min() < column.lowest or values.max() > column.highest:
            return None
        table[:, j] = values
    return table


def slow_table(
    reader: LineReader, first: int, block: bytes, columns: Sequence[Column]
) -> NDArray[np.int64]:
    """The same as `number_table`, one line after the other."""
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


def checked(field: bytes, column: Column, reader: LineReader, number: int) -> int:
    """The number that `field` of line `number` is, if it may stand in `column`."""
    value = -1
    if field.isdigit() and len(field) <= MOST_DIGITS:
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


def token_edges(blank: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where the runs that are not blank begin, and the first place after each.

    The last place must be blank.
    """
    edges = np.flatnonzero(blank[1:] != blank[:-1]) + 1
    if not blank[0]:
        edges = np.concatenate(([0], edges))
    return edges[::2], edges[1::2]


def digits(
    data: NDArray[np.uint8], starts: NDArray[np.intp], ends: NDArray[np.intp]
) -> NDArray[np.int64] | None:
    """The whole numbers (n,) at `starts`; None if there is another character, or too many."""
    length = ends - starts
    longest = int(length.max(initial=0))
    if longest > MOST_DIGITS:
        return None
    values = np.zeros(len(starts), dtype=np.int64)
    for place in range(longest):
        # Where a number is shorter, the byte is another's, and counts for nothing.
        digit = data[ends - 1 - place] - np.uint8(ord("0"))
        inside = place < length
        if np.any(inside & (digit > 9)):
            return None
        values += np.where(inside, digit, 0) * np.int64(10**place)
    return values


def _reals(
    data: NDArray[np.uint8], starts: NDArray[np.intp], ends: NDArray[np.intp]
) -> NDArray[np.int64] | None:
    """The same of numbers that may be written with a point or an exponent."""
    values = digits(data, starts, ends)
    if values is not None:
        return values
    width = int((ends - starts).max())
    if width > 40:
        return None
    place = np.minimum(starts[:, None] + np.arange(width), ends[:, None])
    letters = np.where(place < ends[:, None], data[place], 0)
    if not np.all(_OF_A_REAL[letters] | (letters == 0)):
        return None
    try:
        reals = letters.astype(np.uint8).view(f"S{width}").ravel().astype(np.float64)
    except ValueError:
        return None
    if not np.all((reals >= 0) & (reals < 2**53)) or np.any(reals % 1):
        return None
    return reals.astype(np.int64)
