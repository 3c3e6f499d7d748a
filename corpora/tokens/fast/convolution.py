"""The convolutional tagger: from the rows of a lexicon to the index of the most probable tag.

spaCy's `MaxoutWindowEncoder` is a stack of layers

    x ← x + layer_norm(max_p (W_p [x_before; x; x_after] + b_p))

on the tokens of a text with `depth` rows of zeros on either side, which the layers change as they
do the tokens. With one neighbour to each side, a layer is a convolution of three taps, computed
here by the minimal filtering algorithm F(4, 3) (Winograd 1980; Lavin & Gray 2016, sec. 4.3): six
products of matrices for four tokens where the definition has twelve,

    Y = A (G g · B d)    d six neighbouring rows, g the three taps, Y four rows

with the matrices A, B and G below. In single precision it is as far from the exact result as the
definition is, within a factor of about two.

A text is cut into tiles small enough for a processor's second cache; each takes `depth` tokens to
either side along, as far as the layers see. Every text has its own tiles, cut as its length alone
says: by rounding, if not by mathematics, the four rows of a group see each other. So not a bit of a
token's result depends on other texts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from corpora.kernel_cache import cached

Floats = NDArray[np.float32]

TILE = 128  # Rows of a tile at most, those of the neighbourhood included; a multiple of `GROUP`
NORM_EPSILON = np.float32(1e-8)  # Constant that thinc's layer normalisation adds to a variance
GROUP = 4  # Rows that come of the same products
ROUND = 32  # The tile with a text's end has a multiple of so many rows

TAPS = np.array(
    [
        *([1 / 4, 0, 0], [-1 / 6, -1 / 6, -1 / 6], [-1 / 6, 1 / 6, -1 / 6]),
        *([1 / 24, 1 / 12, 1 / 6], [1 / 24, -1 / 12, 1 / 6], [0, 0, 1]),
    ]
)
"""G. The matrices A and B are written out in `_finish` and `_transform`."""


@dataclass(frozen=True, eq=False)
class Layer:
    """Weights of one layer, in the order in which the kernels use them."""

    filters: Floats  # (6, width, n_pieces · width) G times the taps
    bias: Floats  # (n_pieces · width,), pieces outermost as in `filters`
    scale: Floats  # (width,) of the layer normalisation
    shift: Floats  # (width,) of the layer normalisation

    @classmethod
    def of(cls, weights: Floats, bias: Floats, scale: Floats, shift: Floats) -> "Layer":
        """Make a layer of thinc's `maxout`, (width, n_pieces, 3 · width), its bias, and norm."""
        width, n_pieces, _ = weights.shape
        taps = weights.reshape(width, n_pieces, 3, width).astype(np.float64)
        filters = np.tensordot(TAPS, taps.transpose(2, 3, 1, 0), 1)
        return cls(
            np.ascontiguousarray(filters.reshape(6, width, -1), dtype=np.float32),
            np.ascontiguousarray(bias.T.reshape(-1), dtype=np.float32),
            np.ascontiguousarray(scale, dtype=np.float32),
            np.ascontiguousarray(shift, dtype=np.float32),
        )


