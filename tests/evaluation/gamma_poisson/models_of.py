"""Small models with everything that may be awkward, and their documents."""

import numpy as np

from models import GammaPoissonTopics
from tests.oracles.gamma_poisson_likelihood import log_probability_by_quadrature


def model_of(seed, n_topics=2, n_words=4):
    """Topics that sum to anything from 0.5 to 2, fractional r, some words impossible in some."""
    rng = np.random.default_rng(seed)
    topic_word = (
        rng.dirichlet(np.full(n_words, 0.6), n_topics) * rng.uniform(0.5, 2, n_topics)[:, None]
    )
    topic_word[topic_word < 0.02] = 0.0
    topic_word[0] += 0.05
    shape = rng.uniform(0.2, 2.0, n_topics)
    return GammaPoissonTopics(topic_word, shape, rng.uniform(0.3, 0.7, n_topics))


def arrays_of(topics):
    return topics.topic_word, topics.shape, topics.probability


def truth_of(topics, document):
    return log_probability_by_quadrature(document, *arrays_of(topics))
