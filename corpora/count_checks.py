"""Validation of the counts of a corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from corpora.corpus_writer import MAX_INT32, index_type
from corpora.row_blocks import row_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray


def checked_counts(counts: Any) -> sparse.csr_array[np.int32]:
    """Return `counts` in the form of a `Corpus`, without a copy if they have it. Raises ValueError
    if they are not a matrix of whole numbers from 0 to 2³¹ − 1.
    """
    csr = sparse.csr_array(counts)
    if csr.ndim != 2:
        raise ValueError(f"counts must have two dimensions, not {csr.ndim}")
    if csr.dtype.kind not in "biuf":
        raise ValueError(f"counts must be numbers, not {csr.dtype}")
    csr.check_format(full_check=True)
    in_range = (csr.data >= 0) & (csr.data < MAX_INT32 + 1)  # NaN is not; 2³¹ − 1 is no float32
    if not np.all(in_range) or np.any(csr.data % 1):
        raise ValueError("counts must be whole numbers, none negative or above 2³¹ − 1")
    if not csr.has_canonical_format or not np.all(csr.data):
        csr = csr.copy()
        csr.sum_duplicates()
        csr.eliminate_zeros()
    kind = index_type(csr.nnz, *csr.shape)
    csr.indices = csr.indices.astype(kind, copy=False)
    csr.indptr = csr.indptr.astype(kind, copy=False)
    return csr.astype(np.int32, copy=False)


def check_mapped_counts(counts: sparse.csr_array[np.int32]) -> None:
    """Check in one pass that mapped `counts` have the form of `checked_counts`; else ValueError."""
    start: NDArray[np.integer] = counts.indptr
    if counts.dtype != np.int32 or np.any(start[1:] < start[:-1]) or start[-1] != counts.nnz:
        raise ValueError("counts must be int32, and their rows one after another")
    for _, block in row_blocks(counts):
        block.check_format(full_check=True)
        if not block.has_canonical_format or np.any(block.data < 1):
            raise ValueError("counts must be positive, with sorted indices")
