"""Matched topics of two models, side by side."""

from collections.abc import Mapping
from typing import Any

from pipeline.figures.style import BLUE, INK, MUTED, PAPER, label
from pipeline.figures.text_width import text_width
from pipeline.figures.write import Figure
from pipeline.report.sections import AlignedTopics, Alignment

MAX_PAIRS = 25
MAX_LETTERS = 34
LEFT, RIGHT = 0.40, 0.60  # Ends of the lines between topics, in widths of the figure
ROW = 0.27  # Inches per pair
NEAR, FAR = 0.2, 0.9  # Distances with the strongest and the faintest lines
FONT_SIZE = 9.0
BESIDE, GAP = 8.0, 7.0
"""Points between a line and its text, and between a topic's number and its label."""


def alignment(
    section: Alignment,
    number: int = 0,
    first_labels: Mapping[int, str] | None = None,
    second_labels: Mapping[int, str] | None = None,
) -> Figure | None:
    """Draw a line per pair, the closest first; closer topics have stronger lines.

    The figure's name is `alignment-NUMBER`. Labels of topics are given by their numbers.
    """
    matched = [pair for pair in section.pairs if pair.distance is not None]
    if not section.pairs:
        return None
    first, second = label(section.first, 40), label(section.second, 40)
    description = (
        f"Topics of {first} and {second}, matched one to one: {len(matched):,} pairs with a "
        f"Jensen-Shannon distance of {section.mean_distance:.2f} on average."
    )
    if matched and matched[0].second is not None:
        closest = matched[0]
        words = ", ".join(label(word, 24) for word in closest.shared_words[:4])
        description += (
            f" The closest are topic {closest.first} and topic {closest.second}, at "
            f"{closest.distance:.2f}; both have {words or 'no top word'}."
        )
    if len(section.pairs) > MAX_PAIRS:
        description += f" Of {len(section.pairs):,} pairs the first {MAX_PAIRS} are drawn."
    labels = first_labels or {}, second_labels or {}
    return Figure(
        f"alignment-{number}",
        f"Topics of {first} and {second} side by side",
        description,
        lambda figure: _draw(figure, section, labels),
    )


def _draw(
    figure: Any, section: Alignment, labels: tuple[Mapping[int, str], Mapping[int, str]]
) -> None:
    pairs = section.pairs[:MAX_PAIRS]
    height = 0.75 + ROW * len(pairs)
    left_out = len(section.pairs) - len(pairs)
    figure.set_layout_engine("none")
    figure.set_size_inches(10, height)
    bottom = 0.35 / height
    axes = figure.add_axes((0.01, bottom, 0.98, (height - 0.75) / height))
    axes.set(xlim=(0, 1), ylim=(len(pairs) - 0.5, -0.5))
    axes.set_axis_off()
    for x, name, side in ((LEFT, section.first, "right"), (RIGHT, section.second, "left")):
        axes.annotate(
            label(name, 40),
            (x, 1),
            (-8 if side == "right" else 8, 6),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha=side,
            fontweight="bold",
            parse_math=False,
        )
    shown = [topic for pair in pairs for topic in (pair.first, pair.second) if topic is not None]
    widest = max((text_width(f"{topic}", FONT_SIZE) for topic in shown), default=0.0)
    for y, pair in enumerate(pairs):
        for at_left, topic in ((True, pair.first), (False, pair.second)):
            _draw_topic(axes, y, topic, labels[0 if at_left else 1], widest, at_left=at_left)
        _draw_line(axes, y, pair)
    note = "Jensen-Shannon distance, from 0 (equal) to 1 (no word in common)"
    if left_out:
        note += f"; {left_out:,} more are not drawn"
    figure.text(0.5, 0.12 / height, note, ha="center", va="center", fontsize=9, color=MUTED)


def _draw_topic(
    axes: Any, y: int, topic: int | None, names: Mapping[int, str], widest: float, *, at_left: bool
) -> None:
    """Write number and label beside the line, aligned by `widest`, the longest number's width."""
    x, outwards, side = (LEFT, -1, "right") if at_left else (RIGHT, 1, "left")
    said = [("no partner" if topic is None else f"topic {topic}", BESIDE, side)]
    if topic is not None and topic in names:
        to_number = BESIDE if at_left else BESIDE + widest
        said = [
            (f"{topic}", to_number, "right"),
            (label(names[topic], MAX_LETTERS), BESIDE + widest + GAP, side),
        ]
    for text, away, aligned in said:
        axes.annotate(
            text,
            (x, y),
            (outwards * away, 0),
            textcoords="offset points",
            ha=aligned,
            va="center",
            fontsize=FONT_SIZE,
            color=MUTED if topic is None else INK,
            parse_math=False,
        )


def _draw_line(axes: Any, y: int, pair: AlignedTopics) -> None:
    if pair.distance is None:
        axes.plot([LEFT, RIGHT], [y, y], color=MUTED, linestyle=":", linewidth=0.8, marker="")
        return
    closeness = min(max((FAR - pair.distance) / (FAR - NEAR), 0.0), 1.0)
    axes.plot(
        [LEFT, RIGHT],
        [y, y],
        color=BLUE,
        alpha=0.25 + 0.75 * closeness,
        linewidth=0.8 + 5 * closeness,
        marker="",
        solid_capstyle="round",
    )
    axes.text(
        (LEFT + RIGHT) / 2,
        y,
        f"{pair.distance:.2f}",
        ha="center",
        va="center_baseline",
        fontsize=9,
        bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 1.5},
    )
