"""Log-probability of documents in each field, given a table of partition functions."""

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from models.arrays import Floats
from models.poisson_mrf.edges import Fields

DOCUMENTS_AT_ONCE = 1024
"""Documents to multiply by Φ at a time: the product holds most pairs of them and words."""


def field_scores(topics: Fields, counts: sparse.csr_array) -> Floats:
    """(D, K), log-probability of each document's tokens in order under each field.
    θ^k·x + ω_k(L) x·Φ^k x - (A^k_L + log L!), that of the counts x (D, V), whole numbers, less
    log(L! / ∏ x_s!) (Inouye et al. 2015, eq. 1).
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
            product = some @ field.interactions
            product.sort_indices()  # or sums are in another order where all rows happen to be in it
            pairs = np.asarray(product.multiply(some).sum(axis=1)).ravel()
            scores[block, k] += field.weight(length[block]) * pairs
    return scores


def log_arrangements(counts: sparse.csr_array) -> Floats:
    """(D,), log(L! / ∏ x_s!): how many orders the tokens of documents (D, V) have."""
    length = np.asarray(counts.sum(axis=1), dtype=np.int64).ravel()
    arrays = (gammaln(counts.data + 1.0), counts.indices, counts.indptr)
    of_words: Floats = np.asarray(sparse.csr_array(arrays, shape=counts.shape).sum(axis=1)).ravel()
    return gammaln(length + 1.0) - of_words  # of each by itself, whatever is before it
