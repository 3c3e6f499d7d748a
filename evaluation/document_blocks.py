"""Blocks of consecutive documents, each scored by itself as it would be among all the others.

What an estimator draws for a document depends on the document's number among all documents, and in
`completion` on how many tokens are before it. A block knows both, so that blocks are independent
tasks: in any order, on any machine, and of any size they give what the whole gives, to the bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

N_BLOCKS = 64
"""Blocks of a corpus that is neither small nor large: enough to keep some machines busy."""
LEAST_DOCUMENTS, MOST_DOCUMENTS = 8, 1000
MOST_ENTRIES = 2**19
"""Different words of all documents of a block, which are what it takes memory for."""


class DocumentBlock(sparse.csr_array):
    """Counts (D, V) of consecutive documents among more.

    What is derived from it, such as some of its rows, is no block: asking it for its place is an
    AttributeError.
    """

    first_document: int
    """The number, among all documents, of the first."""
    n_tokens_before: int
    """Of all documents before the first."""

    @classmethod
    def of(cls, counts: sparse.csr_array, first_document: int, n_tokens_before: int) -> Self:
        """The block of documents `counts` (D, V), whose arrays it shares."""
        block = cls((counts.data, counts.indices, counts.indptr), shape=counts.shape)
        block.first_document, block.n_tokens_before = first_document, n_tokens_before
        return block

    def between(self, first: int, last: int) -> Self:
        """The block of its documents from number `first` to before `last`."""
        rows = slice(first - self.first_document, last - self.first_document)
        if (rows.start, rows.stop) == (0, self.shape[0]):
            return self
        start = self.indptr[[0, rows.start, rows.stop]]
        arrays = (
            *(array[start[1] : start[2]] for array in (self.data, self.indices)),
            self.indptr[rows.start : rows.stop + 1] - start[1],
        )
        some = sparse.csr_array(arrays, shape=(last - first, self.shape[1]))
        n_before = self.n_tokens_before + int(self.data[: start[1]].sum())
        return self.of(some, first, n_before)


def first_document_of(counts: sparse.csr_array) -> int:
    """The number of the first document among all: 0 if `counts` are all there is."""
    return counts.first_document if isinstance(counts, DocumentBlock) else 0


def n_tokens_before(counts: sparse.csr_array) -> int:
    """How many tokens the documents before these have: 0 if `counts` are all there is."""
    return counts.n_tokens_before if isinstance(counts, DocumentBlock) else 0


def only_rows(counts: sparse.csr_array, rows: NDArray[np.intp]) -> sparse.csr_array:
    """`counts` (D, V) with all but some rows, ascending, emptied: these keep their numbers."""
    kept = np.zeros(counts.shape[0], dtype=np.int64)
    kept[rows] = np.diff(counts.indptr)[rows]
    some = counts[rows]
    start = np.concatenate(([0], np.cumsum(kept)))
    arrays = (some.data, some.indices, start.astype(some.indptr.dtype))
    emptied = sparse.csr_array(arrays, shape=counts.shape)
    return DocumentBlock.of(emptied, first_document_of(counts), n_tokens_before(counts))


def block_bounds(counts: sparse.csr_array, at_least: int = 1) -> list[tuple[int, int]]:
    """First document and the one after the last of each block; all documents are in one.

    A block is of about a 64th of the documents, but of 8 to 1,000 (or `at_least`), and of fewer
    where they are long. Of counts that are mapped from disk no entry is read. No documents are one
    block.
    """
    n_docs, start = counts.shape[0], counts.indptr
    size = max(at_least, LEAST_DOCUMENTS, min(-(-n_docs // N_BLOCKS), MOST_DOCUMENTS))
    bounds, first = [], 0
    while first < n_docs:
        full = int(np.searchsorted(start, int(start[first]) + MOST_ENTRIES, side="right")) - 1
        last = max(first + 1, min(first + size, full, n_docs))
        bounds.append((first, last))
        first = last
    return bounds or [(0, 0)]
