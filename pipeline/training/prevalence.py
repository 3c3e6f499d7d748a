"""What documents have of each topic, and from that what all of them have.

Shares are made of some documents at a time and not kept: of millions of documents they would take
more memory than anything else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corpora.array_file import release
from pipeline.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from scipy import sparse

    from models.topics import TopicWords

DOCUMENTS_AT_ONCE = 1000
STARVING = 0.1
"""Share of the average topic's tokens below which a topic starves."""


class PrevalenceSum:
    """(K,) share of each topic in all tokens, added up over blocks of documents.

    The sum is over documents in their order, the same to the bit however they are parted into
    blocks, and not by BLAS, whose sums depend on the number of cores.
    """

    def __init__(self, n_topics: int) -> None:
        self._tokens_of_topic = np.zeros(n_topics)
        self._n_tokens = 0

    def add(self, n_tokens: NDArray[np.integer], shares: NDArray[np.float64]) -> None:
        """The next documents: so many tokens (D,), of which so much is of each topic (D, K)."""
        so_far = self._tokens_of_topic[None]
        self._tokens_of_topic = np.concatenate((so_far, n_tokens[:, None] * shares)).sum(axis=0)
        self._n_tokens += int(n_tokens.sum())

    @property
    def prevalence(self) -> NDArray[np.float64]:
        """(K,) sums to 1; NaN without any token."""
        with np.errstate(invalid="ignore"):
            prevalence: NDArray[np.float64] = self._tokens_of_topic / np.int64(self._n_tokens)
        return prevalence


def shares_in_blocks(
    topics: TopicWords, counts: sparse.csr_array, n_threads: int | None, stage: str
) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.float64]]]:
    """Expected shares of the topics in the tokens of documents, with progress as `stage`.

    Yields
    ------
    int
        The first of the next `DOCUMENTS_AT_ONCE` documents.
    array (n,)
        Their tokens.
    array (n, K)
        Their shares, each row of which sums to 1.
    """
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
    """(K,) share of each topic in all tokens of documents (D, V), with progress as `stage`."""
    total = PrevalenceSum(topics.n_topics)
    for _, n_tokens, shares in shares_in_blocks(topics, counts, n_threads, stage):
        total.add(n_tokens, shares)
    return total.prevalence


def is_starving(prevalence: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(K,) whether a topic holds less than a tenth of the tokens of the average topic."""
    return prevalence < STARVING / len(prevalence)
