"""Documents drawn from a known LDA."""

import numpy as np
from scipy import sparse


def block_topics(n_topics, words_each):
    """Topics (K, K · words_each) that share no word, each even over its own."""
    return np.kron(np.eye(n_topics), np.full((1, words_each), 1.0 / words_each))


def simulated_documents(topic_word, alpha, n_docs, length, rng):
    """Counts (D, V), and the topic proportions (D, K) that they were drawn with."""
    n_topics, n_words = topic_word.shape
    counts = np.zeros((n_docs, n_words), dtype=np.int32)
    proportions = rng.dirichlet(np.broadcast_to(np.asarray(alpha, float), n_topics), size=n_docs)
    cumulative = np.cumsum(topic_word, axis=1)
    cumulative /= cumulative[:, -1:]
    for d in range(n_docs):
        topics = rng.choice(n_topics, size=length, p=proportions[d])
        words = (cumulative[topics] <= rng.random((length, 1))).sum(axis=1)
        counts[d] = np.bincount(words, minlength=n_words)
    return sparse.csr_array(counts), proportions
