"""Counts of documents as estimators take them, and whether a model can score them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from models.topics import TopicWords

MAX_COUNT = 2**53
"""Up to here floating-point numbers hold every whole number."""


class ZeroProbabilityError(ValueError):
    """A document holds a word that has probability 0 in every topic: log p would be -infinity."""


def checked_counts(counts: Any, n_words: int) -> sparse.csr_array:
    """Counts (D, V) as int64 CSR, sorted, without zeros; the caller's arrays are left as they are.

    Raises
    ------
    ValueError, TypeError
        If they are not such a matrix of whole numbers, or not of so many words.
    """
    try:
        documents = sparse.csr_array(counts)
    except (TypeError, ValueError) as error:
        message = (
            f"counts must be a matrix of whole numbers, found {type(counts).__name__}: {error}"
        )
        raise type(error)(message) from error
    if documents.dtype.kind not in "iubf":
        raise ValueError(f"counts must be whole numbers, found values of type {documents.dtype}")
    if documents.ndim != 2:
        raise ValueError(f"counts must be (n_docs, n_words), found shape {documents.shape}")
    if documents.shape[1] != n_words:
        raise ValueError(
            f"counts has {documents.shape[1]} words, the model {n_words}: "
            "count the documents against the model's vocabulary"
        )
    if not documents.has_canonical_format:
        documents = documents.copy()  # the caller's arrays are left as they are
        documents.sum_duplicates()
    data = documents.data
    if data.dtype.kind not in "iub" and not (np.isfinite(data) & (data == np.floor(data))).all():
        raise ValueError("counts must be whole numbers: found NaN, infinity or a fraction")
    if data.size and data.min() < 0:
        raise ValueError("counts must not be negative")
    if data.size and data.max() > MAX_COUNT:
        raise ValueError(f"counts must not be above {MAX_COUNT}, found {data.max()}")
    result = sparse.csr_array(
        (data.astype(np.int64), documents.indices, documents.indptr), shape=documents.shape
    )
    if not data.all():  # 0 log 0 is not 0 everywhere
        result = result.copy()
        result.eliminate_zeros()
    return result


def check_possible(topics: TopicWords, documents: sparse.csr_array) -> None:
    """Raise ZeroProbabilityError if a word is in no topic: all else is possible."""
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
