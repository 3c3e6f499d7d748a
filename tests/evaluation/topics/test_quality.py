import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation import diversity, exclusivity
from evaluation.topics.quality import exclusivity_figure
from models import LDATopics
from models.topics import TopicWords

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


def test_the_error_of_exclusivity_is_by_the_derivatives_of_weights():
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.full(40, 0.2), 22)
    rows[3] = 0.0
    found = exclusivity_figure(TopicWords(rows), 5)
    known = np.delete(rows, 3, axis=0)
    top = [np.argsort(-row, kind="stable")[:5] for row in known]

    def mean_of(n_copies):
        """Return the mean exclusivity where a topic meets so many copies of each other one."""
        every = []
        for k in range(21):
            others = np.delete(n_copies, k) @ np.delete(known, k, axis=0)
            every.append(np.mean((known[k] / (known[k] + others))[top[k]]))
        return np.average(every, weights=n_copies)

    value, step = mean_of(np.ones(21)), 1e-6
    slopes = np.array([(mean_of(1 + step * np.eye(21)[j]) - value) / step for j in range(21)])
    assert found.value == pytest.approx(value)
    assert found.value == pytest.approx(exclusivity(TopicWords(known), 5).mean())
    spread = ((slopes - slopes.mean()) ** 2).sum()
    assert found.standard_error == pytest.approx(np.sqrt(21 / 20 * spread), rel=1e-4)
    assert (found.degrees, found.over) == (20, "topics")


def test_exclusivity_of_few_topics_or_without_weights_has_no_error():
    few = exclusivity_figure(TopicWords(np.eye(3)), 1)
    assert few.value == 1.0
    assert few.reason == "topics are too few: 3, it needs 20"
    assert exclusivity_figure(TopicWords(np.zeros((2, 3)))).reason == "no topic has a weight"
    with pytest.raises(ValueError, match="n_words"):
        exclusivity_figure(TopicWords(np.eye(3)), 0)


def test_intervals_of_exclusivity_end_at_1():
    rows = np.kron(np.eye(22), [0.5, 0.5])
    rows[0, 5] = 0.1
    found = exclusivity_figure(TopicWords(rows), 2)
    assert found.value + 2.2 * found.standard_error > 1
    low, high = found.interval()
    assert low < found.value < high <= 1


def test_weights_whose_inverse_is_infinite_have_an_error():
    rows = np.random.default_rng(0).dirichlet(np.full(40, 0.2), 22)
    expected, found = (
        exclusivity_figure(TopicWords(np.column_stack([rows, least * np.eye(22)[3]])), 50)
        for least in (1e-300, 5e-324)
    )
    assert found.standard_error == pytest.approx(expected.standard_error)
