"""Prevalence of the topics: their shares of the training tokens."""

from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator, PercentFormatter

from pipeline.figures.style import BLUE, GRID, MUTED, SPACE, label
from pipeline.figures.write import Figure
from pipeline.report.sections import TopicsSection

MAX_NAMED = 30  # Largest number of topics with a row and a label each
MAX_BARS = 150  # Largest number of topics drawn as bars; more are drawn as a line
MAX_NUMBERED = 60  # Largest number of bars with their topic's number below them


def prevalence(section: TopicsSection) -> Figure | None:
    """Draw the shares, the largest first."""
    topics = section.topics
    if not topics:
        return None
    shares = np.array([row.prevalence for row in topics])
    draw = _draw_named if len(topics) <= MAX_NAMED else _draw_many
    half = int(np.searchsorted(np.cumsum(shares), 0.5 * float(shares.sum()))) + 1
    first, last = topics[0], topics[-1]
    description = (
        f"Shares of the training tokens, the most prevalent of {len(topics):,} topics first: from "
        f"{first.prevalence:.1%} of topic {first.number} ({label(first.label, 60)}) to "
        f"{last.prevalence:.2%} of topic {last.number}; half of the tokens are in {half:,}."
    )
    return Figure(
        "prevalence", "Prevalence of the topics", description, lambda figure: draw(figure, section)
    )


def _draw_named(figure: Any, section: TopicsSection) -> None:
    topics = section.topics
    figure.set_size_inches(10, 0.9 + 0.27 * len(topics))
    axes = figure.subplots()
    shares = [row.prevalence for row in topics]
    axes.barh(range(len(topics)), shares, height=0.68, color=BLUE)
    for y, share in enumerate(shares):
        axes.annotate(
            f"{share:.1%}", (share, y), (4, 0), textcoords="offset points", va="center", fontsize=9
        )
    names = [f"{label(row.label, 44)}{SPACE}{row.number}" for row in topics]
    axes.set_yticks(range(len(topics)), names, parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(topics) - 0.4, -0.6)
    axes.set_xlim(0, 1.08 * max([*shares, 1e-9]))
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlabel("share of the training tokens")
    axes.spines.left.set_color(GRID)


def _draw_many(figure: Any, section: TopicsSection) -> None:
    figure.set_size_inches(10, 4)
    axes = figure.subplots()
    shares = [row.prevalence for row in section.topics]
    ranks = range(1, len(shares) + 1)
    if len(shares) <= MAX_BARS:
        axes.bar(ranks, shares, width=0.72, color=BLUE)
    else:
        axes.plot(ranks, shares, color=BLUE, marker="", drawstyle="steps-mid")
        axes.fill_between(ranks, shares, color=BLUE, alpha=0.18, linewidth=0, step="mid")
    even = 1 / len(shares)
    axes.axhline(even, color=MUTED, linestyle="--", linewidth=1, marker="")
    axes.annotate(
        "if all shares were equal",
        (len(shares) + 0.5, even),
        (0, 4),
        textcoords="offset points",
        ha="right",
        fontsize=9,
        color=MUTED,
    )
    if len(shares) <= MAX_NUMBERED:
        numbers = [str(row.number) for row in section.topics]
        axes.set_xticks(list(ranks), numbers, fontsize=7, rotation=90 if len(shares) > 40 else 0)
        axes.set_xlabel("number of the topic")
    else:
        axes.set_xlabel("topics, the most prevalent first")
    axes.grid(visible=False, axis="x")
    axes.set_xlim(0.3, len(shares) + 0.7)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_ylabel("share of the training tokens")
