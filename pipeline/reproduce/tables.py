"""Tables of results: columns over rows, with one way to write a cell for terminal and page."""

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

Rows = Sequence[Any]
Row = dict[str, Any]  # Values of a row, or of a trial, by name

NOTE_WIDTH = 100  # Characters per line of a note on the terminal


class Headline(NamedTuple):
    """The main figure of an experiment."""

    what: str
    ours: str
    published: str


@dataclass(frozen=True)
class Column:
    """One column: the place of its value in a row, and its format."""

    title: str
    value: str | tuple[Any, ...] | Callable[[Any], Any]
    """Key in the row, with dots between keys of nested rows; these keys; or function of the row."""
    form: str = ""  # Format of numbers
    error: str = ""  # Key of the standard error, which is written after ±; none if empty
    group: str = ""  # Title over neighbouring columns

    def cell(self, row: Any) -> str:
        """Return the text of the cell in a row."""
        value = self.value(row) if callable(self.value) else _at(row, self.value)
        error = _at(row, self.error) if self.error else None
        return plus_minus(value, error, self.form)


@dataclass(frozen=True)
class Table:
    """Rows, and the columns that show them."""

    title: str
    columns: tuple[Column, ...]
    rows: Rows
    note: str = ""  # Meaning of columns whose names do not say it
    headings: int = 1  # Columns, from the first, that name a row

    @property
    def cells(self) -> list[list[str]]:
        """The text of each cell, by row."""
        return [[column.cell(row) for column in self.columns] for row in self.rows]

    @property
    def heads(self) -> list[str]:
        """Titles of the columns."""
        return [column.title for column in self.columns]

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Titles over so many neighbouring columns, from the first to the last; [] if none."""
        found = [(title, len(list(of))) for title, of in groupby(c.group for c in self.columns)]
        return found if any(title for title, _ in found) else []

    def lines(self) -> Iterator[str]:
        """Yield the lines of the table on a terminal."""
        cells = self.cells
        widths = [max(map(len, column)) for column in zip(self.heads, *cells, strict=True)]
        yield self.title
        if self.groups:
            over, start = [], 0
            for title, width in self.groups:
                room = sum(widths[start : start + width]) + 2 * (width - 1)
                if len(title) > room:
                    widths[start + width - 1] += len(title) - room
                over.append(title.center(max(room, len(title))))
                start += width
            yield "  ".join(over).rstrip()
        for line in (self.heads, *cells):
            pairs = enumerate(zip(line, widths, strict=True))
            padded = (t.ljust(w) if n < self.headings else t.rjust(w) for n, (t, w) in pairs)
            yield "  ".join(padded).rstrip()
        yield from textwrap.wrap(self.note, NOTE_WIDTH)


def text(value: Any, form: str = "") -> str:
    """Return a value as text: a dash if there is none, numbers with a true minus sign."""
    if value is None or value != value:  # noqa: PLR0124 - not a number
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(text(each, form) for each in value) or "none"
    return value if isinstance(value, str) else f"{value:{form}}".replace("-", "−")


def plus_minus(value: Any, error: float | None, form: str = ".4f") -> str:
    """Return a number and its standard error as text."""
    if value is None or error is None:
        return text(value, form)
    return f"{text(value, form)} ± {text(error, form.replace('+', ''))}"


def grouped(rows: Iterable[Any], *names: str) -> dict[Any, list[Any]]:
    """Return rows by their values under `names`, in the order of first occurrence."""
    found: dict[Any, list[Any]] = {}
    for row in rows:
        found.setdefault(itemgetter(*names)(row), []).append(row)
    return found


def indexed(rows: Iterable[Any], *names: str) -> dict[Any, Any]:
    """Return each row by its value under `names`; by a tuple if these are several."""
    return {itemgetter(*names)(row): row for row in rows}


def pivoted(rows: Iterable[Any], by: str, over: str) -> list[dict[Any, Any]]:
    """Return a row for each value under `by`, with the rows by their values of `over`."""
    return [{by: value} | indexed(of, over) for value, of in grouped(rows, by).items()]


def _at(row: Any, key: Any) -> Any:
    for part in key if isinstance(key, tuple) else (key,) if key in row else key.split("."):
        row = None if row is None else row.get(part)
    return row
