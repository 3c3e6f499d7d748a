import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation import diversity, exclusivity
from models import LDATopics

TOPICS = LDATopics(np.array([[0.5, 0.3, 0.2, 0.0], [0.0, 0.1, 0.3, 0.6]]), np.ones(2))


def test_by_hand():
    assert (diversity(TOPICS, 1), diversity(TOPICS, 3)) == (1.0, pytest.approx(4 / 6))
    assert diversity(TOPICS, 25) == pytest.approx(4 / 8)  # all there are
    assert exclusivity(TOPICS, 2) == pytest.approx([(1 + 0.3 / 0.4) / 2, (1 + 0.3 / 0.5) / 2])
    topics = LDATopics(np.array([[1.0, 0.0], [1.0, 0.0]]), np.ones(2))
    assert exclusivity(topics, 2).tolist() == [0.5, 0.5]  # of the one word with weight


@given(st.integers(1, 8), st.integers(1, 30), st.integers(0, 99))
def test_bounds(n_topics, n_words, seed):
    rng = np.random.default_rng(seed)
    topics = LDATopics.from_weights(rng.gamma(0.1, size=(n_topics, 20)) + 1e-300, 0.1)
    assert 1 / n_topics - 1e-12 <= diversity(topics, n_words) <= 1
    values = exclusivity(topics, n_words)
    assert values.shape == (n_topics,)
    assert np.all((values > 0) & (values <= 1 + 1e-12))


@pytest.mark.parametrize("n_topics", [1, 4])
def test_equal_topics_and_topics_of_their_own(n_topics):
    same = LDATopics(np.tile([0.4, 0.3, 0.2, 0.1], (n_topics, 1)), np.ones(n_topics))
    assert diversity(same, 2) == pytest.approx(1 / n_topics)
    assert exclusivity(same, 2) == pytest.approx(1 / n_topics)
    apart = LDATopics(np.kron(np.eye(n_topics), [0.6, 0.4]), np.ones(n_topics))
    assert (diversity(apart, 2), exclusivity(apart, 2)) == (1, pytest.approx(1))


@pytest.mark.parametrize("function", [diversity, exclusivity])
def test_no_words_at_all(function):
    with pytest.raises(ValueError, match="at least 1, found 0"):
        function(TOPICS, 0)  # type: ignore[operator]
