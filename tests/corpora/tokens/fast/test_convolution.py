"""The tiled convolution against the definition of thinc's layers, in double precision."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.tokens.fast import convolution
from corpora.tokens.fast.convolution import ConvolutionalTagger, Layer
from tests.corpora.tokens.fast.english import encode

WIDTH, N_PIECES, N_TAGS, DEPTH = 16, 3, 7, 4


class Network:
    """Random weights, and what the definition makes of them."""

    def __init__(self, seed, depth=DEPTH, n_pieces=N_PIECES):
        rng = np.random.default_rng(seed)
        self.weights = rng.normal(size=(depth, WIDTH, n_pieces, 3 * WIDTH)).astype(np.float32)
        self.bias = rng.normal(size=(depth, WIDTH, n_pieces)).astype(np.float32)
        self.scale = rng.normal(1, 0.3, size=(depth, WIDTH)).astype(np.float32)
        self.shift = rng.normal(size=(depth, WIDTH)).astype(np.float32)
        self.output = rng.normal(size=(N_TAGS, WIDTH)).astype(np.float32)
        self.output_bias = rng.normal(size=N_TAGS).astype(np.float32)
        self.embedding = rng.normal(size=(50, WIDTH)).astype(np.float32)
        self.depth = depth

    def tagger(self):
        parts = zip(self.weights, self.bias, self.scale, self.shift, strict=True)
        return ConvolutionalTagger(
            [Layer.of(*part) for part in parts], self.output, self.output_bias
        )

    def encoded(self, rows):
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


def together(texts):
    starts = np.cumsum([0, *map(len, texts)])
    return np.concatenate([np.zeros(0, dtype=np.int32), *texts]), starts


@pytest.mark.parametrize("tile", [32, 64, 128])
@pytest.mark.parametrize(("depth", "n_pieces"), [(1, 1), (4, 3), (2, 2)])
def test_tiles_come_to_what_the_definition_says(tile, depth, n_pieces):
    network, rng = Network(depth, depth, n_pieces), np.random.default_rng(1)
    texts = [rng.integers(0, 50, size=n).astype(np.int32) for n in (1, 0, 270, 2, 17, 120, 5, 24)]
    with mock.patch.object(convolution, "TILE", tile):
        tagger = network.tagger()
        encoded = encode(tagger, *together(texts), network.embedding)
        tags = tagger.tag(*together(texts), network.embedding)
    expected = np.concatenate([network.encoded(text) for text in texts])
    np.testing.assert_allclose(encoded, expected, atol=2e-4)
    scores = expected @ network.output.T + network.output_bias
    best_two = np.sort(scores, axis=1)[:, -2:]
    clear = best_two[:, 1] - best_two[:, 0] > 1e-2
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(tags[clear], scores.argmax(axis=1)[clear])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 300), min_size=1, max_size=6), st.integers(0, 2**32))
def test_no_bit_of_a_text_depends_on_the_others(lengths, seed):
    network, rng = Network(3), np.random.default_rng(seed)
    texts = [rng.integers(0, 50, size=n).astype(np.int32) for n in lengths]
    tagger = network.tagger()
    encoded = encode(tagger, *together(texts), network.embedding)
    for text, start in zip(texts, np.cumsum([0, *lengths]), strict=False):
        alone = encode(tagger, *together([text]), network.embedding)
        np.testing.assert_array_equal(encoded[start : start + len(text)], alone)


def test_no_token_no_tag():
    tagger = Network(0).tagger()
    assert len(tagger.tag(*together([]), Network(0).embedding)) == 0
    assert len(tagger.tag(*together([np.zeros(0, dtype=np.int32)]), Network(0).embedding)) == 0
