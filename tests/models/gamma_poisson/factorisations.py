"""Small counts for trainers that factorise them, and how to compare what they learn."""

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from tests.oracles.simulated import block_topics, simulated_documents


def random_counts(seed=0, n_docs=60, n_words=12, rate=0.8):
    counts = np.random.default_rng(seed).poisson(rate, size=(n_docs, n_words)).astype(np.int32)
    return sparse.csr_array(counts)


def block_counts(seed, n_docs=150):
    """Documents of three topics that share no word. Also the share (K, V) that each word has in the
    tokens of its topic, and how many tokens of each topic documents have (D, K): as it is known
    what topic a token is of, these are what factorisations of the counts should find, exactly.
    """
    truth, rng = block_topics(3, 5), np.random.default_rng(seed)
    counts, _ = simulated_documents(truth, 0.3, n_docs, 80, rng)
    of_topic, tokens = (truth > 0) * counts.sum(axis=0), counts.toarray() @ (truth.T > 0)
    return counts, of_topic / of_topic.sum(axis=1, keepdims=True), tokens


def match(found, truth):
    return linear_sum_assignment(-found @ truth.T)[1]
