"""Event of a document's log-probability: its tokens in order, its counts, or also its length.

    log p(tokens in order | length) = log p(counts | length) - log(N! / ∏_w y_w!)
    log p(counts and length)        = log p(counts | length) + log p(length)

LDA does not model lengths, and by custom scores tokens in order. Gamma-Poisson models are of counts
and so of lengths; Poisson MRFs of a fixed length are of counts given the length. Given the length,
all can be compared.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from evaluation.arrays import Floats, Ints
from evaluation.document_blocks import DocumentBlock
from evaluation.estimate import Convention, LikelihoodEstimate

LogLength = Callable[[Any, Ints], Floats]

CONVENTIONS: tuple[str, ...] = get_args(Convention)


def in_convention(
    estimate: LikelihoodEstimate,
    topics: Any,
    documents: DocumentBlock,
    convention: Convention,
    log_length: LogLength | None = None,
) -> LikelihoodEstimate:
    """Return the estimate of `topics` for documents in another convention.

    The change of each document's log-probability is exact, so that errors stay the same.

    Raises ValueError if the model does not model lengths, or the estimate is not of whole
    documents.
    """
    if convention not in CONVENTIONS:
        raise ValueError(f"convention must be one of {CONVENTIONS}, found {convention!r}")
    if convention == estimate.convention:
        return estimate
    if not np.array_equal(estimate.n_tokens, documents.n_tokens):
        raise ValueError(
            f"{estimate.method} scores a part of each document given the rest: it knows no other "
            f"convention than {estimate.convention!r}"
        )
    change = log_change(topics, documents.counts, estimate.convention, convention, log_length)
    return replace(estimate, log_likelihood=estimate.log_likelihood + change, convention=convention)


def log_change(
    topics: Any,
    counts: sparse.csr_array,
    before: Convention,
    after: Convention,
    log_length: LogLength | None = None,
) -> Floats:
    """Return the change (D,) of documents' log-probabilities between two conventions.

    Raises ValueError if one of them includes lengths, and `log_length` of the topics is None.
    """
    n_tokens = np.asarray(counts.sum(axis=1), dtype=np.int64).ravel()
    log_orders = gammaln(n_tokens + 1) - log_factorials(counts)
    nothing = np.zeros(len(n_tokens))
    to_bag = {"sequence": log_orders, "bag": nothing, "bag-and-length": nothing}
    if "bag-and-length" in (before, after):
        if log_length is None:
            raise ValueError(
                f"{type(topics).__name__} are no model of how long documents are: "
                'the convention can be "sequence" or "bag"'
            )
        to_bag["bag-and-length"] = -log_length(topics, n_tokens)
    return to_bag[before] - to_bag[after]


def log_factorials(counts: sparse.csr_array) -> Floats:
    """Return Σ_w log y_dw! of each document (D,)."""
    arrays = (gammaln(counts.data + 1.0), counts.indices, counts.indptr)
    return np.asarray(sparse.csr_array(arrays, shape=counts.shape).sum(axis=1)).ravel()
