"""Checks of counts of words in documents, and the rule for fractions.

A count is a weight of a word in a document. Variational inference and factorisation only add up
weights and keep fractions. Sampling and Poisson MRFs need single tokens: a fraction is rounded up
with the probability of its remainder, by fixed random numbers (see `whole_numbers`). Likelihoods
are of whole numbers and refuse fractions; the `score` of an estimator, to which tools of
scikit-learn may give any numbers, rounds them as sampling does.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from corpora.row_blocks import is_canonical, smallest, tokens_of_words
from models.arrays import Bools

FINITE = {True: "whole numbers: found NaN, infinity or a fraction", False: "finite"}
MAX_COUNT = 2**53  # Largest number up to which float64 holds every whole number


def checked_counts(
    counts: Any, n_words: int | None = None, *, name: str = "counts", whole: bool = True
) -> sparse.csr_array:
    """Return counts (D, V) as sorted CSR without duplicate entries; the caller's arrays stay.

    With `whole` they must be whole numbers, and the result is int64 without zeros; otherwise it
    keeps type and zeros. Raises ValueError or TypeError, naming `name`, if `counts` is no matrix of
    finite numbers, none negative, with `n_words` columns.
    """
    documents = _matrix_of(counts, n_words, name, "whole numbers" if whole else "numbers")
    data = documents.data
    if data.dtype.kind == "f" and not np.isfinite(data).all():
        raise ValueError(f"{name} must be {FINITE[whole]}")
    if data.size and data.min() < 0:
        raise ValueError(f"{name} must not be negative, found {data.min():g}")
    if not documents.has_canonical_format:
        # Narrow integers could overflow, and the caller's arrays must not change.
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
    """Return `counts` as a matrix (D, V) of numbers; see `checked_counts` for errors."""
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
    """Return finite counts (D, V) sorted, without duplicates; memory-mapped ones stay on disk.
    Raises ValueError, naming the `owner`, if a count is negative.
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
    """Return counts (D, V) as int32, fractions rounded up with the probability of their remainder.
    Those that are int32 share memory with `counts`: mapped ones stay on disk.

    The random numbers, one for each entry in CSR order, are of `seed`; with None each document's
    are of its own content, whatever other documents there are. Raises ValueError above 2³¹ - 1.
    """
    data = counts.data
    if data.dtype.kind == "f" and (data != (whole := np.floor(data))).any():
        data = whole + (_uniform(counts, seed) < data - whole)
    if data.dtype != np.int32 and len(data) and data.max() > np.iinfo(np.int32).max:
        raise ValueError(f"a count of {data.max():g} is more than a corpus can hold")
    arrays = (data.astype(np.int32, copy=False), counts.indices, counts.indptr)
    return sparse.csr_array(arrays, shape=counts.shape, copy=False)


def _uniform(counts: sparse.csr_array, seed: int | list[int] | None) -> NDArray[Any]:
    """Return random numbers (nnz,) for `whole_numbers`."""
    if seed is not None:
        return np.random.default_rng(seed).random(counts.nnz)
    found = np.empty(counts.nnz)
    for first, last in zip(counts.indptr, counts.indptr[1:], strict=False):
        bits = counts.data[first:last].astype(np.float64).view(np.uint32)
        own = np.concatenate([bits, counts.indices[first:last].astype(np.uint32)])
        found[first:last] = np.random.default_rng(own).random(last - first)
    return found


def frozen_words(counts: sparse.csr_array, word_budget: int | None) -> Bools:
    """Return the words (V,) of counts (D, V) beyond `word_budget`: the most frequent ones.
    They get no parameters (Aldebakel et al. 2022).
    """
    n_words = counts.shape[1]
    frozen = np.zeros(n_words, dtype=np.bool_)
    if word_budget is not None:
        frequency = _frequency(counts)
        by_frequency = np.argsort(-frequency, kind="stable")
        frozen[by_frequency[: max(0, n_words - word_budget)]] = True
    return frozen


def _frequency(counts: sparse.csr_array) -> NDArray[Any]:
    """Return the total count (V,) of each word."""
    if counts.dtype.kind not in "iu":  # sums of fractions depend on their order
        return np.asarray(counts.sum(axis=0)).ravel()
    return tokens_of_words(counts)
