"""What documents have of each topic, and from that what all of them have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pipeline.progress import Progress

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    from models.topics import TopicWords

DOCUMENTS_AT_ONCE = 1000


def shares_in_documents(
    topics: TopicWords, counts: sparse.csr_array, n_threads: int | None, stage: str
) -> NDArray[np.float64]:
    """Expected shares (D, K) of the topics in the tokens of documents, with progress as `stage`."""
    n_docs = counts.shape[0]
    shares = np.empty((n_docs, topics.n_topics))
    with Progress(stage, n_docs, "documents") as progress:
        for start in range(0, n_docs, DOCUMENTS_AT_ONCE):
            block = counts[start : start + DOCUMENTS_AT_ONCE]
            shares[start : start + block.shape[0]] = topics.proportions(block, n_jobs=n_threads)
            progress.update(block.shape[0])
    return shares


def prevalence_of(shares: NDArray[np.float64], n_tokens: NDArray[np.int64]) -> NDArray[np.float64]:
    """(K,) share of each topic in all tokens, of shares (D, K) in documents of so many (D,)."""
    # Not by BLAS, whose sums depend on the number of cores.
    prevalence: NDArray[np.float64] = (n_tokens[:, None] * shares).sum(axis=0) / n_tokens.sum()
    return prevalence
