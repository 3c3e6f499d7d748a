"""Small topics, their documents and the exact probabilities of these."""

import numpy as np
from scipy import sparse

from models import LDATopics
from tests.oracles.lda_likelihood import log_probability_by_polynomial


def model_of(seed, n_topics=3, n_words=6, alpha=None):
    rng = np.random.default_rng(seed)
    topic_word = rng.dirichlet(np.ones(n_words), n_topics)
    return LDATopics(topic_word, rng.gamma(1, 1, n_topics) + 0.1 if alpha is None else alpha)


def without_words(weights, alpha, impossible):
    """Topics of weights, of which pairs of a topic and a word are impossible."""
    weights = weights.copy()
    for k, w in impossible:
        weights[k, w] = 0.0
    return LDATopics.from_weights(weights, alpha)


def row(document):
    return sparse.csr_array(np.atleast_2d(np.asarray(document, dtype=np.int64)))


def truth_of(topics, document):
    return log_probability_by_polynomial(document, topics.topic_word, topics.alpha)
