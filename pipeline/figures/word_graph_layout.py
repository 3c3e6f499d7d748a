"""Where the words of a graph are drawn, so that no label lies on another.

Words that are linked, directly or by others, make an island. Each island is laid out by springs,
then its labels are pushed apart; islands stand in rows, the highest first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Floats = NDArray[np.float64]

SEED = 0
LINK = 46.0
"""Length of a usual line before labels are pushed apart, in units of boxes (points)."""
TALLEST = 1.0
"""Height of an island before labels are pushed apart, in widths of the field."""
PAIR = 24.0
"""From the middle of one word to that of the other below it, where two are an island."""
GAP = np.array([5.0, 7.0])
"""Between labels of an island, sideways and upwards."""
APART = np.array([12.0, 12.0])
"""Between islands."""
MOST_SPREAD = 1.5
"""How many times as high what has room to spare is drawn."""
SWEEPS = 1000


@dataclass(frozen=True)
class Box:
    """What a word takes."""

    width: float
    height: float


@dataclass(frozen=True)
class WordGraph:
    """Words at places from the lower left corner of a field."""

    place: Mapping[str, tuple[float, float]]
    """The middle of each word."""
    height: float

    def spread(self, height: float) -> dict[str, tuple[float, float]]:
        """The places in a higher field: labels that are further apart do not overlap either."""
        assert height >= self.height
        factor = min(height / self.height, MOST_SPREAD)
        below = (height - factor * self.height) / 2
        return {word: (x, below + factor * y) for word, (x, y) in self.place.items()}


@dataclass(frozen=True)
class _Island:
    words: list[str]
    middle: Floats
    """(n, 2), from the lower left corner."""
    size: Floats
    """(2,), width and height."""


def laid_out(boxes: Mapping[str, Box], links: Sequence[tuple[str, str]], width: float) -> WordGraph:
    """The words of `boxes` in a field of `width`, as high as it takes; the same whenever asked."""
    islands = [_island(words, boxes, links, width) for words in _connected(boxes, links)]
    islands.sort(key=lambda island: (-island.size[1], -island.size[0]))
    rows: list[list[_Island]] = []
    for island in islands:
        row = next((row for row in rows if _width([*row, island]) <= width), None)
        if row is None:
            rows.append([island])
        else:
            row.append(island)
    height = float(sum(row[0].size[1] + APART[1] for row in rows))
    place: dict[str, tuple[float, float]] = {}
    top = height - APART[1] / 2
    for row in rows:
        spare = max(width - sum(island.size[0] for island in row), 0.0) / len(row)
        left = spare / 2
        for island in row:
            corner = np.array([left, top - (row[0].size[1] + island.size[1]) / 2])
            for word, (x, y) in zip(island.words, corner + island.middle, strict=True):
                place[word] = (float(x), float(y))
            left += island.size[0] + spare
        top -= row[0].size[1] + APART[1]
    return WordGraph(place, height)


def _width(row: Sequence[_Island]) -> float:
    return float(sum(island.size[0] + APART[0] for island in row) - APART[0])


def _connected(boxes: Mapping[str, Box], links: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Words of each island, in the order of `boxes`: that of sets is another in each process."""
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(boxes)
    graph.add_edges_from(links)
    return [[w for w in boxes if w in found] for found in nx.connected_components(graph)]


def _island(
    words: list[str], boxes: Mapping[str, Box], links: Sequence[tuple[str, str]], width: float
) -> _Island:
    sizes = np.array([[boxes[word].width, boxes[word].height] for word in words])
    if len(words) <= 2:
        middle = np.array([[0.0, 0.0], [0.0, -PAIR]])[: len(words)]
    else:
        graph: nx.Graph[str] = nx.Graph()
        graph.add_nodes_from(words)
        graph.add_edges_from(link for link in links if link[0] in words)
        found = nx.spring_layout(graph, seed=SEED, iterations=200)
        middle = np.array([found[word] for word in words], dtype=np.float64)
        lengths = [np.linalg.norm(found[a] - found[b]) for a, b in graph.edges]
        middle *= LINK / max(float(np.median(lengths)), 1e-6)
        most = [max(width - float(sizes[:, 0].max()), 1.0), TALLEST * width]
        middle *= np.minimum(1.0, most / np.maximum(np.ptp(middle, axis=0), 1e-6))
    middle = _pushed_apart(middle, sizes, width)
    lower = (middle - sizes / 2).min(axis=0)
    return _Island(words, middle - lower, (middle + sizes / 2).max(axis=0) - lower)


def _pushed_apart(middle: Floats, sizes: Floats, width: float) -> Floats:
    """The places (n, 2) with boxes moved until none lies on another, within `width`."""
    n = len(middle)
    needed = (sizes[:, None] + sizes[None]) / 2 + GAP
    # Of two at the same place the earlier goes to the left, or up.
    first = np.where(np.arange(n)[:, None] < np.arange(n)[None], -1.0, 1.0)[..., None] * [1, -1]
    half = sizes[:, 0] / 2
    middle = middle - [(middle[:, 0] - half).min(), 0.0]
    for _ in range(SWEEPS):
        apart = middle[:, None] - middle[None]
        lacking = needed - np.abs(apart)
        overlaps = (lacking > 1e-3).all(axis=2) & ~np.eye(n, dtype=bool)
        if not overlaps.any():
            break
        sideways = lacking[..., 0] < lacking[..., 1]
        along = np.stack([sideways, ~sideways], axis=2) & overlaps[..., None]
        direction = np.where(apart == 0, first, np.sign(apart))
        push = (0.5 * along * direction * lacking).sum(axis=1)
        middle = middle + 0.7 * push
        middle[:, 0] = np.clip(middle[:, 0], half, np.maximum(width - half, half))
    return middle
