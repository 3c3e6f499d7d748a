"""More documents than there are, from the counts of those that there are."""

from __future__ import annotations

import numpy as np
from scipy import sparse

BLOCK = 10_000
"""Documents that are made at a time."""


def recombined(counts: sparse.csr_array, n_docs: int, seed: int = 0) -> sparse.csr_array:
    """Return (n_docs, V) counts: the documents themselves, then new ones of two halves.

    Each token of two documents, drawn at random, goes into the new document with probability 1/2.
    So lengths and frequencies of words stay on average, no two documents are equal, and nothing
    comes in that the documents do not hold. A new document has the topics of two.
    """
    rng = np.random.default_rng(seed)
    parts = [counts[:n_docs]]
    for first in range(counts.shape[0], n_docs, BLOCK):
        size = min(BLOCK, n_docs - first)
        halves = (_half(counts[rng.integers(counts.shape[0], size=size)], rng) for _ in range(2))
        parts.append(
            sum(halves, start=sparse.csr_array((size, counts.shape[1]), dtype=counts.dtype))
        )
    return sparse.csr_array(sparse.vstack(parts, format="csr"))


def _half(counts: sparse.csr_array, rng: np.random.Generator) -> sparse.csr_array:
    """Each token with probability 1/2."""
    kept = counts.copy()
    kept.data = rng.binomial(counts.data, 0.5).astype(counts.dtype)
    kept.eliminate_zeros()
    return kept
