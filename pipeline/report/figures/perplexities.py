"""A column of perplexities beside a figure whose rows are models or estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.report.sections import ComparisonRow, LikelihoodRow


def write_perplexities(
    axes: Any, rows: Sequence[ComparisonRow | LikelihoodRow], head: float
) -> None:
    """At the right of the axes the perplexity of each row, row n at y = n, with its error.

    Parameters
    ----------
    head
        Points of the column's head above the axes.
    """
    for y, row in enumerate(rows):
        error = row.perplexity_standard_error
        spread = "" if error is None else f" ± {error:,.0f}"
        axes.annotate(
            f"{row.perplexity:,.0f}{spread}",
            (1, y),
            (8, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            va="center",
            fontsize=9,
            annotation_clip=False,
        )
    axes.annotate(
        "perplexity",
        (1, 1),
        (8, head),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=9,
        annotation_clip=False,
    )
