"""Figures whose rows are models or estimators, with a column of perplexities at the right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.ticker import MaxNLocator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.report.sections import ComparisonRow, LikelihoodRow


def finish_rows(
    axes: Any, rows: Sequence[ComparisonRow | LikelihoodRow], names: Sequence[str], head: float
) -> None:
    """Write the name of row n at y = n, and its perplexity with error at the right of the axes.

    Parameters
    ----------
    head
        Points from the axes up to the head of the column.
    """
    beside = {"textcoords": "offset points", "fontsize": 9, "annotation_clip": False}
    for y, row in enumerate(rows):
        error = row.perplexity_standard_error
        text = f"{row.perplexity:,.0f}" + ("" if error is None else f" ± {error:,.0f}")
        at_row = ("axes fraction", "data")
        axes.annotate(text, (1, y), (8, 0), xycoords=at_row, va="center", **beside)
    axes.annotate("perplexity", (1, 1), (8, head), xycoords="axes fraction", **beside)
    axes.set_yticks(range(len(rows)), names, parse_math=False)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.margins(x=0.08)
    axes.xaxis.set_major_locator(MaxNLocator(7))
    axes.tick_params(axis="y", length=0)
    axes.spines.left.set_visible(False)
