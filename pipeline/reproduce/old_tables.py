"""Tables of reproduced experiments as data, and how their numbers are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True)
class Table:
    """A table for people; all cells are text.

    Raises
    ------
    ValueError
        If a row has not as many cells as there are columns, or the groups do not cover them.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """The first `headings` cells of a row name it."""
    note: str = ""
    """What the columns mean, as far as their names do not say it."""
    groups: tuple[tuple[str, int], ...] = ()
    """Titles over so many neighbouring columns, from the first to the last; none by default."""
    headings: int = 1

    def __post_init__(self) -> None:
        wrong = [len(row) for row in self.rows if len(row) != len(self.columns)]
        if wrong:
            raise ValueError(
                f"{self.title}: expected {len(self.columns)} cells a row, found {wrong[0]}"
            )
        covered = sum(width for _, width in self.groups)
        if self.groups and covered != len(self.columns):
            raise ValueError(
                f"{self.title}: groups are of {covered} columns, not of {len(self.columns)}"
            )


class Headline(NamedTuple):
    """The one figure of an experiment that says most."""

    what: str
    ours: str
    published: str


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], **also: Any) -> Table:
    """A `Table` of any sequences."""
    return Table(title, tuple(columns), tuple(tuple(row) for row in rows), **also)


def text(value: float | None, form: str = "") -> str:
    """A number, with a true minus sign; a dash for one that there is not."""
    if value is None:
        return "–"
    return f"{value:{form}}".replace("-", "−")


def plus_minus(value: float | None, error: float | None, form: str = ".4f") -> str:
    """A number and its standard error."""
    if value is None or error is None:
        return text(value, form)
    return f"{text(value, form)} ± {text(error, form)}"


def grouped(rows: Iterable[dict[str, Any]], name: str) -> dict[Any, list[dict[str, Any]]]:
    """Rows by what they have under `name`, in the order in which that comes first."""
    found: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row[name], []).append(row)
    return found
