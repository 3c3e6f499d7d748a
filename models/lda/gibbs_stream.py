"""Documents of a stream that collapsed Gibbs sampling remembers, to resample them with new ones.

A sampler that assigns each document once, given those before it, never leaves the topics that it
found in the first few. So earlier documents are resampled along with the new ones (rejuvenation;
Canini, Shi & Griffiths 2009), and the sampler makes a warm start from all of them when they have
become half as many again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from models.gibbs.tokens import Tokens

MAX_REMEMBERED = 100_000
"""Documents that are remembered, the last ones; topics of those before stay as they are."""
RESTART_GROWTH = 1.5
"""Documents at a warm start, as a multiple of those at the last start."""
RESTART_SHARE = 0.5
"""Sweeps after a warm start, as a share of `n_iter`."""
MIN_SWEEPS = 5
"""Sweeps over new documents, at least, and over the earlier ones resampled with them."""
MIN_DOCUMENTS = 10
"""Documents of a call for each topic from which on it learns priors."""
FADING = 4
"""Power of the number of documents whose growth weights a call in the average of topics: topics of
few documents fade soon."""


class TokenTopics(NamedTuple):
    """Documents token by token, each with its topic, by document and word: 6 bytes a token."""

    start: NDArray[np.int64]
    """(n + 1,), the tokens of document d are `start[d]:start[d+1]`."""
    word_of: NDArray[np.int32]
    """(n_tokens,)."""
    topic_of: NDArray[np.uint16]
    """(n_tokens,)."""

    @classmethod
    def of(cls, tokens: Tokens, topic_of: NDArray[np.uint16], n_docs: int) -> TokenTopics:
        """The documents of a sampler, whose topics are in the order of `tokens`."""
        order = by_document(tokens)
        n_tokens = np.bincount(tokens.doc_of, minlength=n_docs)
        start = np.concatenate(([0], np.cumsum(n_tokens))).astype(np.int64)
        return cls(start, tokens.word_of[order], topic_of[order])

    @property
    def n_docs(self) -> int:
        """Number of documents, those without tokens too."""
        return len(self.start) - 1

    def positions(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Places of the tokens of some documents, one document after the other."""
        lengths = self.start[rows + 1] - self.start[rows]
        first = np.cumsum(lengths) - lengths
        return np.repeat(self.start[rows] - first, lengths) + np.arange(lengths.sum())

    def counts(self, rows: NDArray[np.int64], n_words: int) -> sparse.csr_array:
        """Counts (n, V) of some documents."""
        lengths = self.start[rows + 1] - self.start[rows]
        start = np.concatenate(([0], np.cumsum(lengths)))
        words = self.word_of[self.positions(rows)]
        ones = np.ones(len(words), dtype=np.int32)
        counts = sparse.csr_array((ones, words, start), shape=(len(rows), n_words))
        counts.sum_duplicates()
        return counts

    def followed_by(self, others: TokenTopics) -> TokenTopics:
        """These documents and then the others; of all, the last `MAX_REMEMBERED`."""
        start = np.concatenate((self.start, self.start[-1] + others.start[1:]))
        dropped = max(0, len(start) - 1 - MAX_REMEMBERED)
        first = start[dropped]
        return TokenTopics(
            start[dropped:] - first,
            np.concatenate((self.word_of, others.word_of))[first:],
            np.concatenate((self.topic_of, others.topic_of))[first:],
        )

    def word_topics(self, rows: NDArray[np.int64], frozen: NDArray[np.bool_], n_topics: int) -> (
        NDArray[np.int32]
    ):  # fmt: skip
        """(V, K) how often some documents have a word with a topic, but for frozen words."""
        positions = self.positions(rows)
        words, topics = self.word_of[positions], self.topic_of[positions]
        shape = (len(frozen), n_topics)
        cell = words.astype(np.int64) * n_topics + topics
        n_wk = np.bincount(cell[~frozen[words]], minlength=shape[0] * shape[1])
        return n_wk.reshape(shape).astype(np.int32)


def by_document(tokens: Tokens) -> NDArray[np.int64]:
    """(n_tokens,) the order of tokens by document and word."""
    return np.lexsort((tokens.word_of, tokens.doc_of))
