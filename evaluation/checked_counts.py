"""Check that a model can score documents: words that no topic has are impossible."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy import sparse

    from models.topics import TopicWords


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
