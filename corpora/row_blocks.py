"""Counts (D, V) in blocks of rows, so that few pages of a mapped matrix are in memory at once."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from corpora.array_file import mapping_of, release

ENTRIES = 1 << 20  # Approximate entries of a block, unless it is a single row
MAX_ROWS = 1 << 14
ROWS_AT_ONCE = 128
"""Rows of a mapped matrix that `taken_rows` reads at a time; each may load 2 MB of pages."""
SMALL_BYTES = 64 << 20  # Bytes of entries of a mapped matrix that may stay in memory


def row_blocks(counts: sparse.csr_array) -> Iterator[tuple[int, sparse.csr_array]]:
    """Yield all rows in blocks: the number of the first row, and the block, which may share entries
    with `counts`. Memory of mapped entries is freed before the next block.
    """
    n_rows, n_columns = counts.shape
    first = 0
    while first < n_rows:
        start = counts.indptr[first : first + MAX_ROWS + 1]
        # In 64 bits, as the sum may overflow 32 bits.
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
    """Return `counts[which]` in memory; memory of mapped pages is freed after every few rows."""
    if counts.data.nbytes <= SMALL_BYTES or mapping_of(counts.data) is None or not len(which):
        return counts[which]
    taken = []
    for i in range(0, len(which), ROWS_AT_ONCE):
        taken.append(counts[which[i : i + ROWS_AT_ONCE]])
        release(counts.data, counts.indices)
    rows: sparse.csr_array = sparse.vstack(taken, format="csr")
    return rows


def tokens_of_documents(counts: sparse.csr_array[np.int32]) -> NDArray[np.int64]:
    """(D,) tokens of each document; equivalent to `counts.sum(axis=1)`."""
    n_tokens = np.zeros(counts.shape[0], dtype=np.int64)
    for first, block in row_blocks(counts):
        n_tokens[first : first + block.shape[0]] = block.sum(axis=1)
    return n_tokens


def tokens_of_words(counts: sparse.csr_array[np.int32]) -> NDArray[np.int64]:
    """(V,) tokens of each word; equivalent to `counts.sum(axis=0)`."""
    n_tokens = np.zeros(counts.shape[1], dtype=np.int64)
    for _, block in row_blocks(counts):
        n_tokens += block.sum(axis=0)
    return n_tokens


def is_canonical(counts: sparse.csr_array[Any]) -> bool:
    """Whether the entries of each row are sorted, without duplicates."""
    return all(block.has_canonical_format for _, block in row_blocks(counts))


def smallest(counts: sparse.csr_array[Any]) -> Any:
    """Smallest stored entry; 0 if there is none."""
    return min((block.data.min() for _, block in row_blocks(counts) if block.nnz), default=0)


def total_of(counts: sparse.csr_array[Any]) -> float:
    """Sum of all entries."""
    return sum(float(block.data.sum(dtype=np.float64)) for _, block in row_blocks(counts))