class ConvolutionalTagger:
    """Tags for a stream of tokens that are given by their embeddings. All layers have one width;
    `weights` (n_tags, width) and `bias` (n_tags,) are those of the output layer.
    """

    def __init__(self, layers: list[Layer], weights: Floats, bias: Floats) -> None:
        self.layers = layers
        self.width = layers[0].filters.shape[1]
        self._n_pieces = layers[0].filters.shape[2] // self.width
        self._weights = np.ascontiguousarray(weights.T, dtype=np.float32)
        self._bias = np.ascontiguousarray(bias, dtype=np.float32)
        depth = len(layers)
        self._before = -(-depth // GROUP) * GROUP
        self._step = (TILE - self._before - depth) // GROUP * GROUP
        self._x = np.zeros((TILE + 2, self.width), dtype=np.float32)  # a row of zeros at each end
        self._d = np.zeros((6, TILE // GROUP, self.width), dtype=np.float32)
        self._m = np.zeros((6, TILE // GROUP, self._n_pieces * self.width), dtype=np.float32)
        self._scores = np.zeros((TILE, len(bias)), dtype=np.float32)

    def tag(
        self, rows: NDArray[np.int32], text_start: NDArray[np.int64], embedding: Floats
    ) -> NDArray[np.int16]:
        """(n_tokens,) the index of the most probable tag of each token, from rows (n_tokens,) of
        `embedding` (n_rows, width); text t has the tokens from `text_start[t]` to
        `text_start[t + 1]`.
        """
        tags = np.zeros(len(rows), dtype=np.int16)
        for start, end, x in self._tiles(rows, text_start, embedding):
            scores = self._scores[: len(x)]
            np.dot(x, self._weights, out=scores)
            _best(scores, self._bias, self._before, tags[start:end])
        return tags

    def _tiles(
        self, rows: NDArray[np.int32], text_start: NDArray[np.int64], embedding: Floats
    ) -> Iterator[tuple[int, int, Floats]]:
        """Yield for each tile its tokens, and its rows after the layers.
        The first of these tokens is in row `_before`. The rows are overwritten by the next tile.
        """
        for first, last in pairwise(text_start.tolist()):
            text = rows[first:last]
            for start in range(0, len(text), self._step):
                n_left = len(text) - start
                size = min(-(-(self._before + n_left + len(self.layers)) // ROUND) * ROUND, TILE)
                x = self._x[: size + 2]
                _gather(text, start - self._before, embedding, x)
                for layer in self.layers:
                    self._apply(layer, x, size // GROUP)
                yield first + start, first + start + min(n_left, self._step), x[1:-1]

    def _apply(self, layer: Layer, x: Floats, n_fours: int) -> None:
        """Apply one layer to `x` (4 n_fours + 2, width) in place; its two outer rows stay zeros."""
        # The kernels take whole arrays: a slice would be another type, compiled for itself.
        _transform(x, n_fours, self._d)
        for k in range(6):
            np.dot(self._d[k, :n_fours], layer.filters[k], out=self._m[k, :n_fours])
        _finish(self._m, n_fours, layer.bias, layer.scale, layer.shift, x)


@cached
@njit
def _gather(rows: Any, start: int, embedding: Any, x: Any) -> None:
    """Set x[1 + i] = embedding[rows[start + i]], zeros outside of `rows` and at both ends."""
    n_rows, width = x.shape
    for i in range(n_rows):
        at = start + i - 1
        if 0 <= at < len(rows) and 0 < i < n_rows - 1:
            for j in range(width):
                x[i, j] = embedding[rows[at], j]
        else:
            for j in range(width):
                x[i, j] = 0


@cached
@njit(fastmath=True)
def _transform(x: Any, n_fours: int, d: Any) -> None:
    """Set d = B x for each four tokens and their neighbours."""
    width = x.shape[1]
    four, five, two = np.float32(4), np.float32(5), np.float32(2)
    for p in range(n_fours):
        i = 4 * p
        for j in range(width):
            d0, d1, d2 = x[i, j], x[i + 1, j], x[i + 2, j]
            d3, d4, d5 = x[i + 3, j], x[i + 4, j], x[i + 5, j]
            d[0, p, j] = four * d0 - five * d2 + d4
            d[1, p, j] = (d3 + d4) - four * (d1 + d2)
            d[2, p, j] = (d4 - d3) + four * (d1 - d2)
            d[3, p, j] = (d4 - d2) + two * (d3 - d1)
            d[4, p, j] = (d4 - d2) - two * (d3 - d1)
            d[5, p, j] = four * d1 - five * d3 + d5


@cached
@njit(fastmath=True)
def _finish(m: Any, n_fours: int, bias: Any, scale: Any, shift: Any, x: Any) -> None:
    """Set x += layer_norm(max_p (A m + bias)), the maximum over the pieces."""
    width = x.shape[1]
    n_pieces = m.shape[2] // width
    two, four, eight = np.float32(2), np.float32(4), np.float32(8)
    y = np.empty((4, width), dtype=np.float32)
    for p in range(n_fours):
        for piece in range(n_pieces):
            for j in range(width):
                at = piece * width + j
                even, odd = m[1, p, at] + m[2, p, at], m[1, p, at] - m[2, p, at]
                far_even, far_odd = m[3, p, at] + m[4, p, at], m[3, p, at] - m[4, p, at]
                b = bias[at]
                y0 = m[0, p, at] + even + far_even + b
                y1 = odd + two * far_odd + b
                y2 = even + four * far_even + b
                y3 = odd + eight * far_odd + m[5, p, at] + b
                if piece == 0:
                    y[0, j], y[1, j], y[2, j], y[3, j] = y0, y1, y2, y3
                else:
                    y[0, j] = max(y[0, j], y0)
                    y[1, j] = max(y[1, j], y1)
                    y[2, j] = max(y[2, j], y2)
                    y[3, j] = max(y[3, j], y3)
        for i in range(4):
            _normalise_and_add(y[i], scale, shift, x[1 + 4 * p + i])


@cached
@njit(fastmath=True, inline="always")
def _normalise_and_add(y: Any, scale: Any, shift: Any, x: Any) -> None:
    """Add to x, in place: (y - mean(y)) / sqrt(var(y) + epsilon) * scale + shift."""
    width = len(y)
    total = np.float32(0)
    for j in range(width):
        total += y[j]
    mean = total / np.float32(width)
    squares = np.float32(0)
    for j in range(width):
        squares += (y[j] - mean) * (y[j] - mean)
    factor = np.float32(1) / np.sqrt(squares / np.float32(width) + NORM_EPSILON)
    for j in range(width):
        x[j] += (y[j] - mean) * factor * scale[j] + shift[j]


@cached
@njit
def _best(scores: Any, bias: Any, first: int, tags: Any) -> None:
    """Set tags[i] = argmax(scores[first + i] + bias)."""
    for i in range(len(tags)):
        best = 0
        highest = scores[first + i, 0] + bias[0]
        for tag in range(1, len(bias)):
            score = scores[first + i, tag] + bias[tag]
            if score > highest:
                best, highest = tag, score
        tags[i] = best
