"""Small random counts, and models and states for them."""

from functools import cache

import numpy as np
from scipy import sparse
from scipy.special import psi

from evaluation import log_likelihood
from models import OnlineLDA, OnlineLDAState
from tests.oracles.simulated import simulated_documents

BAD_PRIORS = (0.0, -1.0, np.nan, np.inf, "auto", None, {}, [0.1], [0.1] * 99, [[1.0]])


def random_counts(seed=0, n_docs=60, n_words=12, rate=0.8):
    counts = np.random.default_rng(seed).poisson(rate, size=(n_docs, n_words)).astype(np.int32)
    return sparse.csr_array(counts)


def fitted_lambda(counts, **settings):
    return OnlineLDA(**{"n_topics": 3, "random_state": 0, **settings}).fit(counts)


def elog_of(topic_word_dirichlet):
    return psi(topic_word_dirichlet) - psi(topic_word_dirichlet.sum(axis=1, keepdims=True))


def state_of(topic_word_dirichlet, alpha, eta, frozen=()):
    excess = topic_word_dirichlet.T - eta[:, None]
    return OnlineLDAState(
        excess=np.ascontiguousarray(excess),
        scale=1.0,
        excess_sum=excess.sum(axis=0),
        alpha=alpha.copy(),
        eta=eta.copy(),
        frozen=np.isin(np.arange(len(eta)), list(frozen)),
        n_batches=0,
        n_documents=0,
        seed=0,
    )


@cache
def simulated_corpus(n_train=2000, n_test=200, n_topics=10, n_words=600, length=60):
    """Counts to train on and to test with, of documents drawn from one LDA."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(n_words, 0.05), n_topics)
    counts, _ = simulated_documents(topics, 0.1, n_train + n_test, length, rng)
    return sparse.csr_array(counts[:n_train]), sparse.csr_array(counts[n_train:])


def perplexity_of(model, counts):
    """By document completion, always with the same halves."""
    return log_likelihood(model, counts, "completion", n_samples=1, random_state=0).perplexity
