"""What each estimator says of the test documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from pipeline.figures.style import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    PAPER,
    PURPLE,
    SKY,
    VERMILION,
    label,
)
from pipeline.figures.write import Figure
from pipeline.report.figures.perplexities import write_perplexities

if TYPE_CHECKING:
    from evaluation.estimate import Direction
    from pipeline.report.sections import LikelihoodRow, LikelihoodSection

LOOKS: dict[Direction, tuple[str, str, str]] = {
    "exact": (INK, "D", "exact: nothing is estimated"),
    "unbiased": (BLUE, "o", "unbiased: the truth is here, as nearly as samples tell"),
    "lower bound": (VERMILION, "<", "lower bound of log p: the truth is further left"),
    "upward biased": (PURPLE, ">", "too high a log p: the truth is further right"),
    "biased": (ORANGE, "X", "biased: off by an unknown amount with few samples"),
    "plug-in": (GREEN, "s", "plug-in: neither a bound nor unbiased"),
}
"""Colour, mark and meaning of each direction. A triangle points to where the truth is."""
OTHER = (SKY, "*", "")
UNSURE = 0.5
"""Share of documents: estimates with more that are hardly sampled are hollow."""
HOLLOW = "hollow: hardly sampled, most likely too far right"
UNTRUE = {"unbiased": "unbiased, but of too few samples"}
"""What is said instead of directions all estimates of which are hollow."""
ROW = 0.42
"""Inches of an estimator."""


def likelihoods(section: LikelihoodSection) -> Figure | None:
    """A line an estimator: nats a word, with errors over articles and of Monte Carlo."""
    if not section.rows:
        return None
    said = "; ".join(
        f"{row.method} {row.nats_per_word:.3f}"
        + (
            ""
            if row.nats_per_word_standard_error is None
            else f" ± {row.nats_per_word_standard_error:.3f}"
        )
        + f" ({row.direction}; perplexity {row.perplexity:,.0f}"
        + ("; hardly sampled)" if _is_unsure(row, section) else ")")
        for row in section.rows
    )
    description = (
        f"Nats a word of {section.documents:,} held-out documents of {section.articles:,} articles "
        f"by {len(section.rows)} {'estimator' if len(section.rows) == 1 else 'estimators'}, fewer "
        f"are better: {said}."
    )
    return Figure(
        "likelihoods",
        "Held-out likelihood by estimator",
        description,
        lambda figure: _draw(figure, section),
    )


def _is_unsure(row: LikelihoodRow, section: LikelihoodSection) -> bool:
    """Whether too many documents are hardly sampled for an estimate to be taken for the truth.

    What is biased upwards is off to the other side whatever its samples, which its mark says.
    """
    is_rare = row.unsure_documents > UNSURE * section.documents
    return is_rare and row.direction != "upward biased"


def _groups(section: LikelihoodSection) -> dict[str, list[LikelihoodRow]]:
    """Rows by what they score; what most of them score comes first."""
    groups: dict[str, list[LikelihoodRow]] = {}
    for row in section.rows:
        groups.setdefault(row.scored, []).append(row)
    return dict(sorted(groups.items(), key=lambda item: -len(item[1])))


def _draw(figure: Any, section: LikelihoodSection) -> None:
    groups = _groups(section)
    directions = list(dict.fromkeys(row.direction for row in section.rows))
    keys = _keys(section, directions)
    heights = [0.8 + ROW * len(rows) for rows in groups.values()]
    figure.set_size_inches(10, sum(heights) + 0.35 + 0.21 * -(-len(keys) // 2))
    # On one axis, so that what lies further left is less likely nowhere, whatever is scored.
    panels = figure.subplots(
        len(groups), 1, sharex=True, squeeze=False, height_ratios=heights, gridspec_kw={"hspace": 0}
    )[:, 0]
    for axes, (scored, rows) in zip(panels, groups.items(), strict=True):
        _draw_rows(axes, rows, section)
        axes.set_title(label(scored, 90), loc="left", fontsize=10, parse_math=False)
    for axes in panels[:-1]:
        axes.spines.bottom.set_visible(False)
        axes.tick_params(axis="x", length=0)
    panels[-1].set_xlabel("nats a word, −log p: fewer are better")
    figure.legend(handles=keys, loc="outside lower left", ncols=2, frameon=False)


def _draw_rows(axes: Any, rows: list[LikelihoodRow], section: LikelihoodSection) -> None:
    for y, row in enumerate(rows):
        colour, marker, _ = LOOKS.get(row.direction, OTHER)
        over_articles, monte_carlo = (
            row.nats_per_word_standard_error,
            row.monte_carlo_standard_error,
        )
        if over_articles:
            ends = [row.nats_per_word - 2 * over_articles, row.nats_per_word + 2 * over_articles]
            axes.plot(
                ends, [y, y], color=colour, linewidth=5, alpha=0.4, marker="", solid_capstyle="butt"
            )
        axes.errorbar(
            [row.nats_per_word],
            [y],
            xerr=[2 * monte_carlo] if monte_carlo else None,
            color=colour,
            marker=marker,
            markersize=7,
            markeredgecolor=colour,
            markerfacecolor=PAPER if _is_unsure(row, section) else colour,
            markeredgewidth=1.4,
            elinewidth=1.2,
            ecolor=INK,
            capsize=3,
        )
    write_perplexities(axes, rows, 6)
    axes.set_yticks(range(len(rows)), [label(row.method, 32) for row in rows], parse_math=False)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.margins(x=0.08)
    axes.xaxis.set_major_locator(MaxNLocator(7))
    axes.tick_params(axis="y", length=0)
    axes.spines.left.set_visible(False)


def _keys(section: LikelihoodSection, directions: list[Direction]) -> list[Line2D]:
    keys = []
    for direction in directions:
        colour, marker, meaning = LOOKS.get(direction, OTHER)
        hollow = {_is_unsure(row, section) for row in section.rows if row.direction == direction}
        if hollow == {True}:
            meaning = UNTRUE.get(direction, meaning)
        elif True in hollow:
            meaning = meaning.replace(":", ", filled:", 1)
        keys.append(
            Line2D(
                [],
                [],
                color=colour,
                marker=marker,
                markersize=7,
                markeredgewidth=1.4,
                markerfacecolor=PAPER if hollow == {True} else colour,
                linestyle="",
                label=meaning or direction,
            )
        )
    if any(_is_unsure(row, section) for row in section.rows):
        of_any: dict[str, Any] = {"markerfacecolor": PAPER, "markeredgewidth": 1.4, "marker": "o"}
        keys.append(Line2D([], [], color=INK, linestyle="", markersize=7, label=HOLLOW, **of_any))
    wide: dict[str, Any] = {"color": INK, "alpha": 0.4, "linewidth": 5, "solid_capstyle": "butt"}
    keys.append(Line2D([], [], label="± 2 standard errors over articles", **wide))
    if any(row.monte_carlo_standard_error for row in section.rows):
        keys.append(
            Line2D([], [], color=INK, linewidth=1.2, label="± 2 Monte Carlo standard errors")
        )
    return keys
