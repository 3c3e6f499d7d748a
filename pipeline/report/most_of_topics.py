"""Typical documents of topics, found while documents go by whose shares are not kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evaluation.topics.typical_documents import SHORT

if TYPE_CHECKING:
    from numpy.typing import NDArray


class MostOfTopics:
    """What `evaluation.typical_documents` finds of all documents at once, of blocks of them.

    Parameters
    ----------
    n_tokens : (D,)
        Tokens of all documents.
    n_topics
        K.
    n_documents
        To find for each topic, at least 1.
    """

    def __init__(self, n_tokens: NDArray[np.int64], n_topics: int, n_documents: int) -> None:
        known = n_tokens[n_tokens > 0]
        self._least = int(np.quantile(known, SHORT, method="lower")) if len(known) else 1
        self._n_tokens, self._n = n_tokens, n_documents
        self.documents = [np.zeros(0, dtype=np.int64) for _ in range(n_topics)]
        """Of each topic, those with the most of it first."""
        self.shares = [np.zeros(0) for _ in range(n_topics)]
        """Of the topic in each of them."""

    def add(self, first: int, shares: NDArray[np.float64]) -> None:
        """The documents from number `first` on have these shares (n, K)."""
        n_tokens = self._n_tokens[first : first + len(shares)]
        considered = np.flatnonzero(n_tokens >= max(self._least, 1))
        for k, of_topic in enumerate(shares[considered].T):
            known, best = self.documents[k], self.shares[k]
            if len(known) == self._n:  # one with an equal share may be longer
                is_near = of_topic >= best[-1]
                if not is_near.any():
                    continue
            else:
                is_near = np.ones(len(of_topic), dtype=bool)
            found = np.concatenate((known, first + considered[is_near]))
            share = np.concatenate((best, of_topic[is_near]))
            order = np.lexsort((found, -self._n_tokens[found], -share))[: self._n]
            self.documents[k], self.shares[k] = found[order], share[order]
