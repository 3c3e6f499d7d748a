"""Counts (D, V) some rows at a time, so that of a mapped matrix few pages are in memory at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from corpora.array_file import mapping_of, release

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

ENTRIES = 1 << 20
"""Of a block, about, unless it is a single row."""
MOST_ROWS = 1 << 14
ROWS_APART = 128
"""Rows anywhere in a mapped matrix that are read at a time; each may bring in 2 MB of pages."""
SMALL_BYTES = 64 << 20
"""Of entries, which may stay in memory though they are mapped."""


def row_blocks(counts: sparse.csr_array) -> Iterator[tuple[int, sparse.csr_array]]:
    """All rows in order: the number of the first row of each block, and the block.

    A block may share its entries with `counts`. If these are mapped, the memory that they took is
    given back when the next block is asked for.
    """
    n_rows, n_columns = counts.shape
    first = 0
    while first < n_rows:
        start = counts.indptr[first : first + MOST_ROWS + 1]
        # In 64 bits: the sum may be beyond what indices of 32 bits hold.
        n = int(np.searchsorted(start.astype(np.int64), int(start[0]) + ENTRIES, side="right")) - 1
        start = start[: max(n, 1) + 1]
        entries = slice(int(start[0]), int(start[-1]))
        yield (
            first,
            sparse.csr_array(
                (counts.data[entries], counts.indices[entries], start - start[0]),
                shape=(len(start) - 1, n_columns),
                copy=False,
            ),
        )
        release(counts.data, counts.indices)
        first += len(start) - 1


def taken_rows(counts: sparse.csr_array, which: NDArray[np.integer]) -> sparse.csr_array:
    """`counts[which]`, in memory; what a mapped matrix took to read it is given back.

    Some at a time: rows that are far apart bring in pages around each of them.
    """
    if counts.data.nbytes <= SMALL_BYTES or mapping_of(counts.data) is None or not len(which):
        return counts[which]
    taken = []
    for i in range(0, len(which), ROWS_APART):
        taken.append(counts[which[i : i + ROWS_APART]])
        release(counts.data, counts.indices)
    rows: sparse.csr_array = sparse.vstack(taken, format="csr")
    return rows


def tokens_of_documents(counts: sparse.csr_array[np.int32]) -> NDArray[np.int64]:
    """(D,) tokens of each document; equivalent to `counts.sum(axis=1)`."""
    n_tokens = np.zeros(counts.shape[0], dtype=np.int64)
    for first, block in row_blocks(counts):
        n_tokens[first : first + block.shape[0]] = block.sum(axis=1)
    return n_tokens


def is_canonical(counts: sparse.csr_array[Any]) -> bool:
    """Whether the entries of each row are sorted, each column once at most."""
    return all(block.has_canonical_format for _, block in row_blocks(counts))


def smallest(counts: sparse.csr_array[Any]) -> Any:
    """The smallest of the entries that are stored; 0 if there are none."""
    return min((block.data.min() for _, block in row_blocks(counts) if block.nnz), default=0)


def total_of(counts: sparse.csr_array[Any]) -> float:
    """Sum of all entries."""
    return sum(float(block.data.sum(dtype=np.float64)) for _, block in row_blocks(counts))
