import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from evaluation.document_blocks import DocumentBlock
from evaluation.lda.harmonic_mean import harmonic_mean
from evaluation.lda.left_to_right import left_to_right_particle, straight_sequential
from evaluation.lda.mean_field import mean_field_is_1, mean_field_is_2
from models import LDATopics
from tests.evaluation.lda.small_topics import model_of, row, truth_of
from tests.oracles.lda_likelihood import log_probability_by_polynomial

LEFT_TO_RIGHT = {
    left_to_right_particle: "left-to-right-particle",
    straight_sequential: "left-to-right-sequential (straight)",
}
MEAN_FIELD = {mean_field_is_1: "mean-field-is-1", mean_field_is_2: "mean-field-is-2"}
NAMES = {harmonic_mean: "harmonic-mean", **LEFT_TO_RIGHT, **MEAN_FIELD}
METHODS = pytest.mark.parametrize("method", NAMES)


@METHODS
def test_one_word_300_times(method):
    """Topics as likely as each other where there is a chain, so that it moves between them."""
    weights, alpha, n_samples = [[0.5, 0.5], [0.45, 0.55]], [3.0, 2.0], 100
    if method in MEAN_FIELD:
        weights, alpha, n_samples = [[0.3, 0.7], [0.6, 0.4]], [2.0, 1.0], 20_000
    elif method is harmonic_mean:
        weights, n_samples = [[0.5, 0.5], [0.49, 0.51]], 2000
    topics = LDATopics(weights, alpha)
    found = method(topics, DocumentBlock(row([300, 0])), n_samples=n_samples)
    error, standard_error = found.log_likelihood[0] - truth_of(topics, [300, 0]), 0.125
    if method in MEAN_FIELD:
        standard_error = found.standard_error[0]
        assert standard_error < 0.5
    assert abs(error) < 4 * standard_error
    assert found.n_tokens.tolist() == [300]


@METHODS
def test_exact_with_one_topic_and_for_one_token(method):
    topics, counts = model_of(0, n_topics=1), row([[300, 0, 1, 0, 5, 0], [0, 1, 0, 0, 0, 0]])
    found = method(topics, DocumentBlock(counts), n_samples=200)
    assert_allclose(found.log_likelihood, counts @ np.log(topics.topic_word[0]), rtol=1e-12)
    assert_allclose(found.standard_error, 0.0, atol=1e-12)
    if method not in LEFT_TO_RIGHT:
        assert found.standard_error.tolist() == [0.0, 0.0]
        assert found.effective_sample_size == pytest.approx([200, 200])
    if method is not harmonic_mean:
        topics = model_of(0)
        found = method(topics, DocumentBlock(row(np.eye(6))), n_samples=5)
        expected = np.log(topics.alpha @ topics.topic_word / topics.alpha.sum())
        assert_allclose(found.log_likelihood, expected, rtol=1e-12)
        assert_allclose(found.standard_error, 0.0, atol=1e-12)


@METHODS
def test_words_so_rare_that_their_product_underflows(method):
    rare, document = 1e-290, [3, 2] if method is harmonic_mean else [5, 3]
    topics = LDATopics([[rare, 1 - rare], [rare / 2, 1 - rare / 2]], [2.0, 3.0])
    found = method(topics, DocumentBlock(row(document)), n_samples=20_000)
    truth = log_probability_by_polynomial(document, [[1.0, 1.0], [0.5, 1.0]], topics.alpha)
    within = 0.05 if method is harmonic_mean else 0.02
    if method in MEAN_FIELD:
        within = 4 * found.standard_error[0]
    error = abs(found.log_likelihood[0] - truth - document[0] * math.log(rare))
    assert error < within < 0.1


@METHODS
def test_what_is_told_of_documents(method):
    counts = np.random.default_rng(1).poisson(1.5, size=(9, 6))
    counts[4] = 0
    found = method(model_of(0), DocumentBlock(row(counts)), n_samples=30)
    direction = "biased" if method in LEFT_TO_RIGHT else "unbiased"
    direction = "upward biased" if method is harmonic_mean else direction
    assert (found.method, found.direction) == (NAMES[method], direction)
    assert found.convention == "sequence"
    assert (found.n_tokens == counts.sum(axis=1)).all()
    values = (found.log_likelihood[4], found.standard_error[4], found.n_samples[4])
    assert values == (0.0, 0.0, 0)
    others, size = np.arange(9) != 4, found.effective_sample_size
    assert (found.n_samples[others] == 30).all()
    assert (found.standard_error[others] > 0).all()
    assert np.isnan(size[4])
    assert np.isnan(size).all() or ((size[others] >= 1) & (size[others] <= 30)).all()
    assert np.isnan(size[0]) == (method in LEFT_TO_RIGHT)
    default = 100 if method in LEFT_TO_RIGHT else 200
    assert (method(model_of(0), DocumentBlock(row(counts))).n_samples[others] == default).all()
    single = method(model_of(0), DocumentBlock(row(counts)), n_samples=1)
    assert np.isnan(single.standard_error[others]).all()
    assert np.isfinite(single.log_likelihood).all()
