"""The map of topics: how far from each other they are, and how much of the text they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import Circle
from matplotlib.text import Text

from pipeline.picture_style import GRID, INK, MUTED, label
from pipeline.pictures import Figure
from pipeline.report.figures.text_width import text_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pipeline.report.sections import TopicsSection

WIDTH, HEIGHT = 720.0, 450.0
"""Points."""
LEGEND = 116.0
"""Width of the legend, at the right."""
MARGIN = 14.0
LARGEST = 46.0
"""Radius of the largest circle if there are few."""
COVERED = 0.22
"""Share of the map that all circles together may cover, overlaps counted twice."""
SMALLEST = 2.5
NUMBERS = 6.0, 11.0
"""The smallest and the largest font of numbers."""


def topic_map(section: TopicsSection) -> Figure | None:
    """Circles at the topics' places, areas as prevalences, numbers where there is room."""
    topics = section.topics
    if not topics:
        return None
    first = topics[0]
    together = sum(row.prevalence for row in topics[:3])
    description = (
        f"A circle for each of {_counted(len(topics), 'topic')}: the nearer two are, the more "
        f"alike their words; areas are shares of the training tokens. The plane shows "
        f"{section.map_share:.0%} of the squared distances. The most prevalent is topic "
        f"{first.number} ({label(first.label, 60)}) with {first.prevalence:.1%} of the tokens"
        + (f"; the first three have {together:.1%}." if len(topics) > 3 else ".")
    )
    names = {
        f"topic-{row.number}": f"Topic {row.number}: {label(row.label, 80)}, {row.prevalence:.1%}"
        for row in topics
    }
    return Figure(
        "topic-map", "Map of the topics", description, lambda figure: _draw(figure, section), names
    )


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def _draw(figure: Any, section: TopicsSection) -> None:
    figure.set_layout_engine("none")
    figure.set_size_inches(WIDTH / 72, HEIGHT / 72)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(0, HEIGHT), aspect="equal")
    axes.set_axis_off()  # a unit is a point
    left, right, bottom, top = MARGIN, WIDTH - LEGEND - MARGIN, MARGIN + 16, HEIGHT - MARGIN
    shares = np.array([row.prevalence for row in section.topics])
    radius = _radii(shares, (right - left) * (top - bottom))
    where = _placed(
        np.array([row.place for row in section.topics], dtype=np.float64),
        radius,
        (left, right, bottom, top),
    )
    _draw_cross(axes, where, (left, right, bottom, top))
    numbers = _Numbers(where, radius, (left, right, bottom, top))
    for k in np.argsort(-radius, kind="stable"):  # small ones lie on large ones
        text = numbers.text(int(k), str(section.topics[k].number))
        axes.add_artist(_Mark(axes, where[k], radius[k], f"topic-{section.topics[k].number}", text))
    _draw_legend(axes, float(shares.max()), float(radius.max()), right + MARGIN, top)
    axes.text(
        left,
        MARGIN,
        f"Distances between topics, as far as a plane shows them: {section.map_share:.0%} of their "
        "squares",
        fontsize=9,
        color=MUTED,
        va="center",
    )


def _radii(shares: NDArray[np.float64], area: float) -> NDArray[np.float64]:
    """Circles with areas as `shares`, none too large, and not all of the map covered."""
    roots = np.sqrt(np.maximum(shares, 0) / max(float(shares.max()), 1e-12))
    most = float(np.sqrt(COVERED * area / (np.pi * max(float((roots**2).sum()), 1e-12))))
    return np.maximum(min(LARGEST, most) * roots, SMALLEST)


def _placed(
    places: NDArray[np.float64],
    radius: NDArray[np.float64],
    room: tuple[float, float, float, float],
) -> NDArray[np.float64]:
    """Middles in points, alike far apart in both directions, so that all circles are in `room`."""
    low, high = places.min(axis=0), places.max(axis=0)
    left, right, bottom, top = room
    size = np.array([right - left, top - bottom]) - 2 * float(radius.max())
    scale = float(np.min(size / np.maximum(high - low, 1e-9)))
    if scale > 1e8:  # all at one place
        scale = 0.0
    middle = np.array([(left + right) / 2, (bottom + top) / 2])
    placed: NDArray[np.float64] = middle + scale * (places - (low + high) / 2)
    return placed


