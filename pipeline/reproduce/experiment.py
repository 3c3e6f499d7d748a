"""What an experiment is: a declaration of what is computed, tabled, drawn and claimed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pipeline.reproduce.claims import decided

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipeline.cache.results import ResultCache
    from pipeline.reproduce.claims import Claim, Finding
    from pipeline.reproduce.settings import ReproduceSettings
    from pipeline.reproduce.tables import Headline, Table


class Found(NamedTuple):
    """What a run of an experiment came to."""

    result: dict[str, Any]
    """Figures, as JSON has them once `plain` has made them so."""
    drawn: Any = None
    """Arrays that figures show and JSON has not."""


class Figure(NamedTuple):
    """A figure of an experiment."""

    suffix: str
    """End of its file's name, which begins with the name of the result."""
    caption: str
    draw: Callable[[Any, Any, Any], object]
    """Draws on a matplotlib figure, from the result and from `Found.drawn`."""
    is_shown: Callable[[Any], bool] = lambda _: True
    """Whether there is one of this result."""


@dataclass(frozen=True, eq=False)
class Experiment:
    """A published table or figure, made again."""

    name: str
    """As in `reproduce NAME`."""
    where: str
    """In the paper."""
    shows: str
    """A sentence."""
    run: Callable[[ReproduceSettings, ResultCache], Found]
    tables: Callable[[Any], Sequence[Table]]
    headline: Callable[[Any], Headline]
    claims: tuple[Claim, ...]
    figures: tuple[Figure, ...]
    data: Callable[[Any], str] = lambda _: ""
    """What is to be known of the data, where they are not those of the paper; else empty."""
    is_compared: Callable[[Any], bool] = lambda _: True
    """Whether claims on the paper's data can be decided by the data of this result."""
    needs: str = ""
    """Options without which it cannot run, as no data for it come with the software."""
    why: str = ""
    """What it needs them for."""

    def findings(self, result: Any) -> list[Finding]:
        """Return the claims, decided by a result."""
        return decided(self.claims, result)

    def pictures(self, found: Found) -> dict[str, Callable[[Any], object]]:
        """Return what draws each figure, by the name of its files."""
        result, drawn = found

        def of(figure: Figure) -> Callable[[Any], object]:
            return lambda canvas: figure.draw(canvas, result, drawn)

        shown = [figure for figure in self.figures if figure.is_shown(result)]
        return {result["name"] + figure.suffix: of(figure) for figure in shown}


@dataclass(frozen=True)
class Paper:
    """A paper whose figures are reproduced."""

    key: str
    """Of its section in a page."""
    short: str
    citation: str
    url: str
    """Empty if it has no address that stays."""
    claims: tuple[str, ...]
    experiments: tuple[Experiment, ...]
    elsewhere: str = ""
    """Where else its figures are reproduced."""


def data_note(theirs: str, *names: str) -> str:
    """Return what is said of results on other data than `theirs`; empty without names."""
    if names == ("sample",):
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
    found = []
    for row in rows:
        for name in names:
            row = row[name]  # noqa: PLW2901
        found.append(number(row))
    return np.array(found)


def panels(figure: Any, n_panels: int, n_columns: int = 3, **shared: Any) -> Any:
    """Return a grid of axes, those after the first `n_panels` without frames."""
    n_columns = min(n_columns, n_panels)
    grid = figure.subplots(-(-n_panels // n_columns), n_columns, squeeze=False, **shared)
    for axes in grid.flat[n_panels:]:
        axes.set_axis_off()
    return grid
