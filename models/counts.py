"""Counts of words in documents: how they are checked, and the one rule for fractions.

A count is a weight of a word in a document. Where weights are only added up, in variational
inference and in factorisation, fractions stay as they are. Where tokens are needed one by one, in
sampling and in Poisson MRFs, a fraction is rounded up with the probability of its remainder, by
random numbers that are fixed: see `whole_numbers`. Probabilities are of whole numbers, and
fractions are refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from corpora.row_blocks import is_canonical, smallest

FINITE = {True: "whole numbers: found NaN, infinity or a fraction", False: "finite"}
"""End of an error, by whether whole numbers are wanted."""
MAX_COUNT = 2**53
"""Up to here floating-point numbers hold every whole number."""


def checked_counts(
    counts: Any, n_words: int | None = None, *, name: str = "counts", whole: bool = True
) -> sparse.csr_array:
    """Counts (D, V) as CSR, sorted, no entry twice; the caller's arrays are left as they are.

    Parameters
    ----------
    n_words
        V, if it is known.
    name
        What an error calls them.
    whole
        Whether they must be whole numbers; they are then given as int64, without zeros. If not,
        they keep their type and zeros.

    Raises
    ------
    ValueError, TypeError
        If they are no matrix of finite numbers, none negative, of so many words.
    """
    documents = _matrix_of(counts, n_words, name, "whole numbers" if whole else "numbers")
    data = documents.data
    if data.dtype.kind == "f" and not np.isfinite(data).all():
        raise ValueError(f"{name} must be {FINITE[whole]}")
    if data.size and data.min() < 0:
        raise ValueError(f"{name} must not be negative, found {data.min():g}")
    if not documents.has_canonical_format:
        # Narrow integers could overflow; and the caller's arrays are left as they are.
        documents = documents.astype(np.int64 if data.dtype.kind in "iub" else data.dtype)
        documents = documents.copy()
        documents.sum_duplicates()
        data = documents.data
    if whole and data.dtype.kind == "f" and (data != np.floor(data)).any():
        raise ValueError(f"{name} must be {FINITE[whole]}")
    if not whole:
        return documents
    if data.size and data.max() > MAX_COUNT:
        raise ValueError(f"{name} must not be above {MAX_COUNT}, found {data.max()}")
    result = sparse.csr_array(
        (data.astype(np.int64), documents.indices, documents.indptr), shape=documents.shape
    )
    if not data.all():  # 0 log 0 is not 0 everywhere
        result = result.copy()
        result.eliminate_zeros()
    return result


def _matrix_of(counts: Any, n_words: int | None, name: str, wanted: str) -> sparse.csr_array:
    """The matrix (D, V) of numbers that `counts` are; see `checked_counts` for what is raised."""
    try:
        documents = sparse.csr_array(counts)
    except (TypeError, ValueError) as error:
        message = f"{name} must be a matrix of {wanted}, found {type(counts).__name__}: {error}"
        raise type(error)(message) from error
    if documents.dtype.kind not in "iubf":
        raise ValueError(f"{name} must be {wanted}, found values of type {documents.dtype}")
    if documents.ndim != 2:
        raise ValueError(f"{name} must be (n_docs, n_words), found shape {documents.shape}")
    if n_words is not None and documents.shape[1] != n_words:
        raise ValueError(
            f"{name} has {documents.shape[1]} words, the model {n_words}: "
            "count the documents against the model's vocabulary"
        )
    return documents


def canonical_counts(counts: sparse.csr_array, owner: str) -> sparse.csr_array:
    """Finite counts (D, V) sorted, no entry twice; those that are mapped and so stay on disk.

    Raises
    ------
    ValueError
        If one is negative; the message names the `owner`.
    """
    if smallest(counts) < 0:
        raise ValueError(
            f"Negative values in data passed to {owner}: counts are how often a word occurs"
        )
    if not is_canonical(counts):
        counts = counts.copy()
        counts.sum_duplicates()
    return counts


def whole_numbers(counts: sparse.csr_array, seed: int | list[int] | None = 0) -> sparse.csr_array:
    """Counts (D, V) as int32, each fraction rounded up with the probability of its remainder.

    Parameters
    ----------
    seed
        Of the random numbers, one an entry in CSR order. None: each document has its own, by what
        it holds, so that it is rounded alike in any company.

    Raises
    ------
    ValueError
        If a count is above 2³¹ - 1.
    """
    data = counts.data
    if data.dtype.kind == "f" and (data != (whole := np.floor(data))).any():
        data = whole + (_uniform(counts, seed) < data - whole)
    if len(data) and data.max() > np.iinfo(np.int32).max:
        raise ValueError(f"a count of {data.max():g} is more than a corpus can hold")
    arrays = (data.astype(np.int32), counts.indices, counts.indptr)
    return sparse.csr_array(arrays, shape=counts.shape)


def _uniform(counts: sparse.csr_array, seed: int | list[int] | None) -> np.ndarray[Any, Any]:
    """Random numbers (nnz,) for `whole_numbers`."""
    if seed is not None:
        return np.random.default_rng(seed).random(counts.nnz)
    found = np.empty(counts.nnz)
    for first, last in zip(counts.indptr, counts.indptr[1:], strict=False):
        bits = counts.data[first:last].astype(np.float64).view(np.uint32)
        own = np.concatenate([bits, counts.indices[first:last].astype(np.uint32)])
        found[first:last] = np.random.default_rng(own).random(last - first)
    return found
