"""Map of the topics: their distances from each other and their prevalences."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.patches import Circle
from matplotlib.text import Text

from evaluation.arrays import Floats
from pipeline.figures.style import GRID, INK, MUTED, label
from pipeline.figures.write import Figure
from pipeline.report.figures.map_labels import MapLabels
from pipeline.report.sections import TopicRow, TopicsSection

MARGIN = 14.0  # Points
MAX_RADIUS = 0.064  # Largest radius of a circle, in widths of the figure
MAX_COVERED = 0.22  # Largest share of the map that the circles cover, overlaps counted twice
MIN_RADIUS = 2.5  # Points
ROUND = (1, 2, 5)  # Shares of the legend are these times powers of ten
MAX_NAMES = 25
MAX_LETTERS = 26  # Letters of a name, which has as many words of the label as fit


@dataclass(frozen=True)
class _Paper:
    """Sizes of a drawing in points."""

    width: float
    height: float
    legend: float  # Width of the legend, at the right: room for the largest circle and "100%"
    text: float  # Font size of the legend and of the note below
    numbers: tuple[float, float]  # Smallest and largest font size of numbers
    names: float  # Font size of the names of topics; 0 for no names


FILE = _Paper(720, 450, 128, 9, (6, 11), 7.5)
PAGE = _Paper(500, 350, 106, 10.5, (7.5, 11), 0)
"""The page shows the map some 550 pixels wide, and the name of the circle under the pointer."""


def topic_map(section: TopicsSection) -> Figure | None:
    """Draw a circle per topic, its area proportional to its prevalence, numbered if it fits."""
    topics = section.topics
    if not topics:
        return None
    first = topics[0]
    together = sum(row.prevalence for row in topics[:3])
    description = (
        f"A circle for each of {len(topics):,} {'topic' if len(topics) == 1 else 'topics'}: the "
        "nearer two are, the more alike their words; areas are shares of the training tokens. The "
        f"plane shows {section.map_share:.0%} of the squared distances. The most prevalent is topic"
        f" {first.number} ({label(first.label, 60)}) with {first.prevalence:.1%} of the tokens"
        + (f"; the first three have {together:.1%}." if len(topics) > 3 else ".")
    )
    names = {
        f"topic-{row.number}": f"Topic {row.number}: {label(row.label, 80)}, {row.prevalence:.1%}"
        for row in topics
    }
    return Figure(
        "topic-map",
        "Map of the topics",
        description,
        lambda figure: _draw(figure, section, FILE),
        names,
        lambda figure: _draw(figure, section, PAGE),
    )


def _draw(figure: Any, section: TopicsSection, paper: _Paper) -> None:
    figure.set_layout_engine("none")
    figure.set_size_inches(paper.width / 72, paper.height / 72)
    axes = figure.add_axes(
        (0, 0, 1, 1), xlim=(0, paper.width), ylim=(0, paper.height), aspect="equal"
    )
    axes.set_axis_off()  # a unit is a point
    left, right = MARGIN, paper.width - paper.legend - MARGIN
    room = left, right, MARGIN + 16, paper.height - MARGIN
    shares = np.array([row.prevalence for row in section.topics])
    radius = _radii(shares, (right - left) * (room[3] - room[2]), MAX_RADIUS * paper.width)
    places = np.array([row.place for row in section.topics], dtype=np.float64)
    where = _placed(places, radius, room)
    x, y = where.mean(axis=0)  # a cross through the middle of the topics
    axes.plot(room[:2], [y, y], color=GRID, linewidth=0.8, marker="", zorder=0.5)
    axes.plot([x, x], room[2:], color=GRID, linewidth=0.8, marker="", zorder=0.5)
    _draw_topics(axes, section, MapLabels(where, radius, room, paper.numbers), where, radius, paper)
    _draw_legend(axes, float(shares.max()), float(radius.max()), right + MARGIN, paper)
    axes.text(
        left,
        MARGIN,
        f"Distances between topics, as far as a plane shows them: {section.map_share:.0%} of their "
        "squares",
        fontsize=paper.text,
        color=MUTED,
        va="center",
    )


def _draw_topics(
    axes: Any,
    section: TopicsSection,
    labels: MapLabels,
    where: Floats,
    radius: Floats,
    paper: _Paper,
) -> None:
    """Draw circles, numbers and names, the largest circles first, so that small ones are on top."""
    topics = section.topics
    order = [int(k) for k in np.argsort(-radius, kind="stable")]
    named = order[:MAX_NAMES] if paper.names else []
    numbers = {k: labels.inside(k, str(topics[k].number)) for k in order}
    names = {k: labels.named(k, _name(topics[k]), paper.names) for k in named}
    for k in order:
        number, name = numbers[k], names.get(k)
        if number is None and name is None:
            number = labels.beside(k, str(topics[k].number))
        text = None
        if number is not None:
            text = Text(number.x, number.y, number.text, fontsize=number.size, color=INK)
            text.set(ha="center", va="center_baseline")
        axes.add_artist(_Mark(axes, where[k], radius[k], f"topic-{topics[k].number}", text))
        if name is None:
            continue
        if name.line is not None:
            ends = zip(*name.line, strict=True)
            axes.plot(*ends, color=MUTED, linewidth=0.5, marker="", zorder=2.5)
        axes.text(
            *(name.x, name.y, name.text),
            fontsize=name.size,
            ha="center",
            va="center_baseline",
            zorder=3,
            parse_math=False,
        )


def _name(row: TopicRow) -> str:
    """Return the number and as many words of the label as fit."""
    words = row.label.split(", ")
    fitting = [", ".join(words[:n]) for n in range(len(words), 0, -1)]
    text = next((each for each in fitting if len(each) <= MAX_LETTERS), fitting[-1])
    return f"{row.number} {label(text, MAX_LETTERS)}"


def _radii(shares: Floats, area: float, largest: float) -> Floats:
    """Return radii with areas proportional to `shares`, within all limits."""
    roots = np.sqrt(np.maximum(shares, 0) / max(float(shares.max()), 1e-12))
    most = float(np.sqrt(MAX_COVERED * area / (np.pi * max(float((roots**2).sum()), 1e-12))))
    return np.maximum(min(largest, most) * roots, MIN_RADIUS)


def _placed(places: Floats, radius: Floats, room: tuple[float, float, float, float]) -> Floats:
    """Scale places to points, equally in both directions, so that all circles are in `room`."""
    low, high = places.min(axis=0), places.max(axis=0)
    left, right, bottom, top = room
    size = np.array([right - left, top - bottom]) - 2 * float(radius.max())
    scale = float(np.min(size / np.maximum(high - low, 1e-9)))
    if scale > 1e8:  # all at one place
        scale = 0.0
    middle = np.array([(left + right) / 2, (bottom + top) / 2])
    placed: Floats = middle + scale * (places - (low + high) / 2)
    return placed


class _Mark(Circle):
    """A circle and its number as one group of the SVG."""

    def __init__(
        self, axes: Any, where: Floats, radius: float, gid: str, number: Text | None
    ) -> None:
        super().__init__(tuple(where), radius, facecolor=_faded(MUTED), edgecolor=MUTED)
        self.set_linewidth(0.9)
        self.set_zorder(2)
        self._group, self._number = gid, number
        if number is not None:
            number.set_figure(axes.figure)
            number.axes = axes
            number.set_transform(axes.transData)

    def draw(self, renderer: Any) -> None:
        renderer.open_group("topic", gid=self._group)
        super().draw(renderer)
        if self._number is not None:
            self._number.draw(renderer)
        renderer.close_group("topic")


def _faded(colour: str) -> tuple[str, float]:
    return colour, 0.22


def _draw_legend(axes: Any, most: float, radius: float, left: float, paper: _Paper) -> None:
    y = paper.height - MARGIN
    axes.text(left, y, "share of\nthe tokens", fontsize=paper.text, color=MUTED, va="top")
    y -= 3.3 * paper.text
    sizes = {share: radius * float(np.sqrt(share / most)) for share in _round_shares(most)}
    sizes = {share: size for share, size in sizes.items() if size >= MIN_RADIUS}
    widest = max(sizes.values(), default=0.0)
    for share, size in sizes.items():
        y -= max(size, 0.6 * paper.text) + 6
        circle = Circle((left + widest, y), size, facecolor=_faded(MUTED), edgecolor=MUTED)
        circle.set_linewidth(0.9)
        axes.add_artist(circle)
        text = f"{100 * share:.1g}%" if share < 0.1 else f"{share:.0%}"
        x = left + 2 * widest + 6
        axes.text(x, y, text, fontsize=paper.text, va="center_baseline")
        y -= max(size, 0.6 * paper.text)


def _round_shares(most: float) -> list[float]:
    """Return the largest of 1, 2 or 5 times 10ⁿ up to `most`, and every second smaller one."""
    if most <= 0:
        return []
    exponent = int(np.floor(np.log10(most)))
    ladder = [n * 10.0**e for e in range(exponent - 3, exponent + 1) for n in ROUND]
    upwards = [share for share in ladder if share <= most * (1 + 1e-9)]
    return upwards[::-2][:3]
