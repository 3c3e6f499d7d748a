import numpy as np
import pytest
from numpy.testing import assert_allclose

from models.gamma_poisson.tilted import TiltedTopics
from tests.oracles.gamma_poisson_likelihood import log_probability_by_partitions

PHI = np.array([[0.5, 1.0, 0.0], [0.2, 0.3, 0.1]])
R, P = np.array([0.7, 2.0]), np.array([0.4, 0.9])


def test_by_hand():
    tilted = TiltedTopics.of(PHI, R, P)
    # b = (1 - p) / p + Φ
    b = np.array([1.5 + 1.5, 1 / 9 + 0.6])
    assert_allclose(tilted.topic_word, PHI / b[:, None], rtol=1e-14)
    assert tilted.alpha.tolist() == R.tolist()
    expected = log_probability_by_partitions([0, 0, 0], PHI, R, P)
    assert tilted.log_empty == pytest.approx(expected, rel=1e-13)
    assert (tilted.n_topics, tilted.n_words) == (2, 3)
    tilted = TiltedTopics.of(PHI, R, P)
    tokens = np.eye(3, dtype=int)
    p = np.exp([log_probability_by_partitions(row, PHI, R, P) - tilted.log_empty for row in tokens])
    assert_allclose(R @ tilted.topic_word, p, rtol=1e-13)


@pytest.mark.parametrize("p", [1e-300, 1e-12, 1 - 1e-12])
def test_extreme_probabilities(p):
    tilted = TiltedTopics.of(PHI, R, np.array([p, p]))
    total = tilted.topic_word.sum(axis=1)
    assert ((total > 0) & (total <= 1)).all()
    assert np.isfinite(tilted.log_empty)
    assert tilted.log_empty <= 0
    if p < 0.5:
        assert tilted.log_empty == pytest.approx(-(R @ PHI.sum(axis=1)) * p, rel=1e-9)
