import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from evaluation import log_likelihood
from evaluation.gamma_poisson.by_lda import by_lda, log_factor
from evaluation.lda.variational_bound import variational_bound
from models import GammaPoissonTopics, LDATopics
from tests.evaluation.gamma_poisson.models_of import model_of, truth_of

SAMPLING = ["left-to-right-sequential", "mean-field-is-1", "mean-field-is-2"]
METHODS = pytest.mark.parametrize("method", ["exact", *SAMPLING, "variational-bound"])


def documents(n_docs=9, n_words=4):
    counts = np.random.default_rng(1).poisson(1.5, size=(n_docs, n_words))
    counts[4] = 0
    return counts


@METHODS
def test_what_is_told_of_documents(method):
    topics, counts = model_of(0), documents()
    found = log_likelihood(topics, counts, method, random_state=0)
    assert (found.method, found.convention) == (method, "bag-and-length")
    one_topic = LDATopics([[0.5, 0.5]], [1.0])
    assert found.direction == log_likelihood(one_topic, [[1, 1]], method).direction
    assert found.log_likelihood[4] == pytest.approx(topics.tilted.log_empty, rel=1e-12)
    assert found.n_documents == 9
    truth = np.array([truth_of(topics, document) for document in counts])
    tolerance = 5 * found.standard_error + (1.0 if method == "variational-bound" else 1e-9)
    assert (np.abs(found.log_likelihood - truth) < tolerance).all()


@METHODS
def test_it_is_what_it_is_for_lda_given_the_length(method):
    rng = np.random.default_rng(0)
    topic_word, alpha = rng.dirichlet(np.ones(4), 3), rng.gamma(1, 1, 3) + 0.1
    settings = {"method": method, "convention": "sequence", "random_state": 0}
    expected = log_likelihood(LDATopics(topic_word, alpha), documents(), **settings)
    topics = GammaPoissonTopics.from_lda(topic_word, alpha, 0.4)
    found = log_likelihood(topics, documents(), **settings)
    assert_allclose(found.log_likelihood, expected.log_likelihood, rtol=1e-6, atol=1e-6)
    assert_allclose(found.standard_error, expected.standard_error, rtol=1e-6, atol=1e-9)


def test_the_bound_is_below():
    topics, counts = model_of(2, 3), documents(40)
    bound = log_likelihood(topics, counts, "variational-bound").log_likelihood
    assert (bound <= log_likelihood(topics, counts, "exact").log_likelihood + 1e-9).all()


def test_the_name_of_an_estimator_stays():
    assert by_lda(variational_bound).__doc__ == variational_bound.__doc__


@pytest.mark.parametrize("method", SAMPLING)
def test_samples_are_unbiased(method):
    # Shapes above 1, so that no assignment is too rare for 8000 samples and weighs all the more.
    phi = [[0.5, 0.3, 0.2, 0.4], [0.1, 0.2, 0.7, 0.3]]
    topics, n_times = GammaPoissonTopics(phi, [1.5, 2.0], [0.4, 0.3]), 400
    few = np.array([[1, 0, 1, 0], [0, 2, 0, 1], [2, 0, 0, 1]])
    truth = [truth_of(topics, document) for document in few]
    found = log_likelihood(topics, np.tile(few, (n_times, 1)), method, n_samples=20, random_state=0)
    ratios = np.exp(found.log_likelihood.reshape(n_times, 3) - truth)
    error = ratios.std(axis=0) / math.sqrt(n_times)
    assert (np.abs(ratios.mean(axis=0) - 1) < 4 * error + 1e-9).all()
    # Negative control: without the number of tokens in the normalisation of scores.
    wrong = ratios * np.exp(-log_factor(topics, sparse.csr_array(few)) + topics.tilted.log_empty)
    assert (np.abs(wrong.mean(axis=0) - 1) > 4 * wrong.std(axis=0) / math.sqrt(n_times)).any()
