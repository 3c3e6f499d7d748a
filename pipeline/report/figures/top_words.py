"""Most relevant words of the most prevalent topics."""

from typing import Any

import numpy as np

from evaluation import relevance
from pipeline.figures.style import BLUE, MUTED, label
from pipeline.figures.write import Figure
from pipeline.report.sections import TopicRow, TopicsSection

MAX_PANELS = 12
COLUMNS = 4
N_WORDS = 10
WEIGHT = 0.6  # λ of Sievert & Shirley (2014), at which readers recognised topics best
MAX_LETTERS = 26
PANEL = 2.5, 2.4  # Width and height in inches, as all lengths here
MIN_WIDTH = 6.0  # Smallest width of the figure, for the note below the panels
MARGIN, TITLE, NOTE = 0.1, 0.25, 0.25


def top_words(section: TopicsSection) -> Figure | None:
    """Draw a panel for each of the most prevalent topics: words and their probabilities."""
    topics = [row for row in section.topics[:MAX_PANELS] if row.words]
    if not topics:
        return None
    first = topics[0]
    words = ", ".join(label(word, 40) for word, _ in most_relevant(section, first)[:5])
    description = (
        f"The {N_WORDS} most relevant words (λ = {WEIGHT}) of the {len(topics)} most prevalent "
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
    """Return words and p(word | topic) of a topic, the most relevant first."""
    probability = np.array(row.probabilities)
    overall = np.array([section.word_share[w] for w in row.words])
    order = np.argsort(-relevance(probability, overall, WEIGHT), kind="stable")[:N_WORDS]
    return [(section.words[row.words[i]], float(probability[i])) for i in order]


def _draw(figure: Any, section: TopicsSection, topics: list[TopicRow]) -> None:
    n_columns = min(COLUMNS, len(topics))
    n_rows = -(-len(topics) // n_columns)
    width, height = max(n_columns * PANEL[0], MIN_WIDTH), n_rows * PANEL[1] + NOTE
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
        f"Words by relevance, λ = {WEIGHT}; bars: probability of the word in the topic",
        fontsize=9,
        color=MUTED,
        va="center",
    )


def _draw_panel(axes: Any, row: TopicRow, words: list[tuple[str, float]]) -> None:
    largest = max([p for _, p in words] + [1e-12])
    axes.barh(range(len(words)), [p for _, p in words], height=0.82, color=BLUE, alpha=0.3)
    centred: dict[str, Any] = {"textcoords": "offset points", "va": "center"}
    at_right: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "ha": "right"}
    for y, (word, probability) in enumerate(words):
        axes.annotate(
            label(word, MAX_LETTERS), (0, y), (4, 0), fontsize=9, parse_math=False, **centred
        )
        number = f"{probability:.1%}" if largest >= 0.01 else f"{probability:.2%}"
        axes.annotate(number, (1, y), (-2, 0), fontsize=7.5, color=MUTED, **centred, **at_right)
    axes.set_title(f"Topic {row.number} ({row.prevalence:.1%})", fontsize=10, loc="left")
    axes.set(xlim=(0, 1.3 * largest), ylim=(N_WORDS - 0.5, -0.5), xticks=[], yticks=[])
    axes.grid(visible=False)
    axes.spines.bottom.set_visible(False)
