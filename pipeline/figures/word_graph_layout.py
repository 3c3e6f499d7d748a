"""Layout of a graph of words in which no two labels overlap.

Each connected component is laid out by springs (networkx), then its labels are pushed apart.
Components stand in rows, the highest first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np

from evaluation.arrays import Floats

SEED = 0
LINK = 46.0  # Median length of a link before labels are pushed apart, in units of boxes (points)
MAX_HEIGHT = 1.0
"""Largest height of a component before labels are pushed apart, in widths of the field."""
PAIR = 24.0  # Distance between the words of a component of two, one below the other
GAP = np.array([5.0, 7.0])  # Gaps between labels of a component: horizontal, vertical
APART = np.array([12.0, 12.0])  # Gaps between components
MAX_SPREAD = 1.5  # Largest factor by which a graph is stretched to fill a higher field
MAX_SWEEPS = 1000


@dataclass(frozen=True)
class Box:
    """Size of a word with its node."""

    width: float
    height: float


@dataclass(frozen=True)
class WordGraph:
    """Positions of words, from the lower left corner of a field."""

    place: Mapping[str, tuple[float, float]]  # Middle of each word
    height: float

    def spread(self, height: float) -> dict[str, tuple[float, float]]:
        """Return the positions stretched to a field of this larger height."""
        assert height >= self.height
        factor = min(height / self.height, MAX_SPREAD)
        below = (height - factor * self.height) / 2
        return {word: (x, below + factor * y) for word, (x, y) in self.place.items()}


@dataclass(frozen=True)
class _Component:
    words: list[str]
    middle: Floats  # (n, 2), from the lower left corner
    size: Floats  # (2,), width and height


def laid_out(boxes: Mapping[str, Box], links: Sequence[tuple[str, str]], width: float) -> WordGraph:
    """Place the words of `boxes` in a field of `width` and any height; deterministic."""
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(boxes)
    graph.add_edges_from(links)
    # Words in the order of `boxes`: sets have no stable order.
    connected = [[w for w in boxes if w in found] for found in nx.connected_components(graph)]
    parts = [_component(words, boxes, links, width) for words in connected]
    parts.sort(key=lambda part: (-part.size[1], -part.size[0]))
    rows: list[list[_Component]] = []
    for part in parts:
        row = next((row for row in rows if _width([*row, part]) <= width), None)
        if row is None:
            rows.append([part])
        else:
            row.append(part)
    height = float(sum(row[0].size[1] + APART[1] for row in rows))
    place: dict[str, tuple[float, float]] = {}
    top = height - APART[1] / 2
    for row in rows:
        spare = max(width - sum(part.size[0] for part in row), 0.0) / len(row)
        left = spare / 2
        for part in row:
            corner = np.array([left, top - (row[0].size[1] + part.size[1]) / 2])
            for word, (x, y) in zip(part.words, corner + part.middle, strict=True):
                place[word] = (float(x), float(y))
            left += part.size[0] + spare
        top -= row[0].size[1] + APART[1]
    return WordGraph(place, height)


def _width(row: Sequence[_Component]) -> float:
    return float(sum(part.size[0] + APART[0] for part in row) - APART[0])


def _component(
    words: list[str], boxes: Mapping[str, Box], links: Sequence[tuple[str, str]], width: float
) -> _Component:
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
        largest = [max(width - float(sizes[:, 0].max()), 1.0), MAX_HEIGHT * width]
        middle *= np.minimum(1.0, largest / np.maximum(np.ptp(middle, axis=0), 1e-6))
    middle = _pushed_apart(middle, sizes, width)
    lower = (middle - sizes / 2).min(axis=0)
    return _Component(words, middle - lower, (middle + sizes / 2).max(axis=0) - lower)


def _pushed_apart(middle: Floats, sizes: Floats, width: float) -> Floats:
    """Move boxes with middles (n, 2) until no two overlap, within `width`."""
    n = len(middle)
    needed = (sizes[:, None] + sizes[None]) / 2 + GAP
    # If two boxes are at the same place, the earlier one moves to the left, or up.
    first = np.where(np.arange(n)[:, None] < np.arange(n)[None], -1.0, 1.0)[..., None] * [1, -1]
    half = sizes[:, 0] / 2
    middle = middle - [(middle[:, 0] - half).min(), 0.0]
    for _ in range(MAX_SWEEPS):
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
