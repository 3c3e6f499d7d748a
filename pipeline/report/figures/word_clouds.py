"""Word clouds of the most prevalent topics."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from matplotlib.font_manager import FontProperties
from matplotlib.ft2font import FT2Font

from pipeline.figures.style import GRID, INK, MUTED, label
from pipeline.figures.text_width import text_width
from pipeline.figures.write import Figure
from pipeline.report.sections import CloudWord, TopicsSection
from pipeline.report.word_clouds import HEIGHT, WIDTH, font_path

MAX_PANELS = 12
COLUMNS = 3
PANEL = 224.0  # Width of a cloud in the figure, points
GAP, TITLE = 12.0, 20.0
MAX_LETTERS = 40
SHRINK = 0.94  # Factor of the font size that keeps neighbours visibly apart
MIDDLE = 0.3465  # Height of the middle between ascent and descent above the baseline, in font sizes
STRONG = 0.5  # Share of the largest font size below which words are paler


def word_clouds(section: TopicsSection) -> Figure | None:
    """Draw the words of the most prevalent topics; more probable words are larger."""
    shown = [
        (row, cloud) for row, cloud in zip(section.topics, section.clouds, strict=False) if cloud
    ][:MAX_PANELS]
    if not shown:
        return None
    row, cloud = shown[0]
    largest = ", ".join(
        label(each.word, 40) for each in sorted(cloud, key=lambda each: -each.size)[:3]
    )
    description = (
        f"Word clouds of the {len(shown)} most prevalent of {len(section.topics):,} topics: the "
        f"larger a word, the more probable it is in the topic. The largest of topic {row.number}, "
        f"which has {row.prevalence:.1%} of the tokens: {largest}."
    )
    return Figure(
        "word-clouds",
        "Word clouds of the most prevalent topics",
        description,
        lambda figure: draw_clouds(
            figure, [(f"Topic {row.number} ({row.prevalence:.1%})", cloud) for row, cloud in shown]
        ),
    )


def draw_clouds(figure: Any, shown: Sequence[tuple[str, tuple[CloudWord, ...]]]) -> None:
    """Draw a panel for each title and its cloud."""
    figure.set_layout_engine("none")
    scale = PANEL / WIDTH
    n_columns = min(COLUMNS, len(shown))
    n_rows = -(-len(shown) // n_columns)
    width = n_columns * (PANEL + GAP) + GAP
    row_height = TITLE + scale * HEIGHT + GAP
    height = n_rows * row_height + GAP
    figure.set_size_inches(width / 72, height / 72)
    for n, (title, cloud) in enumerate(shown):
        line, column = divmod(n, n_columns)
        left = GAP + column * (PANEL + GAP)
        bottom = height - GAP / 2 - (line + 1) * row_height + GAP
        axes = figure.add_axes(
            (left / width, bottom / height, PANEL / width, scale * HEIGHT / height),
            xlim=(0, WIDTH),
            ylim=(HEIGHT, 0),  # from the top down, as words are placed
            xticks=[],
            yticks=[],
        )
        axes.grid(visible=False)
        axes.spines[:].set_visible(True)
        axes.spines[:].set_color(GRID)
        axes.set_title(title, loc="left", fontsize=10, pad=5)
        largest = max(each.size for each in cloud)
        for each in cloud:
            _draw_word(axes, each, scale, largest)


def _draw_word(axes: Any, each: CloudWord, scale: float, largest: float) -> None:
    word = label(each.word, MAX_LETTERS)
    size = SHRINK * scale * each.size
    font: dict[str, Any] = {}
    path = None
    if _letters().issuperset(map(ord, word)):  # else the fonts of plots write the word
        path = font_path()
        font = {"fontproperties": FontProperties(fname=path)}
    width, room = text_width(word, size, path), SHRINK * scale * each.width
    if width > room > 0:
        size *= room / width
    below = MIDDLE * size / scale
    colour = INK if each.size >= STRONG * largest else MUTED
    axes.text(
        each.x + (below if each.is_upright else 0),
        each.y + (0 if each.is_upright else below),
        word,
        **font,
        fontsize=size,
        color=colour,
        ha="center",
        va="baseline",
        rotation=90 if each.is_upright else 0,
        rotation_mode="anchor",
        parse_math=False,
    )


@cache
def _letters() -> frozenset[int]:
    """Return the code points that the font of the layout has."""
    return frozenset(FT2Font(font_path()).get_charmap())
