"""Earlier documents of a stream, which collapsed Gibbs sampling resamples with new ones.

A sampler that assigns each document once, given earlier ones, never leaves the topics of the first
few documents. So earlier documents are resampled with new ones (rejuvenation; Canini, Shi &
Griffiths 2009), and a warm start from all of them follows each growth of their number by a half.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from models.arrays import Bools, Ints, Ints32
from models.gibbs.state import GibbsLDAState
from models.gibbs.tokens import Tokens

MAX_REMEMBERED = 100_000
"""Number of last documents that are remembered without a window; topics of earlier ones stay."""
RESTART_GROWTH = 1.5  # Documents at a warm start, as a multiple of those at the last start
RESTART_SHARE = 0.5  # Sweeps after a warm start, as a share of `n_iter`
MIN_SWEEPS = 5
"""Minimal number of sweeps over new documents and the earlier ones resampled with them."""
MIN_DOCUMENTS = 10  # Minimal number of documents for each topic in a call that learns priors
FADING = 4
"""Exponent of the average of topics over calls: a call's weight is the growth of this power of the
number of documents, so that topics of few documents fade soon."""


class TokenTopics(NamedTuple):
    """Tokens of documents with their topics, by document and word: 6 bytes for each token."""

    start: Ints  # (n + 1,), the tokens of document d are `start[d]:start[d+1]`
    word_of: Ints32  # (n_tokens,)
    topic_of: NDArray[np.uint16]  # (n_tokens,)

    @classmethod
    def of(cls, tokens: Tokens, topic_of: NDArray[np.uint16], n_docs: int) -> "TokenTopics":
        """Return the documents of a sampler, whose topics are in the order of `tokens`."""
        order = by_document(tokens)
        n_tokens = np.bincount(tokens.doc_of, minlength=n_docs)
        start = np.concatenate(([0], np.cumsum(n_tokens))).astype(np.int64)
        return cls(start, tokens.word_of[order], topic_of[order])

    @property
    def n_docs(self) -> int:
        """Number of documents, including those without tokens."""
        return len(self.start) - 1

    def positions(self, rows: Ints) -> Ints:
        """Return the positions of the tokens of some documents, one document after the other."""
        lengths = self.start[rows + 1] - self.start[rows]
        first = np.cumsum(lengths) - lengths
        return np.repeat(self.start[rows] - first, lengths) + np.arange(lengths.sum())

    def counts(self, rows: Ints, n_words: int) -> sparse.csr_array:
        """Return the counts (n, V) of some documents."""
        lengths = self.start[rows + 1] - self.start[rows]
        start = np.concatenate(([0], np.cumsum(lengths)))
        words = self.word_of[self.positions(rows)]
        ones = np.ones(len(words), dtype=np.int32)
        counts = sparse.csr_array((ones, words, start), shape=(len(rows), n_words))
        counts.sum_duplicates()
        return counts

    def followed_by(self, others: "TokenTopics", most: float) -> "TokenTopics":
        """Return the last `most` of these documents and then `others`."""
        both = TokenTopics(
            np.concatenate((self.start, self.start[-1] + others.start[1:])),
            np.concatenate((self.word_of, others.word_of)),
            np.concatenate((self.topic_of, others.topic_of)),
        )
        return both.after(int(max(0, both.n_docs - most)))

    def after(self, n_docs: int) -> "TokenTopics":
        """Return the documents after the first `n_docs`, sharing memory."""
        first = self.start[n_docs]
        return TokenTopics(self.start[n_docs:] - first, self.word_of[first:], self.topic_of[first:])

    def word_topics(self, rows: Ints, frozen: Bools, n_topics: int) -> (
        Ints32
    ):  # fmt: skip
        """Return counts (V, K) of words and topics in some documents, without frozen words."""
        positions = self.positions(rows)
        words, topics = self.word_of[positions], self.topic_of[positions]
        shape = (len(frozen), n_topics)
        cell = words.astype(np.int64) * n_topics + topics
        n_wk = np.bincount(cell[~frozen[words]], minlength=shape[0] * shape[1])
        return n_wk.reshape(shape).astype(np.int32)


def with_more_words(
    state: GibbsLDAState, n_wk: Ints32, n_words: int
) -> tuple[GibbsLDAState, Ints32]:
    """Return the state and its counts n_wk (V, K) with words appended up to `n_words`.

    A new word has no tokens and the last word's eta. In the average of topics it gets what it would
    have had in a sample of the present counts, eta / (n_k + Σ eta); the other words get the rest.
    """
    n_new = n_words - len(state.eta)
    if not n_new:
        return state, n_wk

    def padded(array: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate((array, np.zeros((n_new, *array.shape[1:]), array.dtype)))

    eta = np.append(state.eta, np.full(n_new, state.eta[-1]))
    average = state.topic_word_sum
    if len(average):
        share = eta[-1] / (n_wk.sum(axis=0, dtype=np.int64) + eta.sum())
        new = np.tile((average.sum(axis=0) * share).astype(np.float32), (n_new, 1))
        average = np.concatenate((average * (1.0 - n_new * share).astype(np.float32), new))
    before = state.n_wk_before
    return replace(
        state,
        n_wk_before=padded(before) if len(before) else before,
        topic_word_sum=average,
        eta=eta,
        frozen=padded(state.frozen),
    ), padded(n_wk)


def by_document(tokens: Tokens) -> Ints:
    """Return the order (n_tokens,) of tokens by document and word."""
    return np.lexsort((tokens.word_of, tokens.doc_of))
