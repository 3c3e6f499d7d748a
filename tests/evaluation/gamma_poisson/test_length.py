import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import gammaln

from evaluation.gamma_poisson.length import log_length_probability, log_sum_of_negative_binomials
from models import GammaPoissonTopics
from tests.evaluation.gamma_poisson.models_of import arrays_of, model_of
from tests.oracles.gamma_poisson_likelihood import length_probabilities, simulated_documents


@pytest.mark.parametrize(("r", "p"), [(0.3, 0.01), (2.5, 0.5), (40.0, 0.9)])
def test_of_one_topic_it_is_negative_binomial(r, p):
    topics, n = GammaPoissonTopics([[0.5, 1.2]], [r], [p]), np.arange(160)
    expected = stats.nbinom.logpmf(n, r, (1 - p) / (1 - p + 1.7 * p))
    assert_allclose(log_length_probability(topics, n), expected, rtol=1e-11)


@pytest.mark.parametrize("seed", range(4))
def test_of_several_it_is_their_convolution(seed):
    topics = model_of(seed, n_topics=3)
    found = np.exp(log_length_probability(topics, np.arange(60)))
    assert_allclose(found, length_probabilities(59, *arrays_of(topics)), rtol=1e-11)


@pytest.mark.parametrize(
    ("r", "p"), [([2.0, 1.5], 0.9995), ([1500.0, 700.0], 0.7), ([0.01, 0.02], 0.9999)]
)
def test_thousands_of_tokens(r, p):
    """Topics with the same Q together make one negative binomial number."""
    topics = GammaPoissonTopics([[0.5, 0.5], [0.2, 0.8]], r, [p, p])
    n = np.array([5000, 0, 1, 4999, 2500])
    found = log_length_probability(topics, n)
    assert_allclose(found, stats.nbinom.logpmf(n, sum(r), 1 - p), rtol=1e-9)


def test_the_recursion_scales_large_numbers_down():
    r, n = np.array([1500.0, 700.0]), np.arange(2001)
    found = log_sum_of_negative_binomials(r, np.ones(2), 2000)  # reaches e^2500
    expected = gammaln(r.sum() + n) - gammaln(r.sum()) - gammaln(n + 1.0)
    assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_thousands_of_tokens_and_lengths_that_underflow():
    topics, n = GammaPoissonTopics([[0.5, 1.2]], [0.3], [0.01]), np.arange(300)
    expected = stats.nbinom.logpmf(n, 0.3, 0.99 / (0.99 + 0.017))
    assert_allclose(log_length_probability(topics, n), expected, rtol=1e-11)
    one = GammaPoissonTopics.from_lda(np.full((2, 3), 1 / 3), [0.3, 0.4], 0.999)
    n = np.array([0, 7, 10**6, 10**9])
    assert_allclose(log_length_probability(one, n), stats.nbinom.logpmf(n, 0.7, 1e-3), rtol=1e-9)
    other = GammaPoissonTopics([[1.0], [1.0]], [0.3, 0.4], [0.999, 0.9])
    with pytest.raises(ValueError, match=r"1,000,000 tokens: .*bag-and-length"):
        log_length_probability(other, n[:3])
    one = GammaPoissonTopics([[0.5, 1.2]], [0.7], [0.4])
    two, n = GammaPoissonTopics([[0.5, 1.2], [0.0, 0.0]], [0.7, 5.0], [0.4, 0.9]), np.arange(20)
    assert_allclose(log_length_probability(two, n), log_length_probability(one, n), rtol=1e-13)


def test_shapes_and_refusals():
    topics = model_of(0)
    assert log_length_probability(topics, []).shape == (0,)
    assert log_length_probability(topics, [0])[0] == pytest.approx(topics.tilted.log_empty)
    with pytest.raises(ValueError, match="cannot have -1"):
        log_length_probability(topics, [3, -1])


def test_lengths_of_drawn_documents():
    topics = model_of(1, n_topics=3)
    drawn = simulated_documents(*arrays_of(topics), 20_000, np.random.default_rng(0)).sum(axis=1)
    observed = np.bincount(np.minimum(drawn, 12), minlength=13)
    p = np.exp(log_length_probability(topics, np.arange(12)))
    expected = 20_000 * np.append(p, 1 - p.sum())
    assert stats.chisquare(observed, expected).pvalue > 1e-4
    # Negative control: lengths of documents one token longer.
    assert stats.chisquare(np.roll(observed, 1), expected).pvalue < 1e-4
