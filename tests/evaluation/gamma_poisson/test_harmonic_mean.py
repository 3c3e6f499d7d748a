import math

import numpy as np
from numpy.testing import assert_allclose

from evaluation import log_likelihood
from evaluation.gamma_poisson.harmonic_mean import log_probabilities_of_posterior
from models import GammaPoissonTopics
from tests.evaluation.gamma_poisson.models_of import arrays_of, model_of
from tests.oracles.gamma_poisson_likelihood import simulated_documents


def harmonic(topics, counts, **settings):
    return log_likelihood(topics, counts, "harmonic-mean", **settings)


LIMIT = GammaPoissonTopics([[0.3, 0.1, 0.02], [0.05, 0.2, 0.4]], [6.0, 8.0], [0.3, 0.2])
"""Scores are so sure beforehand that a few words hardly move them, and 1 / p has a variance."""


def test_right_in_the_limit():
    counts = [[1, 0, 1], [2, 1, 0], [0, 3, 1]]
    found = harmonic(LIMIT, counts, n_samples=20_000, random_state=0)
    truth = log_likelihood(LIMIT, counts, "exact").log_likelihood
    assert (np.abs(found.log_likelihood - truth) < 4 * found.standard_error).all()
    assert (found.standard_error < 0.02).all()
    # Negative control: scales of p, as if each topic summed to 1.
    phi, r, p = arrays_of(LIMIT)
    norm = phi.sum(axis=1, keepdims=True)
    wrong = harmonic(GammaPoissonTopics(phi / norm, r, p), counts, n_samples=20_000, random_state=0)
    assert (np.abs(wrong.log_likelihood - truth) > 4 * wrong.standard_error).all()


def test_scores_are_of_the_posterior():
    """The mean of a score given one word: r_k and the word's probability of being of topic k."""
    q, prior = np.zeros((1, 8)), np.zeros(8)
    q[0, :2], prior[:2] = [0.5, 0.25], [0.7, 1.2]
    expected = np.zeros(8)
    expected[:2] = [-1.0, 0.0]  # what is recorded is then n log(q u) + u_0
    rng, n = np.random.default_rng(0), np.array([1])
    with_first = log_probabilities_of_posterior(q, n, prior, expected, 40_000, rng)
    rng = np.random.default_rng(0)
    without = log_probabilities_of_posterior(q, n, prior, 0 * expected, 40_000, rng)
    scores = (with_first - without)[::4]  # nearly independent
    # The word is of topic 0 in proportion to q r.
    share, error = 0.5 * 0.7 / (0.5 * 0.7 + 0.25 * 1.2), scores.std() / math.sqrt(len(scores))
    assert abs(scores.mean() - (0.7 + share)) < 4.5 * error
    assert abs(scores.mean() - 0.7) > 4.5 * error  # negative control: the prior's


def test_too_high_where_the_prior_is_wide():
    """t > 5 of the error; unbiased sampling passes the same check."""
    rng = np.random.default_rng(0)
    topics = GammaPoissonTopics(rng.dirichlet(np.full(60, 0.2), 4), [0.3] * 4, [0.9] * 4)
    counts = simulated_documents(*arrays_of(topics), 60, rng)
    counts = counts[(counts.sum(axis=1) >= 4) & (counts.sum(axis=1) <= 30)]
    assert len(counts) > 20
    truth = log_likelihood(topics, counts, "exact").log_likelihood

    def t(method, n_samples):
        found = log_likelihood(topics, counts, method, n_samples=n_samples, random_state=0)
        error = found.log_likelihood - truth
        return error.mean() / (error.std(ddof=1) / math.sqrt(len(error)))

    assert t("harmonic-mean", 1000) > 5
    assert abs(t("left-to-right-exact", 2000)) < 4


def test_exact_with_a_topic_that_hardly_varies():
    topics, counts = GammaPoissonTopics([[0.3, 0.7, 1e-250]], [1e9], [1e-9]), [[3, 2, 0], [0, 1, 2]]
    found = harmonic(topics, counts, n_samples=50, random_state=0)
    truth = log_likelihood(topics, counts, "exact").log_likelihood
    assert_allclose(found.log_likelihood, truth, atol=1e-3)


def test_what_is_told_of_documents():
    counts = np.random.default_rng(1).poisson(1.5, size=(9, 4))
    counts[4] = 0
    topics = model_of(0)
    found = harmonic(topics, counts, random_state=0)
    assert (found.method, found.convention) == ("harmonic-mean", "bag-and-length")
    assert (found.direction, found.log_likelihood[4]) == ("upward biased", topics.tilted.log_empty)
    assert found.n_samples.tolist() == [1000] * 4 + [0] + [1000] * 4
    others = np.arange(9) != 4
    assert (found.standard_error[others] > 0).all()
    single = harmonic(topics, counts, n_samples=1, random_state=0)
    assert np.isnan(single.standard_error[others]).all()
    assert np.isfinite(single.log_likelihood).all()
