import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation import cross_distances, topic_distances


def naive(p, q):
    """√ of the mean relative entropy to the mixture, in bits, word by word."""
    p, q = p / p.sum(), q / q.sum()
    divergence = 0.0
    for a, b in zip(p.tolist(), q.tolist(), strict=True):
        middle = (a + b) / 2
        divergence += a / 2 * math.log2(a / middle) if a else 0.0
        divergence += b / 2 * math.log2(b / middle) if b else 0.0
    return math.sqrt(max(divergence, 0.0))


def some_topics(n_topics, n_words, seed):
    """Weights over many orders of magnitude, zeros among them; every row has some."""
    rng = np.random.default_rng(seed)
    weights = rng.gamma(0.1, size=(n_topics, n_words)) * rng.choice([0, 1, 1e-9, 1e6], n_words)
    weights[:, 0] += 1e-3
    return weights


def test_by_hand():
    topics = [[1.0, 0.0], [0.0, 3.0], [0.5, 0.5]]
    half = math.sqrt(0.5 * (math.log2(1 / 0.75) + 0.5 * math.log2(0.5 / 0.75) + 0.5 * 1.0))
    expected = [[0.0, 1.0, half], [1.0, 0.0, half], [half, half, 0.0]]
    assert topic_distances(topics) == pytest.approx(np.array(expected), abs=1e-12)
    topics = some_topics(3, 3000, 3)
    found = topic_distances(topics[[0, 1, 0, 2, 1]] * np.array([1.0, 1.0, 4.0, 1.0, 0.5])[:, None])
    assert found[0, 2] == found[1, 4] == 0
    assert (np.delete(found[0], [0, 2]) > 0.01).all()
    found = cross_distances([[0.0, 0.0], [1.0, 1.0]], [[0.0, 0.0], [1.0, 0.0]])
    assert (found[0].tolist(), found[1, 0]) == ([0.0, 1.0], 1)
    assert topic_distances([[0.0, 0.0], [2.0, 1.0], [0.0, 0.0]])[0].tolist() == [0.0, 1.0, 0.0]


@given(st.integers(1, 9), st.integers(1, 60), st.integers(0, 10_000))
def test_the_definition(n_topics, n_words, seed):
    topics = some_topics(n_topics, n_words, seed)
    expected = [[naive(p, q) for q in topics] for p in topics]
    # Rounding is of the divergence, its root is taken after.
    assert topic_distances(topics) ** 2 == pytest.approx(np.array(expected) ** 2, abs=1e-13)


@given(st.integers(2, 7), st.integers(0, 10_000))
def test_a_metric(n_topics, seed):
    between = topic_distances(some_topics(n_topics, 30, seed))
    assert np.array_equal(between, between.T)
    assert not between.diagonal().any()
    assert between.min() >= 0
    assert between.max() <= 1
    assert (between <= (between[:, :, None] + between[None]).min(axis=1) + 1e-7).all()
    # The divergence, before the root is taken, is none.
    pair = topic_distances([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]) ** 2
    assert pair[0, 2] > pair[0, 1] + pair[1, 2]


def test_rows_of_any_size_and_number():
    topics = some_topics(19, 2500, 1)
    found = topic_distances(topics)
    for k, j in [(0, 18), (7, 8), (3, 11), (18, 17)]:
        assert found[k, j] ** 2 == pytest.approx(naive(topics[k], topics[j]) ** 2, abs=1e-13)
    assert np.array_equal(topic_distances(topics, n_jobs=2), found)
    assert cross_distances(topics[:5], topics) == pytest.approx(found[:5], abs=1e-7)
    topics = some_topics(4, 40, 2)
    scaled = topics * np.array([1e-300, 1.0, 7.0, 1e300])[:, None]
    assert topic_distances(scaled) == pytest.approx(topic_distances(topics), abs=1e-7)


def test_what_is_refused():
    for weights, complaint in (
        ([1.0, 2.0], r"must be \(n_topics, n_words\)"),
        (np.zeros((2, 0)), "none 0"),
        ([[1.0, -1.0]], "none negative"),
        ([[1.0, math.nan]], "finite"),
    ):
        with pytest.raises(ValueError, match=f"topic_word.*{complaint}"):
            topic_distances(weights)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=f"second.*{complaint}"):
            cross_distances([[1.0, 1.0]], weights)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="same words, found 2 and 3"):
        cross_distances([[1.0, 1.0]], [[1.0, 1.0, 1.0]])
