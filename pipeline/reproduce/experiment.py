"""Declaration of an experiment: what is computed, tabled, drawn and claimed."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import getitem
from typing import Any, NamedTuple

import numpy as np

from pipeline.reproduce.claims import Finding
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.reproduce.tables import Headline, Table, grouped

SAMPLE = "sample"  # Name of the built-in sample in results


class Found(NamedTuple):
    """Result of a run."""

    result: dict[str, Any]  # Numbers as JSON, see `plain`
    drawn: Any = None  # Arrays for figures and claims


class Figure(NamedTuple):
    """A figure of an experiment."""

    suffix: str  # End of its file's name, which begins with the name of the result
    caption: str
    draw: Callable[[Any, Any, Any], None]  # Takes a matplotlib figure, `Found.result` and `.drawn`
    is_shown: Callable[[Any], bool] = lambda _: True  # Whether there is one of this result


@dataclass(frozen=True, eq=False)
class Experiment:
    """Published table or figure that is reproduced: what is computed, tabled, drawn and claimed."""

    name: str  # Name in `reproduce NAME`
    where: str  # Place in the paper
    shows: str  # Purpose, in a sentence
    run: Callable[[ReproduceSettings], Found]
    tables: Callable[[Any], Sequence[Table]]
    headline: Callable[[Any], Headline]
    findings: Callable[[Any], Iterable[Finding]]  # Decides the claims
    figures: tuple[Figure, ...]
    data: Callable[[Any], str] = lambda _: ""  # Note on data that are not the paper's
    is_compared: Callable[[Any], bool] = lambda _: True  # Whether its data can decide the claims
    needs: str = ""  # Options without which it cannot run: its data do not come with the software
    why: str = ""  # Reason for these options

    def draw(self, found: Found) -> dict[str, Callable[[Any], None]]:
        """Return the drawing function of each figure, by the name of its files."""

        def of(figure: Figure) -> Callable[[Any], None]:
            return lambda canvas: figure.draw(canvas, *found)

        shown = (figure for figure in self.figures if figure.is_shown(found.result))
        return {found.result["name"] + figure.suffix: of(figure) for figure in shown}


@dataclass(frozen=True)
class Paper:
    """A paper whose figures are reproduced."""

    key: str  # Id of its section in a page
    short: str
    citation: str
    url: str  # Empty if it has no address that stays
    claims: str  # One a line
    experiments: tuple[Experiment, ...]
    elsewhere: str = ""  # Other places where its figures are reproduced


def data_note(theirs: str, *names: str) -> str:
    """Return the note on results on other data than `theirs`; empty without names."""
    if names == (SAMPLE,):
        return f"Of the built-in sample in place of {theirs}."
    return f"Of {', '.join(names)}; in the paper of {theirs}." if names else ""


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: arrays as lists, infinite numbers and NaN as None."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def number(value: Any, otherwise: float = math.nan) -> float:
    """Return a number of JSON, `otherwise` if there is none."""
    return otherwise if value is None else float(value)


def numbers(rows: Sequence[Any], *names: str) -> Any:
    """Return one value of all rows, under nested `names`, as an array; NaN where there is none."""
    return np.array([number(reduce(getitem, names, row)) for row in rows])


def rows_of(**columns: Iterable[Any]) -> list[dict[str, Any]]:
    """Return rows as JSON can hold them, given columns of the same length."""
    rows = zip(*columns.values(), strict=True)
    return [plain(dict(zip(columns, row, strict=True))) for row in rows]


def panels(figure: Any, n_panels: int, n_columns: int = 3, **shared: Any) -> Any:
    """Return a grid of axes, those after the first `n_panels` without frames."""
    n_columns = min(n_columns, n_panels)
    grid = figure.subplots(-(-n_panels // n_columns), n_columns, squeeze=False, **shared)
    for axes in grid.flat[n_panels:]:
        axes.set_axis_off()
    return grid


def draw_lines(axes: Any, rows: Sequence[Any], x: str, y: str, by: str, label: str = "{}") -> None:
    """Draw `y` over `x`, a line for each value of rows under the name `by`."""
    for value, of in grouped(rows, by).items():
        axes.plot([row[x] for row in of], [row[y] for row in of], label=label.format(value))
