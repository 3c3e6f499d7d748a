"""Blocks of consecutive documents, scored with the same bits as among all documents.

The random numbers of a document depend on its number among all documents, and in `completion` on
the number of tokens before it. A block stores both, so that blocks are independent tasks: in any
order, on any machine and of any size they give the bits of the whole.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evaluation.arrays import Ints
from models.topics import TopicWords

N_BLOCKS = 64  # number of blocks of a corpus of medium size, enough to keep some machines busy
MIN_DOCUMENTS, MAX_DOCUMENTS = 8, 1000
MAX_ENTRIES = 2**19  # maximal number of entries of a block, which limits its memory


class ZeroProbabilityError(ValueError):
    """A document holds a word that has probability 0 in every topic: log p would be -infinity."""


def check_possible(topics: TopicWords, documents: sparse.csr_array) -> None:
    """Raise ZeroProbabilityError if a word is in no topic."""
    is_possible = topics.topic_word.max(axis=0) > 0
    entries = np.flatnonzero(~is_possible[documents.indices])
    if len(entries):
        rows = np.searchsorted(documents.indptr, entries, side="right") - 1
        n_others = len(np.unique(documents.indices[entries])) - 1
        raise ZeroProbabilityError(
            f"word {documents.indices[entries[0]]} of document {rows[0]} has probability 0 in "
            f"every topic, and so have {n_others} other words, in {len(np.unique(rows))} "
            "documents: leave such words out, or give smoothing, such as 1e-6"
        )


@dataclass(frozen=True, eq=False)
class DocumentBlock:
    """Counts of consecutive documents, and their position among all documents.

    By default they are all documents. A matrix derived from the counts has no position.
    """

    counts: sparse.csr_array  # (D, V), from `models.counts.checked_counts`
    first_document: int = 0  # Number of the first document among all
    n_tokens_before: int = 0  # Number of tokens in all documents before the first

    @property
    def n_documents(self) -> int:
        """D."""
        return int(self.counts.shape[0])

    @property
    def n_tokens(self) -> Ints:
        """(D,), tokens of each document."""
        return np.asarray(self.counts.sum(axis=1), dtype=np.int64).ravel()

    def between(self, first: int, last: int) -> "DocumentBlock":
        """Return the block of its documents `first <= d < last`."""
        counts = self.counts
        rows = slice(first - self.first_document, last - self.first_document)
        if (rows.start, rows.stop) == (0, self.n_documents):
            return self
        start = counts.indptr[[0, rows.start, rows.stop]]
        arrays = (
            *(array[start[1] : start[2]] for array in (counts.data, counts.indices)),
            counts.indptr[rows.start : rows.stop + 1] - start[1],
        )
        some = sparse.csr_array(arrays, shape=(last - first, counts.shape[1]))
        n_before = self.n_tokens_before + int(counts.data[: start[1]].sum())
        return DocumentBlock(some, first, n_before)

    def emptied_but(self, rows: NDArray[np.intp]) -> "DocumentBlock":
        """Return the block with all rows emptied except `rows`, ascending; numbers stay."""
        counts = self.counts
        kept = np.zeros(self.n_documents, dtype=np.int64)
        kept[rows] = np.diff(counts.indptr)[rows]
        some = counts[rows]
        start = np.concatenate(([0], np.cumsum(kept)))
        arrays = (some.data, some.indices, start.astype(some.indptr.dtype))
        return self._with(sparse.csr_array(arrays, shape=counts.shape))

    def widened(self, n_words: int) -> "DocumentBlock":
        """Return the block with `n_words` columns, added ones being empty; ValueError if fewer."""
        counts = self.counts
        if n_words == counts.shape[1]:
            return self
        if n_words < counts.shape[1]:
            raise ValueError(f"n_words must be at least {counts.shape[1]}, found {n_words}")
        arrays = (counts.data, counts.indices, counts.indptr)
        return self._with(sparse.csr_array(arrays, shape=(self.n_documents, n_words)))

    def _with(self, counts: sparse.csr_array) -> "DocumentBlock":
        return DocumentBlock(counts, self.first_document, self.n_tokens_before)


def block_bounds(counts: sparse.csr_array, at_least: int = 1) -> list[tuple[int, int]]:
    """Return the first and last + 1 document of each block; every document is in a block.

    A block has about a 64th of the documents, within 8 (or `at_least`) to 1,000, and fewer where
    they are long. No entry of memory-mapped counts is read. A corpus without documents is one
    block.
    """
    n_docs, start = counts.shape[0], counts.indptr
    size = max(at_least, MIN_DOCUMENTS, min(-(-n_docs // N_BLOCKS), MAX_DOCUMENTS))
    bounds, first = [], 0
    while first < n_docs:
        full = int(np.searchsorted(start, int(start[first]) + MAX_ENTRIES, side="right")) - 1
        last = max(first + 1, min(first + size, full, n_docs))
        bounds.append((first, last))
        first = last
    return bounds or [(0, 0)]
