"""Placement of the numbers and names of circles on a map."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from evaluation.arrays import Floats
from pipeline.figures.text_width import text_width

Box = tuple[float, float, float, float]  # Left, right, bottom, top
DIRECTIONS = tuple(range(0, 360, 15))  # Directions in which a name is tried, in degrees
CIRCLE = tuple((math.cos(angle), math.sin(angle)) for angle in np.radians(DIRECTIONS))
INSIDE = ((0.0, 0.0), *((far * x, far * y) for far in (0.5, 0.75, 1.0) for x, y in CIRCLE))
"""Places at which a number is tried, from the middle of its circle (0) to the edge (1)."""
DISTANCES = (2.0, 8.0, 16.0, 28.0, 44.0, 64.0, 90.0)
"""Distances from the circle at which a name is tried, in points."""
MIN_LEADER = 6.0  # Points from which on a name has a line to its circle
LINE_HEIGHT = 1.2  # Height of a line of text in heights of the font


@dataclass(frozen=True)
class Placed:
    """A text, its middle, and the line that leads to it."""

    text: str
    x: float
    y: float
    size: float  # Font size
    line: tuple[tuple[float, float], tuple[float, float]] | None = None
    """Line from the edge of the circle to the text; None if they are close."""


class MapLabels:
    """Places numbers and names of circles inside the box `room` so that no two texts overlap.

    Lengths are in points; `sizes` are the smallest and the largest font size of numbers.
    """

    def __init__(
        self, where: Floats, radius: Floats, room: Box, sizes: tuple[float, float]
    ) -> None:
        self._where, self._radius, self._room = where, radius, room
        self._smallest, self._largest = sizes
        self._taken: list[Box] = []
        self._lines: list[Floats] = []

    def inside(self, k: int, text: str) -> Placed | None:
        """Place `text` in circle `k` if it fits: on as few other circles as possible, then as near
        the middle as possible.
        """
        fitting = 1.7 * float(self._radius[k]) / float(np.hypot(text_width(text, 1.0), 0.8))
        if fitting < self._smallest:
            return None
        free: list[tuple[int, int, Placed, Box]] = []
        for step in INSIDE:
            most = max(self._smallest, 0.6 * fitting) if any(step) else fitting
            size = min(most, self._largest)
            half = np.array([text_width(text, size), 0.85 * size]) / 2
            away = max(0.0, float(self._radius[k] - np.hypot(*half)))
            x, y = _pair(self._where[k] + np.array(step) * away)
            box = _box(x, y, half)
            if any(_overlap(box, other) for other in self._taken):
                continue
            n_others = self._n_others_at(k, box)
            free.append((n_others, len(free), Placed(text, x, y, size), box))
            if n_others == 0:
                break
        if not free:
            return None
        _, _, placed, box = min(free, key=lambda each: each[:2])
        self._taken.append(box)
        return placed

    def beside(self, k: int, text: str) -> Placed | None:
        """Place `text` right, left, above or below circle `k` if that place is free."""
        size = self._smallest + 1.5
        half = np.array([text_width(text, size), 0.85 * size]) / 2
        away = float(self._radius[k]) + 2 + half
        for step in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            x, y = _pair(self._where[k] + np.array(step) * away)
            if self._is_free(k, _box(x, y, half)):
                self._taken.append(_box(x, y, half))
                return Placed(text, x, y, size)
        return None

    def named(self, k: int, text: str, size: float) -> Placed | None:
        """Place `text` as near to circle `k` as possible, with a line if it is not close."""
        half = np.array([text_width(text, size) + 2, LINE_HEIGHT * size]) / 2
        radius = float(self._radius[k])
        for distance, step in _steps():
            edge = self._where[k] + step * radius
            end = self._where[k] + step * (radius + distance)
            # The line ends at the nearest edge of the text.
            x, y = _pair(end + np.clip(1.6 * step, -1, 1) * half)
            box = _box(x, y, half)
            line = np.linspace(edge, end, 16) if distance > MIN_LEADER else None
            if not self._is_free(k, box) or _is_on(self._lines, [box]):
                continue
            if line is not None:
                if _is_on([line], self._taken):
                    continue
                self._lines.append(line)
            self._taken.append(box)
            ends = None if line is None else (_pair(edge), _pair(end))
            return Placed(text, x, y, size, ends)
        return None

    def _is_free(self, k: int, box: Box) -> bool:
        """Whether a box is on the map, and on no text and no other circle."""
        left, right, bottom, top = self._room
        if box[0] < left or box[1] > right or box[2] < bottom or box[3] > top:
            return False
        if any(_overlap(box, other) for other in self._taken):
            return False
        return not self._n_others_at(k, box)

    def _n_others_at(self, k: int, box: Box) -> int:
        """Return how many circles other than `k` a box touches."""
        nearest = np.clip(self._where, [box[0], box[2]], [box[1], box[3]])
        touches = np.hypot(*(self._where - nearest).T) <= self._radius
        touches[k] = False
        return int(touches.sum())


def _steps() -> Iterator[tuple[float, Floats]]:
    for distance in DISTANCES:
        for degrees in sorted(DIRECTIONS, key=lambda each: min(each % 180, -each % 180)):
            angle = np.radians(degrees)
            yield distance, np.array([np.cos(angle), np.sin(angle)])


def _box(x: float, y: float, half: Floats) -> Box:
    wide, high = float(half[0]) + 0.5, float(half[1]) + 0.5
    return x - wide, x + wide, y - high, y + high


def _pair(point: Floats) -> tuple[float, float]:
    x, y = point.tolist()
    return x, y


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def _is_on(lines: Iterable[Floats], boxes: Iterable[Box]) -> bool:
    """Whether any line crosses any box."""
    boxes = list(boxes)
    return any(
        bool(((x > left) & (x < right) & (y > bottom) & (y < top)).any())
        for x, y in (line.T for line in lines)
        for left, right, bottom, top in boxes
    )
