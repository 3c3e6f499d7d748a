"""The harmonic mean: right where a chain sees everything, far too high where it does not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from evaluation.document_blocks import DocumentBlock
from evaluation.lda.harmonic_mean import harmonic_mean, log_probabilities_given_topics
from evaluation.lda.left_to_right import straight_sequential
from evaluation.monte_carlo.token_sweep import document_words
from models import LDATopics
from tests.oracles.lda_likelihood import log_probability_by_polynomial


def model_of(seed, n_topics=3, n_words=6, alpha=None):
    rng = np.random.default_rng(seed)
    topic_word = rng.dirichlet(np.ones(n_words), n_topics)
    return LDATopics(topic_word, rng.gamma(1, 1, n_topics) + 0.1 if alpha is None else alpha)


def row(document):
    return sparse.csr_array(np.atleast_2d(np.asarray(document, dtype=np.int64)))


def truth_of(topics, document):
    return log_probability_by_polynomial(document, topics.topic_word, topics.alpha)


CASES = {
    "mixed": ([1, 0, 1, 1, 0, 0], [0.9, 1.5, 0.7], ()),
    "small alpha": ([1, 0, 0, 1, 0, 0], [0.1, 0.2, 0.1], ()),
    "large alpha": ([1, 1, 0, 1, 0, 0], [1e3, 2e3, 5e2], ()),
    "impossible words": ([2, 1, 2, 0, 0, 1], [0.5, 0.3, 0.9], ((0, 0), (1, 0), (1, 2), (2, 2))),
}


@pytest.mark.parametrize("name", CASES)
def test_right_in_the_limit(name):
    document, alpha, impossible = CASES[name]
    weights = model_of(0).topic_word.copy() + 0.1
    for k, w in impossible:
        weights[k, w] = 0.0
    topics = LDATopics.from_weights(weights, alpha)
    # What the limit is: see the module. No words are impossible in three of four cases.
    possible = log_probability_by_polynomial(document, topics.topic_word > 0, topics.alpha)
    assert (possible < -1) if impossible else (possible == pytest.approx(0, abs=1e-12))
    truth = truth_of(topics, document) - possible
    found = harmonic_mean(topics, DocumentBlock(row(document)), n_samples=40_000)
    assert abs(found.log_likelihood[0] - truth) < 4 * found.standard_error[0] < 0.1
    # Negative control: the mean of p itself, over the same chain.
    words = document_words(topics, np.flatnonzero(document).astype(np.int32))
    with np.errstate(divide="ignore"):
        log_word_topic = np.log(words.word_topic)
    n = np.array(document)[np.flatnonzero(document)]
    log_p = log_probabilities_given_topics(
        words.word_topic,
        log_word_topic,
        words.alpha,
        np.repeat(np.arange(len(n)), n),
        40_000,
        np.random.default_rng([0, 0]),
    )
    scale = n @ words.log_scale
    assert found.log_likelihood[0] == pytest.approx(scale - np.log(np.exp(-log_p).mean()))
    arithmetic = scale + np.log(np.exp(log_p).mean())
    assert abs(arithmetic - truth) > 4 * found.standard_error[0]


def test_far_too_high_at_practical_sizes():
    """The protocol of Buntine 2009, Table 1, smaller: t < -5 of the error in bits a word.

    The same check lets a sound estimator pass.
    """
    rng = np.random.default_rng(0)
    t_values = []
    for method in (harmonic_mean, straight_sequential):
        errors = []
        for _ in range(30):
            topics = LDATopics(rng.dirichlet(np.full(300, 0.5), 3), np.full(3, 0.1))
            document = rng.multinomial(14, rng.dirichlet(topics.alpha) @ topics.topic_word)
            found = method(topics, DocumentBlock(row(document)), n_samples=200)
            error = found.log_likelihood[0] - truth_of(topics, document)
            errors.append(-error / math.log(2) / 14)
        t_values.append(np.mean(errors) / (np.std(errors, ddof=1) / math.sqrt(30)))
        assert found.direction == ("upward biased" if method is harmonic_mean else "biased")
    assert t_values[0] < -5 < t_values[1]


def test_its_standard_error_does_not_know():
    rng = np.random.default_rng(1)
    topics = LDATopics(rng.dirichlet(np.full(300, 0.5), 3), np.full(3, 0.1))
    documents = rng.multinomial(14, rng.dirichlet(topics.alpha, 20) @ topics.topic_word)
    found = harmonic_mean(topics, DocumentBlock(row(documents)))
    truth = np.array([truth_of(topics, document) for document in documents])
    assert np.median((found.log_likelihood - truth) / found.standard_error) > 3


def test_one_word_300_times():
    topics = LDATopics([[0.5, 0.5], [0.49, 0.51]], [3.0, 2.0])
    found = harmonic_mean(topics, DocumentBlock(row([300, 0])), n_samples=2000)
    assert found.log_likelihood[0] == pytest.approx(truth_of(topics, [300, 0]), abs=0.5)


def test_exact_with_one_topic():
    topics = model_of(0, n_topics=1)
    counts = row([[300, 0, 1, 0, 5, 0], [0, 1, 0, 0, 0, 0]])
    found = harmonic_mean(topics, DocumentBlock(counts))
    assert_allclose(found.log_likelihood, counts @ np.log(topics.topic_word[0]), rtol=1e-12)
    assert found.standard_error.tolist() == [0.0, 0.0]
    assert found.effective_sample_size == pytest.approx([200, 200])


def test_words_so_rare_that_their_product_underflows():
    rare = 1e-290
    topics = LDATopics([[rare, 1 - rare], [rare / 2, 1 - rare / 2]], [2.0, 3.0])
    found = harmonic_mean(topics, DocumentBlock(row([3, 2])), n_samples=20_000)
    truth = log_probability_by_polynomial([3, 2], [[1.0, 1.0], [0.5, 1.0]], topics.alpha)
    assert found.log_likelihood[0] == pytest.approx(truth + 3 * math.log(rare), abs=0.05)


def test_what_is_told_of_documents():
    counts = np.random.default_rng(1).poisson(1.5, size=(9, 6))
    counts[4] = 0
    found = harmonic_mean(model_of(0), DocumentBlock(row(counts)), n_samples=30)
    assert (found.method, found.convention) == ("harmonic-mean", "sequence")
    assert (found.n_tokens == counts.sum(axis=1)).all()
    values = (found.log_likelihood[4], found.standard_error[4], found.n_samples[4])
    assert values == (0.0, 0.0, 0)
    assert np.isnan(found.effective_sample_size[4])
    others = np.arange(9) != 4
    assert (found.n_samples[others] == 30).all()
    assert ((found.effective_sample_size[others] >= 1) & (found.standard_error[others] > 0)).all()
    assert (found.effective_sample_size[others] <= 30).all()
    assert (harmonic_mean(model_of(0), DocumentBlock(row(counts))).n_samples[others] == 200).all()
    single = harmonic_mean(model_of(0), DocumentBlock(row(counts)), n_samples=1)
    assert np.isnan(single.standard_error[others]).all()
    assert np.isfinite(single.log_likelihood).all()
