"""How probable documents are in each field of a model, given its table of partition functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

if TYPE_CHECKING:
    from scipy import sparse

    from models.poisson_mrf.topics import PoissonMRFTopics

Floats = NDArray[np.float64]

DOCUMENTS_AT_ONCE = 1024
"""Documents that are multiplied by Φ at a time: the product holds most pairs of them and words."""


def field_scores(topics: PoissonMRFTopics, counts: sparse.csr_array) -> Floats:
    """(D, K), log-probability of each document's tokens in order under each field.

    θ^k·x + ω_k(L) x·Φ^k x - (A^k_L + log L!), which is the log-probability of the counts x less
    log(L! / ∏ x_s!) (Inouye et al. 2015, eq. 1). `counts` (D, V) are whole numbers.
    """
    documents = counts.astype(np.float64)
    length = np.asarray(counts.sum(axis=1), dtype=np.int64).ravel()
    table = topics.log_partition_to(int(length.max(initial=1)))
    scores: Floats = documents @ np.log(topics.topic_word.T) - table[:, length].T
    for k, field in enumerate(topics.fields):
        if not field.n_interactions:
            continue
        for first in range(0, len(length), DOCUMENTS_AT_ONCE):
            block = slice(first, first + DOCUMENTS_AT_ONCE)
            some = documents[block]
            pairs = np.asarray((some @ field.interactions).multiply(some).sum(axis=1)).ravel()
            scores[block, k] += field.weight(length[block]) * pairs
    return scores


def log_arrangements(counts: sparse.csr_array) -> Floats:
    """(D,), log(L! / ∏ x_s!): how many orders the tokens of documents (D, V) have."""
    data = counts.data.astype(np.float64)
    total = np.concatenate([[0.0], np.cumsum(gammaln(data + 1.0))])
    length = np.concatenate([[0.0], np.cumsum(data)])
    start, end = counts.indptr[:-1], counts.indptr[1:]
    found: Floats = gammaln(length[end] - length[start] + 1.0) - (total[end] - total[start])
    return found
