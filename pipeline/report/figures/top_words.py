"""The most relevant words of the most prevalent topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.figures.style import BLUE, MUTED, label
from pipeline.figures.write import Figure

if TYPE_CHECKING:
    from pipeline.report.sections import TopicRow, TopicsSection

MOST_PANELS = 12
COLUMNS = 4
N_WORDS = 10
RELEVANCE = 0.6
"""λ of Sievert & Shirley (2014), who found it to serve readers best."""
LETTERS = 26
PANEL = 2.5, 2.4
LEAST = 6.0
"""Width of the figure; what is written below the panels takes most of it."""
MARGIN, TITLE, NOTE = 0.1, 0.25, 0.25
"""Inches."""


def top_words(section: TopicsSection) -> Figure | None:
    """A panel for each of the most prevalent topics: its words, and how probable they are in it."""
    topics = [row for row in section.topics[:MOST_PANELS] if row.words]
    if not topics:
        return None
    first = topics[0]
    words = ", ".join(label(word, 40) for word, _ in most_relevant(section, first)[:5])
    description = (
        f"The {N_WORDS} most relevant words (λ = {RELEVANCE}) of the {len(topics)} most prevalent "
        f"of {len(section.topics):,} topics, with their probability in the topic. Topic "
        f"{first.number}, the most prevalent: {words}."
    )
    return Figure(
        "top-words",
        "Words of the most prevalent topics",
        description,
        lambda figure: _draw(figure, section, topics),
    )


def most_relevant(section: TopicsSection, row: TopicRow) -> list[tuple[str, float]]:
    """Words and p(word | topic) of a topic by relevance, λ log p(w | k) + (1 − λ) log lift.

    Sievert & Shirley (2014), eq. 1; lift is p(w | k) / p(w).
    """
    probability = np.array(row.probabilities)
    overall = np.array([section.word_share[w] for w in row.words])
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(probability)
        relevance = RELEVANCE * log + (1 - RELEVANCE) * (log - np.log(overall))
    order = np.argsort(-relevance, kind="stable")[:N_WORDS]
    return [(section.words[row.words[i]], float(probability[i])) for i in order]


def _draw(figure: Any, section: TopicsSection, topics: list[TopicRow]) -> None:
    n_columns = min(COLUMNS, len(topics))
    n_rows = -(-len(topics) // n_columns)
    width, height = max(n_columns * PANEL[0], LEAST), n_rows * PANEL[1] + NOTE
    panel = width / n_columns
    figure.set_layout_engine("none")
    figure.set_size_inches(width, height)
    for n, row in enumerate(topics):
        line, column = divmod(n, n_columns)
        axes = figure.add_axes(
            (
                (column * panel + MARGIN) / width,
                1 - ((line + 1) * PANEL[1] - MARGIN) / height,
                (panel - 2 * MARGIN) / width,
                (PANEL[1] - 2 * MARGIN - TITLE) / height,
            )
        )
        _draw_panel(axes, row, most_relevant(section, row))
    figure.text(
        MARGIN / width,
        0.4 * NOTE / height,
        f"Words by relevance, λ = {RELEVANCE}; bars: probability of the word in the topic",
        fontsize=9,
        color=MUTED,
        va="center",
    )


def _draw_panel(axes: Any, row: TopicRow, words: list[tuple[str, float]]) -> None:
    largest = max([p for _, p in words] + [1e-12])
    axes.barh(range(len(words)), [p for _, p in words], height=0.82, color=BLUE, alpha=0.3)
    for y, (word, probability) in enumerate(words):
        axes.annotate(
            label(word, LETTERS),
            (0, y),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
            parse_math=False,
        )
        # Where the word would be written over it, the number stands at the panel's right.
        axes.annotate(
            f"{probability:.1%}" if largest >= 0.01 else f"{probability:.2%}",
            (1, y),
            (-2, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            va="center",
            ha="right",
            fontsize=7.5,
            color=MUTED,
        )
    axes.set_title(f"Topic {row.number} ({row.prevalence:.1%})", fontsize=10, loc="left")
    axes.set(xlim=(0, 1.3 * largest), ylim=(N_WORDS - 0.5, -0.5), xticks=[], yticks=[])
    axes.grid(visible=False)
    axes.spines.bottom.set_visible(False)
