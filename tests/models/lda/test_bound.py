import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import psi

from models.lda.bound import document_bound, topic_bound
from models.variational.word_probability import log_word_probability
from tests.oracles import online_vb

positive = st.floats(1e-3, 50.0)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), n_topics=st.integers(1, 4), n_words=st.integers(1, 5))
def test_equals_the_naive_bounds(data, n_topics, n_words):
    topic_word_dirichlet = data.draw(hnp.arrays(float, (n_topics, n_words), elements=positive))
    alpha = data.draw(hnp.arrays(float, n_topics, elements=positive))
    eta = data.draw(hnp.arrays(float, n_words, elements=positive))
    gamma = data.draw(hnp.arrays(float, (3, n_topics), elements=positive))
    counts = data.draw(hnp.arrays(int, (3, n_words), elements=st.integers(0, 5)))
    elog = np.array([online_vb.expected_log(row) for row in topic_word_dirichlet])
    elog = np.maximum(elog, -500.0)
    expected = [
        online_vb.document_bound(counts[d], elog, alpha, gamma[d]) for d in range(len(counts))
    ]
    found = document_bound(sparse.csr_array(counts), np.exp(elog).T.copy(), alpha, gamma)
    assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    topics = sum(online_vb.negative_divergence(eta, row) for row in topic_word_dirichlet)
    assert topic_bound(topic_word_dirichlet, eta) == pytest.approx(topics, rel=1e-9, abs=1e-9)


def test_limits_of_the_bounds():
    eta = np.array([0.1, 2.0, 0.7])
    assert topic_bound(np.tile(eta, (4, 1)), eta) == pytest.approx(0.0, abs=1e-12)
    rng = np.random.default_rng(0)
    for _ in range(50):
        assert topic_bound(rng.gamma(1.0, 1.0, (3, 5)) + 1e-3, rng.gamma(1.0, 1.0, 5) + 1e-3) <= 0
    counts, alpha = sparse.csr_array(np.array([[1, 0]])), np.full(2, 1e-4)
    weight = np.array([[0.5, 0.5], [0.5, 0.5]])
    found = document_bound(counts, weight, alpha, np.array([[1e-4, 1e-4]]))[0]
    assert found == pytest.approx(psi(1e-4) - psi(2e-4) + np.log(2 * 0.5), rel=1e-6)


def test_log_word_probability_is_its_numpy_equivalent():
    rng = np.random.default_rng(1)
    counts = rng.poisson(0.5, size=(70, 40))
    theta, word_topic = rng.dirichlet(np.ones(3), 70), rng.dirichlet(np.ones(40), 3).T.copy()
    expected = (counts * np.log(theta @ word_topic.T)).sum(axis=1)
    for n_jobs in (1, 2):
        found = log_word_probability(sparse.csr_array(counts), theta, word_topic, n_jobs)
        assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")  # with compilation off
def test_impossible_word_is_minus_infinity_in_its_document_alone():
    counts = sparse.csr_array(np.array([[1, 1], [3, 0], [0, 0]]))
    found = log_word_probability(counts, np.ones((3, 1)), np.array([[1.0], [0.0]]))
    assert_allclose(found, [-np.inf, 0.0, 0.0])
