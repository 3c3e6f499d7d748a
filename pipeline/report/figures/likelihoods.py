"""Likelihood of the test documents by estimator."""

from typing import Any

from matplotlib.lines import Line2D

from evaluation.estimate import Direction
from pipeline.figures.style import BLUE, GREEN, INK, ORANGE, PAPER, PURPLE, SKY, VERMILION, label
from pipeline.figures.write import Figure
from pipeline.report.figures.comparison import finish_rows
from pipeline.report.sections import LikelihoodRow, LikelihoodSection

STYLES: dict[Direction, tuple[str, str, str]] = {
    "exact": (INK, "D", "exact: nothing is estimated"),
    "unbiased": (BLUE, "o", "unbiased: the true value, up to sampling error"),
    "lower bound": (VERMILION, "<", "lower bound of log p: the true value is further left"),
    "upward biased": (PURPLE, ">", "log p too high: the true value is further right"),
    "biased": (ORANGE, "X", "biased: off by an unknown amount with few samples"),
    "plug-in": (GREEN, "s", "plug-in: neither a bound nor unbiased"),
}
"""Colour, mark and meaning of each direction. A triangle points towards the true value."""
OTHER = (SKY, "*", "")
MAX_LOW_ESS = 0.5
"""Share of documents with few effective samples above which an estimate is drawn hollow."""
HOLLOW = "hollow: too few effective samples, probably too far right"
ALL_HOLLOW = {"unbiased": "unbiased, but with too few samples"}
"""Meaning of a direction whose estimates are all hollow."""
ROW = 0.42  # Inches per estimator


def likelihoods(section: LikelihoodSection) -> Figure | None:
    """Draw nats a word, a row per estimator, with errors over articles and of Monte Carlo."""
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
        + ("; few effective samples)" if _has_low_ess(row, section) else ")")
        for row in section.rows
    )
    description = (
        f"Nats a word of {section.documents:,} held-out documents from {section.articles:,} "
        f"articles by {len(section.rows)} "
        f"{'estimator' if len(section.rows) == 1 else 'estimators'}; fewer are better: {said}."
    )
    return Figure(
        "likelihoods",
        "Held-out likelihood by estimator",
        description,
        lambda figure: _draw(figure, section),
    )


def _has_low_ess(row: LikelihoodRow, section: LikelihoodSection) -> bool:
    """Whether too many documents have too few effective samples to trust an estimate.

    Estimates that are biased upwards are too far left with any number of samples: their mark says
    so.
    """
    is_low = row.low_ess_documents > MAX_LOW_ESS * section.documents
    return is_low and row.direction != "upward biased"


def _draw(figure: Any, section: LikelihoodSection) -> None:
    groups: dict[str, list[LikelihoodRow]] = {}  # by the text that they score, the largest first
    for row in section.rows:
        groups.setdefault(row.scored, []).append(row)
    groups = dict(sorted(groups.items(), key=lambda item: -len(item[1])))
    directions = list(dict.fromkeys(row.direction for row in section.rows))
    keys = _keys(section, directions)
    heights = [0.8 + ROW * len(rows) for rows in groups.values()]
    figure.set_size_inches(10, sum(heights) + 0.35 + 0.21 * -(-len(keys) // 2))
    # All panels share one axis, so that positions compare between panels.
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
        colour, marker, _ = STYLES.get(row.direction, OTHER)
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
            markerfacecolor=PAPER if _has_low_ess(row, section) else colour,
            markeredgewidth=1.4,
            elinewidth=1.2,
            ecolor=INK,
            capsize=3,
        )
    finish_rows(axes, rows, [label(row.method, 32) for row in rows], 6)


def _keys(section: LikelihoodSection, directions: list[Direction]) -> list[Line2D]:
    mark: dict[str, Any] = {"linestyle": "", "markersize": 7, "markeredgewidth": 1.4}
    style: dict[str, Any]
    keys = []
    for direction in directions:
        colour, marker, meaning = STYLES.get(direction, OTHER)
        hollow = {_has_low_ess(row, section) for row in section.rows if row.direction == direction}
        if hollow == {True}:
            meaning = ALL_HOLLOW.get(direction, meaning)
        elif True in hollow:
            meaning = meaning.replace(":", ", filled:", 1)
        face = PAPER if hollow == {True} else colour
        style = {"color": colour, "marker": marker, "markerfacecolor": face}
        keys.append(Line2D([], [], label=meaning or direction, **mark, **style))
    if any(_has_low_ess(row, section) for row in section.rows):
        style = {"color": INK, "marker": "o", "markerfacecolor": PAPER}
        keys.append(Line2D([], [], label=HOLLOW, **mark, **style))
    wide: dict[str, Any] = {"color": INK, "alpha": 0.4, "linewidth": 5, "solid_capstyle": "butt"}
    keys.append(Line2D([], [], label="± 2 standard errors over articles", **wide))
    if any(row.monte_carlo_standard_error for row in section.rows):
        keys.append(
            Line2D([], [], color=INK, linewidth=1.2, label="± 2 Monte Carlo standard errors")
        )
    return keys
