import math

import numpy as np
import pytest

from evaluation.topics.reading.crossed_mean import correlation, crossed_mean
from tests.oracles import reading as oracle


def answers_of(table):
    reader, topic = np.divmod(np.arange(table.size), table.shape[1])
    return table.ravel(), reader, topic


def test_variance_is_that_of_the_analysis_of_variance():
    rng = np.random.default_rng(0)
    for n_readers, n_topics in ((2, 2), (3, 7), (9, 4)):
        table = rng.normal(size=(n_readers, n_topics)) + rng.normal(size=n_topics)
        found = crossed_mean(*answers_of(table))
        assert found.mean == pytest.approx(table.mean())
        assert found.variance == pytest.approx(oracle.balanced_variance(table.tolist()))
        assert found.n_answers == pytest.approx(table.size)
        assert found.spread == pytest.approx(table.var())


def test_variance_is_without_bias_where_readers_answer_different_questions():
    rng, values = np.random.default_rng(1), []
    asked = rng.random((6, 15)) < 0.5
    asked[0] = True  # every topic has an answer
    reader, topic = np.nonzero(asked)
    for _ in range(2000):
        effects = 0.5 * rng.normal(size=6)[reader] + 0.8 * rng.normal(size=15)[topic]
        found = crossed_mean(effects + rng.normal(size=len(reader)), reader, topic)
        values.append((found.mean, found.variance))
    means, variances = np.array(values).T
    true, stated = means.var(), variances.mean()
    # Standard errors of a variance over 2,000 normal draws, and of the mean of the estimates.
    error = np.hypot(true * math.sqrt(2 / 2000), variances.std() / math.sqrt(2000))
    assert abs(stated - true) < 4 * error


def test_topics_weigh_the_same_however_many_read_them():
    found = crossed_mean(
        np.array([1.0, 1.0, 1.0, 0.0]), np.array([0, 1, 2, 0]), np.array([0, 0, 0, 1])
    )
    assert found.mean == pytest.approx(0.5)


@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (1, 1)])
def test_variance_is_unknown_for_one_reader_or_topic(shape):
    assert math.isnan(crossed_mean(*answers_of(np.eye(*shape))).variance)


def test_degrees_of_freedom_are_those_of_what_varies():
    rng = np.random.default_rng(0)
    noise = 1e-3 * rng.normal(size=(4, 30))
    of_readers = crossed_mean(*answers_of(noise + rng.normal(size=(4, 1))))
    assert of_readers.degrees_of_freedom == pytest.approx(3, abs=0.01)
    of_topics = crossed_mean(*answers_of(noise + rng.normal(size=30)))
    assert of_topics.degrees_of_freedom == pytest.approx(29, abs=0.5)


def test_correlation_is_that_of_the_means_of_readers():
    """The covariance of two means is that of the readers' means over the number of readers."""
    rng = np.random.default_rng(3)
    common, own = 2 * rng.normal(size=(8, 1)), rng.normal(size=(2, 8, 1))
    first, second = (common + own[m] + rng.normal(size=(8, n)) for m, n in enumerate((12, 20)))
    one, two = answers_of(first), answers_of(second)
    scale = math.sqrt(crossed_mean(*one).variance * crossed_mean(*two).variance)
    expected = np.cov(first.mean(axis=1), second.mean(axis=1))[0, 1] / 8 / scale
    assert correlation(one, two, 8) == pytest.approx(expected)
    assert expected > 0.5


def test_correlation_is_none_where_readers_differ():
    one, two = (answers_of(np.random.default_rng(0).normal(size=(3, 4))) for _ in range(2))
    assert correlation(one, (two[0], two[1] + 3, two[2]), 6) == 0
