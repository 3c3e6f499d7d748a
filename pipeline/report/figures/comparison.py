"""Paired differences between runs on the same documents."""

from collections.abc import Sequence
from typing import Any

from matplotlib.ticker import MaxNLocator

from pipeline.figures.style import BLUE, INK, MUTED, label
from pipeline.figures.write import Figure
from pipeline.report.sections import ComparisonRow, ComparisonSection, LikelihoodRow


def comparison(section: ComparisonSection) -> Figure | None:
    """Draw nats a word above the best run, with 95 % intervals, a row per run."""
    rows = section.rows
    if not rows:
        return None
    others = "; ".join(
        f"{label(row.model, 60)} is {row.difference:.3f} above" + _interval(row)
        for row in rows
        if row.difference is not None
    )
    description = (
        f"Nats a word of {len(rows)} runs above {_reference(section)} on the same "
        f"{section.documents:,} documents from {section.articles:,} articles, by {section.method}. "
        f"{label(rows[0].model, 60)} has the fewest, {rows[0].nats_per_word:.3f}"
        + (f"; {others}." if others else ".")
    )
    return Figure(
        "comparison",
        "The runs compared on the same documents",
        description,
        lambda figure: _draw(figure, section),
    )


def _reference(section: ComparisonSection) -> str:
    """Return the words for the run from which differences are measured."""
    return "the best" if section.is_comparable else "the first"


def _interval(row: ComparisonRow) -> str:
    if row.low is None or row.high is None:
        return ""
    return f" (95 % interval {row.low:.3f} to {row.high:.3f})"


def _draw(figure: Any, section: ComparisonSection) -> None:
    rows = section.rows
    figure.set_size_inches(10, 1.3 + 0.42 * len(rows))
    axes = figure.subplots()
    axes.axvline(0, color=MUTED, linewidth=1, linestyle="--", marker="")
    for y, row in enumerate(rows):
        is_best = row.difference is None
        value = row.difference or 0.0
        bars = None
        if row.low is not None and row.high is not None:
            bars = [[max(value - row.low, 0.0)], [max(row.high - value, 0.0)]]
        axes.errorbar(
            [value],
            [y],
            xerr=bars,
            color=INK if is_best else BLUE,
            marker="D" if is_best else "o",
            markersize=7,
            elinewidth=2,
            capsize=4,
            capthick=2,
        )
    best = " (best)" if section.is_comparable else ""
    names = [label(row.model, 36) + (best if row.difference is None else "") for row in rows]
    finish_rows(axes, rows, names, 2)
    axes.set_xlabel(
        f"nats a word above {_reference(section)}, with 95 % intervals paired by article"
        + ("" if section.is_comparable else "; vocabularies differ")
    )


def finish_rows(
    axes: Any, rows: Sequence[ComparisonRow | LikelihoodRow], names: Sequence[str], head: float
) -> None:
    """Write the name of row n at y = n, and its perplexity with error at the right of the axes.

    The head of that column is `head` points above the axes.
    """
    beside = {"textcoords": "offset points", "fontsize": 9, "annotation_clip": False}
    for y, row in enumerate(rows):
        error = row.perplexity_standard_error
        text = f"{row.perplexity:,.0f}" + ("" if error is None else f" ± {error:,.0f}")
        at_row = ("axes fraction", "data")
        axes.annotate(text, (1, y), (8, 0), xycoords=at_row, va="center", **beside)
    axes.annotate("perplexity", (1, 1), (8, head), xycoords="axes fraction", **beside)
    name_rows(axes, names, 7)


def name_rows(axes: Any, names: Sequence[str], n_ticks: int) -> None:
    """Write the name of row n at y = n, and at most `n_ticks` values on the axis of x."""
    axes.set_yticks(range(len(names)), names, parse_math=False)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.margins(x=0.08)
    axes.xaxis.set_major_locator(MaxNLocator(n_ticks))
    axes.tick_params(axis="y", length=0)
    axes.spines.left.set_visible(False)