def _draw_cross(
    axes: Any, where: NDArray[np.float64], room: tuple[float, float, float, float]
) -> None:
    """The two main directions, through the middle of the topics."""
    left, right, bottom, top = room
    x, y = where.mean(axis=0)
    axes.plot([left, right], [y, y], color=GRID, linewidth=0.8, marker="", zorder=0.5)
    axes.plot([x, x], [bottom, top], color=GRID, linewidth=0.8, marker="", zorder=0.5)


class _Mark(Circle):
    """A circle and its number as one thing, that has one name in SVG."""

    def __init__(
        self, axes: Any, where: NDArray[np.float64], radius: float, gid: str, number: Text | None
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


class _Numbers:
    """Which circles have a number, where and how large: none lies on another."""

    def __init__(
        self,
        where: NDArray[np.float64],
        radius: NDArray[np.float64],
        room: tuple[float, float, float, float],
    ) -> None:
        self._where, self._radius, self._room = where, radius, room
        self._taken: list[tuple[float, float, float, float]] = []

    def text(self, k: int, number: str) -> Text | None:
        """The number in the middle of its circle if it fits, else beside it if there is room."""
        smallest, largest = NUMBERS
        wide = text_width(number, 1.0)
        radius = float(self._radius[k])
        fitting = 1.7 * radius / float(np.hypot(wide, 0.8))
        inside = fitting >= smallest
        size = min(fitting, largest) if inside else smallest + 1.5
        half = np.array([wide * size, 0.85 * size]) / 2
        middles = [self._where[k]] if inside else self._beside(k, half)
        for x, y in middles:
            box = (x - half[0] - 0.5, x + half[0] + 0.5, y - half[1] - 0.5, y + half[1] + 0.5)
            if not any(_overlap(box, other) for other in self._taken) and (
                inside or self._is_free(k, box)
            ):
                self._taken.append(box)
                return Text(
                    x, y, number, fontsize=size, color=INK, ha="center", va="center_baseline"
                )
        return None

    def _beside(self, k: int, half: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        away = float(self._radius[k]) + 2 + half
        steps: Sequence[tuple[float, float]] = ((1, 0), (-1, 0), (0, 1), (0, -1))
        return [self._where[k] + np.array(step) * away for step in steps]

    def _is_free(self, k: int, box: tuple[float, float, float, float]) -> bool:
        """Whether a box is on the map and on no other circle."""
        left, right, bottom, top = self._room
        if box[0] < left or box[1] > right or box[2] < bottom or box[3] > top:
            return False
        nearest = np.clip(self._where, [box[0], box[2]], [box[1], box[3]])
        apart = np.hypot(*(self._where - nearest).T) - self._radius
        apart[k] = 1.0
        return bool((apart > 0).all())


def _overlap(
    one: tuple[float, float, float, float], other: tuple[float, float, float, float]
) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def _draw_legend(axes: Any, most: float, radius: float, left: float, top: float) -> None:
    """Circles of round shares, one below the other."""
    axes.text(left, top, "share of\nthe tokens", fontsize=9, color=MUTED, va="top")
    y = top - 30
    shown = []
    for part in (0.5, 0.2, 0.05):
        share = float(f"{most * part:.1g}")
        if share not in shown and share > 0:
            shown.append(share)
    widest = radius * np.sqrt(max(shown, default=most) / most) if most > 0 else radius
    for share in shown:
        size = max(radius * float(np.sqrt(share / most)), SMALLEST)
        y -= size + 6
        axes.add_artist(
            Circle(
                (left + widest, y), size, facecolor=_faded(MUTED), edgecolor=MUTED, linewidth=0.9
            )
        )
        text = f"{share:.0%}" if share >= 0.0095 else f"{100 * share:.1g}%"
        axes.text(left + 2 * widest + 6, y, text, fontsize=9, va="center_baseline")
        y -= size
