import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from evaluation import log_likelihood
from models import GammaPoissonTopics
from tests.evaluation.gamma_poisson.models_of import arrays_of, model_of


def sampled(topics, counts, **settings):
    return log_likelihood(topics, counts, "direct-sampling", **settings)


@pytest.mark.parametrize(
    "seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)]
)
def test_unbiased(seed):
    """On each of a few documents, many times. (Over documents of the model a wrong law passes:
    if y ~ p, the mean of q(y) / p(y) is 1 for every q.)
    """
    topics, n_times = model_of(seed, 3, 5), 800
    documents = np.array([[1, 0, 1, 0, 0], [0, 2, 0, 1, 0], [0, 0, 0, 0, 1]])
    truth = log_likelihood(topics, documents, "exact").log_likelihood

    def z(topics):
        found = sampled(topics, np.tile(documents, (n_times, 1)), n_samples=20, random_state=seed)
        ratios = np.exp(found.log_likelihood.reshape(n_times, 3) - truth)
        return np.abs(ratios.mean(axis=0) - 1) / (ratios.std(axis=0) / math.sqrt(n_times))

    assert (z(topics) < 4).all()
    # Negative control: scales p instead of p / (1 - p).
    phi, r, p = arrays_of(topics)
    assert (z(GammaPoissonTopics(phi, r, p / (1 + p))) > 4).any()


def test_the_standard_error_is_the_error():
    topics, counts = model_of(1, 3, 5), np.random.default_rng(0).poisson(1.0, size=(150, 5))
    counts = counts[counts.any(axis=1)]
    found = sampled(topics, counts, n_samples=4000, random_state=0)
    truth = log_likelihood(topics, counts, "exact").log_likelihood
    z = (found.log_likelihood - truth) / found.standard_error
    assert np.std(z) == pytest.approx(1, rel=4 / math.sqrt(2 * len(z)))
    assert (found.effective_sample_size > 5).all()
    assert (found.effective_sample_size <= 4000).all()


def test_what_is_told_of_documents():
    counts = np.random.default_rng(1).poisson(1.5, size=(9, 4))
    counts[4] = 0
    topics = model_of(0)
    found = sampled(topics, counts, random_state=0)
    assert (found.method, found.convention) == ("direct-sampling", "bag-and-length")
    assert (found.direction, found.log_likelihood[4]) == ("unbiased", topics.tilted.log_empty)
    assert (found.n_samples.tolist(), found.n_documents) == ([1000] * 4 + [0] + [1000] * 4, 9)
    topics = GammaPoissonTopics([[0.5, 0.5]], [1e-6], [0.5])
    found = sampled(topics, [[1, 1]], n_samples=5, random_state=0)
    assert (found.log_likelihood[0], found.effective_sample_size[0]) == (-np.inf, 0)


def test_more_samples_where_an_error_is_wanted():
    counts = np.random.default_rng(1).poisson(1.0, size=(9, 4))
    found = sampled(model_of(0), counts, target_standard_error=0.02, random_state=0)
    assert (found.standard_error < 0.03).all()


def test_far_from_the_prior_nothing_is_found(caplog):
    topics = GammaPoissonTopics(np.eye(3), [0.01] * 3, [0.01] * 3)
    with caplog.at_level("WARNING", "evaluation"):
        found = sampled(topics, [[400, 0, 0], [30, 30, 30]], n_samples=50, random_state=0)
    assert found.has_low_ess.all()
    assert "effective sample size" in caplog.text
    truth = log_likelihood(topics, [[400, 0, 0], [30, 30, 30]], "exact").log_likelihood
    assert (found.log_likelihood < truth - 5).all()


@pytest.mark.parametrize("probability", [1e-9, 1 - 1e-9])
def test_extreme_scales(probability):
    topics = GammaPoissonTopics([[0.5, 1e-250], [0.4, 0.0]], [2e4, 3e4], [probability] * 2)
    found = sampled(topics, [[3, 2], [1, 0]], n_samples=4000, random_state=0)
    if probability < 0.5:  # scores hardly vary
        truth = log_likelihood(topics, [[3, 2], [1, 0]], "exact").log_likelihood
        assert_allclose(found.log_likelihood, truth, atol=0.01)
    assert np.isfinite(found.log_likelihood).all()
