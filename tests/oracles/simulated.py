"""Documents drawn from a known LDA, token by token."""

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
    for d in range(n_docs):
        for k in rng.choice(n_topics, size=length, p=proportions[d]):
            counts[d, rng.choice(n_words, p=topic_word[k])] += 1
    return sparse.csr_array(counts), proportions
