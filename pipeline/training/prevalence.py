"""Prevalence of topics: their share in the tokens of documents.

Shares are computed for blocks of documents and not kept: for millions of documents they would need
more memory than anything else.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from corpora.array_file import release
from models.topics import TopicWords
from pipeline.progress import Progress

DOCUMENTS_AT_ONCE = 1000
STARVING = 0.1  # Share of the average topic's tokens below which a topic starves


class PrevalenceSum:
    """Share (K,) of each topic in all tokens, summed over blocks of documents.

    The sum goes over documents in order, so its bits do not depend on the blocks. It does not use
    BLAS, whose sums depend on the number of cores.
    """

    def __init__(self, n_topics: int) -> None:
        self._tokens_of_topic = np.zeros(n_topics)
        self._n_tokens = 0

    def add(self, n_tokens: NDArray[np.integer], shares: NDArray[np.float64]) -> None:
        """Add documents: their tokens (D,), and the shares of topics in them (D, K)."""
        so_far = self._tokens_of_topic[None]
        self._tokens_of_topic = np.concatenate((so_far, n_tokens[:, None] * shares)).sum(axis=0)
        self._n_tokens += int(n_tokens.sum())

    @property
    def prevalence(self) -> NDArray[np.float64]:
        """Prevalence (K,), which sums to 1; NaN if there is no token."""
        with np.errstate(invalid="ignore"):
            prevalence: NDArray[np.float64] = self._tokens_of_topic / np.int64(self._n_tokens)
        return prevalence


def shares_in_blocks(
    topics: TopicWords, counts: sparse.csr_array, n_threads: int | None, stage: str
) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.float64]]]:
    """Yield first document, numbers of tokens (n,) and shares of topics (n, K) of each block."""
    n_docs = counts.shape[0]
    with Progress(stage, n_docs, "documents") as progress:
        for first in range(0, n_docs, DOCUMENTS_AT_ONCE):
            block = counts[first : first + DOCUMENTS_AT_ONCE]
            shares = topics.proportions(block, n_jobs=n_threads)
            yield first, np.asarray(block.sum(axis=1), dtype=np.int64), shares
            release(counts.data, counts.indices)
            progress.update(block.shape[0])


def prevalence_in(
    topics: TopicWords, counts: sparse.csr_array, n_threads: int | None, stage: str
) -> NDArray[np.float64]:
    """Share (K,) of each topic in all tokens of documents (D, V), with progress as `stage`."""
    total = PrevalenceSum(topics.n_topics)
    for _, n_tokens, shares in shares_in_blocks(topics, counts, n_threads, stage):
        total.add(n_tokens, shares)
    return total.prevalence


def is_starving(prevalence: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each topic (K,) has less than a tenth of the average topic's tokens."""
    return prevalence < STARVING / len(prevalence)
