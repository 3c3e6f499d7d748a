"""The likelihood of documents under a mixture of Poisson MRFs: a sum over its components.

    log p(j | L) = log Σ_k π_k exp(θ^k·x + ω_k(L) x·Φ^k x - Ã^k_L)

of tokens in order, which is the bag probability of the counts x divided by L! / ∏ x_s!; Ã_L = A_L +
log L! is the model's table (Inouye et al. 2015, eq. 1 and Sec. 3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from evaluation.estimate import LikelihoodEstimate

if TYPE_CHECKING:
    from scipy import sparse

    from models.poisson_mrf.topics import PoissonMRFMixture, PoissonMRFTopics

Floats = NDArray[np.float64]


def mixture_exact(
    topics: PoissonMRFMixture,
    counts: sparse.csr_array,
    *,
    n_samples: int | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    max_memory: int | None = None,
) -> LikelihoodEstimate:
    """Log-probability of each document's tokens in order; the last four settings change nothing.

    It is exact given the model's table of partition functions, which are estimates themselves.
    """
    del n_samples, seed, n_jobs, max_memory
    n_tokens = np.asarray(counts.sum(axis=1), dtype=np.int64).ravel()
    log_likelihood = logsumexp(_log_joint(topics, counts), axis=1)
    return LikelihoodEstimate(
        log_likelihood=np.where(n_tokens > 0, log_likelihood, 0.0),
        standard_error=np.zeros(len(n_tokens)),
        n_tokens=n_tokens,
        method="exact",
        convention="sequence",
        direction="exact",
    )


def responsibilities(topics: PoissonMRFMixture, counts: sparse.csr_array) -> Floats:
    """(D, K), probability of each component given a document; π where it has no tokens."""
    found: Floats = softmax(_log_joint(topics, counts), axis=1)
    empty = np.asarray(counts.sum(axis=1)).ravel() == 0
    found[empty] = topics.component_share
    return found


def _log_joint(topics: PoissonMRFMixture, counts: sparse.csr_array) -> Floats:
    """(D, K), log of π_k times the probability of the tokens in order under component k."""
    found: Floats = np.log(topics.component_share) + field_scores(topics, counts)
    return found


def field_scores(topics: PoissonMRFTopics, counts: sparse.csr_array) -> Floats:
    """(D, K), log-probability of each document's tokens in order under each field."""
    documents = counts.astype(np.float64)
    length = np.asarray(counts.sum(axis=1), dtype=np.int64).ravel()
    table = topics.log_partition_to(int(length.max(initial=1)))
    scores: Floats = documents @ np.log(topics.topic_word.T) - table[:, length].T
    for k, field in enumerate(topics.fields):
        if field.n_interactions:
            pairs = (documents @ field.interactions).multiply(documents).sum(axis=1)
            scores[:, k] += field.weight(length) * np.asarray(pairs).ravel()
    return scores
