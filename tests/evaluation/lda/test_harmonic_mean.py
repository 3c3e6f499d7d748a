import math

import numpy as np
import pytest

from evaluation.document_blocks import DocumentBlock
from evaluation.lda.harmonic_mean import harmonic_mean, log_probabilities_given_topics
from evaluation.lda.left_to_right import straight_sequential
from evaluation.monte_carlo.token_sweep import document_words
from models import LDATopics
from tests.evaluation.lda.small_topics import model_of, row, truth_of, without_words
from tests.oracles.lda_likelihood import log_probability_by_polynomial

CASES = {
    "mixed": ([1, 0, 1, 1, 0, 0], [0.9, 1.5, 0.7], ()),
    "small alpha": ([1, 0, 0, 1, 0, 0], [0.1, 0.2, 0.1], ()),
    "large alpha": ([1, 1, 0, 1, 0, 0], [1e3, 2e3, 5e2], ()),
    "impossible words": ([2, 1, 2, 0, 0, 1], [0.5, 0.3, 0.9], ((0, 0), (1, 0), (1, 2), (2, 2))),
}


@pytest.mark.parametrize("name", CASES)
def test_right_in_the_limit(name):
    document, alpha, impossible = CASES[name]
    topics = without_words(model_of(0).topic_word + 0.1, alpha, impossible)
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
    of_words, rng = (words.word_topic, log_word_topic, words.alpha), np.random.default_rng([0, 0])
    log_p = log_probabilities_given_topics(*of_words, np.repeat(np.arange(len(n)), n), 40_000, rng)
    scale = n @ words.log_scale
    assert found.log_likelihood[0] == pytest.approx(scale - np.log(np.exp(-log_p).mean()))
    assert abs((scale + np.log(np.exp(log_p).mean())) - truth) > 4 * found.standard_error[0]


def test_it_is_far_too_high_and_does_not_know():
    rng, t_values = np.random.default_rng(0), []
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
    rng = np.random.default_rng(1)
    topics = LDATopics(rng.dirichlet(np.full(300, 0.5), 3), np.full(3, 0.1))
    documents = rng.multinomial(14, rng.dirichlet(topics.alpha, 20) @ topics.topic_word)
    found = harmonic_mean(topics, DocumentBlock(row(documents)))
    truth = np.array([truth_of(topics, document) for document in documents])
    assert np.median((found.log_likelihood - truth) / found.standard_error) > 3
