"""What each estimator says of the test documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from pipeline.picture_style import BLUE, GREEN, INK, ORANGE, PURPLE, SKY, VERMILION, label
from pipeline.pictures import Figure

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
        + f" ({row.direction}; perplexity {row.perplexity:,.0f})"
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


def _groups(section: LikelihoodSection) -> dict[str, list[LikelihoodRow]]:
    """Rows by what they score; what most of them score comes first."""
    groups: dict[str, list[LikelihoodRow]] = {}
    for row in section.rows:
        groups.setdefault(row.scored, []).append(row)
    return dict(sorted(groups.items(), key=lambda item: -len(item[1])))


def _draw(figure: Any, section: LikelihoodSection) -> None:
    groups = _groups(section)
    directions = list(dict.fromkeys(row.direction for row in section.rows))
    n_keys = len(directions) + 1 + any(row.monte_carlo_standard_error for row in section.rows)
    heights = [0.8 + ROW * len(rows) for rows in groups.values()]
    figure.set_size_inches(10, sum(heights) + 0.35 + 0.21 * -(-n_keys // 2))
    panels = figure.subplots(len(groups), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axes, (scored, rows) in zip(panels, groups.items(), strict=True):
        _draw_rows(axes, rows)
        axes.set_title(label(scored, 90), loc="left", fontsize=10, parse_math=False)
    panels[-1].set_xlabel("nats a word, −log p: fewer are better")
    figure.legend(
        handles=_keys(section, directions), loc="outside lower left", ncols=2, frameon=False
    )


def _draw_rows(axes: Any, rows: list[LikelihoodRow]) -> None:
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
            elinewidth=1.2,
            ecolor=INK,
            capsize=3,
        )
        axes.annotate(
            f"{row.perplexity:,.0f}"
            + (
                ""
                if row.perplexity_standard_error is None
                else f" ± {row.perplexity_standard_error:,.0f}"
            ),
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
        (8, 6),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=9,
        annotation_clip=False,
    )
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
        keys.append(
            Line2D(
                [],
                [],
                color=colour,
                marker=marker,
                markersize=7,
                linestyle="",
                label=meaning or direction,
            )
        )
    wide: dict[str, Any] = {"color": INK, "alpha": 0.4, "linewidth": 5, "solid_capstyle": "butt"}
    keys.append(Line2D([], [], label="± 2 standard errors over articles", **wide))
    if any(row.monte_carlo_standard_error for row in section.rows):
        keys.append(
            Line2D([], [], color=INK, linewidth=1.2, label="± 2 Monte Carlo standard errors")
        )
    return keys
