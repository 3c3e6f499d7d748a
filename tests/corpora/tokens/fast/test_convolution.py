"""The tiled convolution against the definition of thinc's layers, in double precision."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.tokens.fast import convolution
from corpora.tokens.fast.convolution import ConvolutionalTagger, Layer

if TYPE_CHECKING:
    from numpy.typing import NDArray

WIDTH, N_PIECES, N_TAGS, DEPTH = 16, 3, 7, 4


class Network:
    """Random weights, and what the definition makes of them."""

    def __init__(self, seed: int, depth: int = DEPTH, n_pieces: int = N_PIECES) -> None:
        rng = np.random.default_rng(seed)
        self.weights = rng.normal(size=(depth, WIDTH, n_pieces, 3 * WIDTH)).astype(np.float32)
        self.bias = rng.normal(size=(depth, WIDTH, n_pieces)).astype(np.float32)
        self.scale = rng.normal(1, 0.3, size=(depth, WIDTH)).astype(np.float32)
        self.shift = rng.normal(size=(depth, WIDTH)).astype(np.float32)
        self.output = rng.normal(size=(N_TAGS, WIDTH)).astype(np.float32)
        self.output_bias = rng.normal(size=N_TAGS).astype(np.float32)
        self.embedding = rng.normal(size=(50, WIDTH)).astype(np.float32)
        self.embedding[0] = 0
        self.depth = depth

    def tagger(self) -> ConvolutionalTagger:
        parts = zip(self.weights, self.bias, self.scale, self.shift, strict=True)
        return ConvolutionalTagger(
            [Layer.of(*part) for part in parts], self.output, self.output_bias
        )

    def encoded(self, rows: NDArray[np.int32]) -> NDArray[np.float64]:
        """What the layers make of one text, by loops."""
        pad = np.zeros((self.depth, WIDTH))
        x = np.concatenate([pad, self.embedding[rows].astype(float), pad])
        for weights, bias, scale, shift in zip(
            self.weights, self.bias, self.scale, self.shift, strict=True
        ):
            new = np.zeros_like(x)
            for i in range(len(x)):
                before = x[i - 1] if i else np.zeros(WIDTH)
                after = x[i + 1] if i + 1 < len(x) else np.zeros(WIDTH)
                window = np.concatenate([before, x[i], after])
                y = (weights.astype(float) @ window + bias).max(axis=1)
                y = (y - y.mean()) / np.sqrt(y.var() + 1e-8)
                new[i] = x[i] + y * scale + shift
            x = new
        return x[self.depth : len(x) - self.depth]


def stream_of(texts: list[NDArray[np.int32]], depth: int) -> NDArray[np.int32]:
    padding = np.zeros(depth, dtype=np.int32)
    return np.concatenate([padding, *(part for text in texts for part in (text, padding))])


@pytest.mark.parametrize("tile", [12, 16, 64])
@pytest.mark.parametrize(("depth", "n_pieces"), [(1, 1), (4, 3), (2, 2)])
def test_tiles_come_to_what_the_definition_says(tile: int, depth: int, n_pieces: int) -> None:
    network = Network(depth, depth, n_pieces)
    rng = np.random.default_rng(1)
    texts = [rng.integers(1, 50, size=n).astype(np.int32) for n in (1, 70, 2, 17, 5)]
    stream = stream_of(texts, depth)
    with mock.patch.object(convolution, "TILE", tile):
        tagger = network.tagger()
        encoded = tagger.encode(stream, network.embedding)[stream > 0]
        tags = tagger.tag(stream, network.embedding)[stream > 0]
    expected = np.concatenate([network.encoded(text) for text in texts])
    np.testing.assert_allclose(encoded, expected, atol=2e-4)
    scores = expected @ network.output.T + network.output_bias
    best_two = np.sort(scores, axis=1)[:, -2:]
    clear = best_two[:, 1] - best_two[:, 0] > 1e-2
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(tags[clear], scores.argmax(axis=1)[clear])


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(1, 49), min_size=1, max_size=40), min_size=1, max_size=6))
def test_a_text_does_not_see_the_others(texts: list[list[int]]) -> None:
    network = Network(3)
    arrays = [np.array(text, dtype=np.int32) for text in texts]
    tagger = network.tagger()
    together = stream_of(arrays, DEPTH)
    encoded = tagger.encode(together, network.embedding)[together > 0]
    for array, start in zip(arrays, np.cumsum([0, *map(len, arrays)]), strict=False):
        alone = stream_of([array], DEPTH)
        by_itself = tagger.encode(alone, network.embedding)[alone > 0]
        np.testing.assert_allclose(encoded[start : start + len(array)], by_itself, atol=1e-3)


def test_no_token_no_tag() -> None:
    tagger = Network(0).tagger()
    assert len(tagger.tag(np.zeros(0, dtype=np.int32), Network(0).embedding)) == 0
    assert len(tagger.tag(np.zeros(DEPTH, dtype=np.int32), Network(0).embedding)) == DEPTH


def test_the_same_bits_again_and_in_any_call() -> None:
    """One size of matrices: what a tile holds besides does not touch a token's last bits."""
    network = Network(5)
    rng = np.random.default_rng(5)
    stream = stream_of([rng.integers(1, 50, size=900).astype(np.int32)], DEPTH)
    tagger = network.tagger()
    first = tagger.encode(stream, network.embedding)
    np.testing.assert_array_equal(first, network.tagger().encode(stream, network.embedding))
    longer = np.concatenate([stream, stream])
    np.testing.assert_array_equal(
        first[:-DEPTH], tagger.encode(longer, network.embedding)[: len(first) - DEPTH]
    )
