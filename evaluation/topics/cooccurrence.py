"""Numbers of windows in which the words of a topic occur, alone and in pairs.

A window is boolean: it has a word or not. It is a document, or `size` consecutive tokens of one. A
document of n tokens has n - size + 1 windows; a shorter one, unless it is empty, is one window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evaluation.topics.running_text import UNKNOWN
from models.kernel import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    from evaluation.arrays import Ints, Ints32
    from evaluation.topics.running_text import RunningText


@dataclass(frozen=True, eq=False)
class Cooccurrence:
    """Counts of windows for K topics of n words."""

    n_windows: int
    n_word: Ints  # (K, n), windows with the word; 0 for an unknown word
    n_both: Ints  # (K, n, n), windows with both words; symmetric, with the diagonals `n_word`


def count_documents(counts: sparse.csr_array[np.int32], topics: Ints) -> Cooccurrence:
    """Count co-occurrences in documents, from counts (D, V) without explicit zeros.

    `topics` (K, n) are column numbers, all different in a topic, or UNKNOWN.
    """
    # Only pairs of words of one topic are counted. A product of sparse matrices would count all
    # pairs: for 1,000 topics that took 2 to 10 times as long.
    return _count(counts.indices, counts.indptr, counts.shape[1], topics, None)


def count_windows(text: RunningText, topics: Ints, size: int | None) -> Cooccurrence:
    """Count co-occurrences in windows of `size` tokens that slide by one; None: in documents."""
    return _count(text.word_of, text.doc_start, len(text.vocabulary), topics, size)


def _count(
    word_of: NDArray[Any],
    doc_start: NDArray[Any],
    vocabulary_size: int,
    topics: Ints,
    size: int | None,
) -> Cooccurrence:
    n_topics, n_words = topics.shape
    words, place = np.unique(topics, return_inverse=True)
    place = place.reshape(topics.shape)
    i, j = np.triu_indices(n_words, 1)
    a, b = place[:, i].ravel(), place[:, j].ravel()
    # A pair is counted once, whatever the number of topics that it is in.
    key, pair_of = np.unique(np.minimum(a, b) * len(words) + np.maximum(a, b), return_inverse=True)
    low, high = np.divmod(key, len(words))
    order = np.argsort(np.concatenate((low, high)), kind="stable")
    partner_of = np.concatenate((high, low))[order]
    number_of = np.tile(np.arange(len(key)), 2)[order]
    n_partners = np.bincount(np.concatenate((low, high)), minlength=len(words))
    partner_start = np.concatenate(([0], np.cumsum(n_partners)))

    renumbered = np.full(vocabulary_size + 1, -1, dtype=np.int32)  # UNKNOWN is last
    renumbered[words] = np.arange(len(words))
    renumbered[UNKNOWN] = -1
    n_word = np.zeros(len(words), dtype=np.int64)
    n_pair = np.zeros(len(key), dtype=np.int64)
    n_windows = _slide(
        renumbered[word_of],
        doc_start.astype(np.int64, copy=False),
        max(1, len(word_of)) if size is None else size,
        partner_start,
        partner_of,
        number_of,
        n_word,
        n_pair,
    )
    n_both = np.zeros((n_topics, n_words, n_words), dtype=np.int64)
    n_both[:, i, j] = n_pair[pair_of].reshape(n_topics, -1)
    n_both += n_both.transpose(0, 2, 1)
    n_both[:, np.arange(n_words), np.arange(n_words)] = n_word[place]
    return Cooccurrence(int(n_windows), n_word[place], n_both)


@kernel
def _slide(
    word_of: Ints32,
    doc_start: Ints,
    size: int,
    partner_start: Ints,
    partner_of: Ints,
    number_of: Ints,
    n_word: Ints,
    n_pair: Ints,
) -> int:
    """Add the windows with each word and pair to `n_word` (R,) and `n_pair` (P,); return their sum.

    A word stays in the window from its first token's entry to its last token's exit. On its exit,
    the windows shared with a partner in the window are those since the later entry of the two. That
    takes one step for each token, and one for each partner and stay, whatever the size.

    `word_of` (n_tokens,) is from 0 to R - 1, or -1 for words of no topic. Word r is in the pairs
    `number_of[partner_start[r]:partner_start[r + 1]]`, with the words in `partner_of` at the same
    positions.
    """
    n_windows = 0
    n_in = np.zeros(len(n_word), dtype=np.int64)  # tokens of each word in the window
    since = np.zeros(len(n_word), dtype=np.int64)  # first window of its current stay
    partners = (partner_start, partner_of, number_of)
    for d in range(len(doc_start) - 1):
        begin, end = doc_start[d], doc_start[d + 1]
        if begin == end:
            continue
        last = max(end - size, begin)  # start of the last window
        for i in range(begin, min(begin + size, end)):
            _come_in(word_of[i], begin, n_in, since)
        for start in range(begin + 1, last + 1):
            # In this order, so that a word that enters as it leaves stays.
            _come_in(word_of[start + size - 1], start, n_in, since)
            _go_out(word_of[start - 1], start, n_in, since, partners, n_word, n_pair)
        for i in range(last, end):
            _go_out(word_of[i], last + 1, n_in, since, partners, n_word, n_pair)
        n_windows += last + 1 - begin
    return n_windows


@kernel
def _come_in(w: int, window: int, n_in: Ints, since: Ints) -> None:
    """Add a token of word `w` to the windows from `window` on; mutates `n_in` and `since`."""
    if w >= 0:
        if n_in[w] == 0:
            since[w] = window
        n_in[w] += 1


@kernel
def _go_out(
    w: int,
    window: int,
    n_in: Ints,
    since: Ints,
    partners: tuple[Ints, Ints, Ints],
    n_word: Ints,
    n_pair: Ints,
) -> None:
    """Remove a token of `w` from `window` on; mutates `n_in`, `n_word` and `n_pair`."""
    if w < 0:
        return
    n_in[w] -= 1
    if n_in[w] == 0:
        n_word[w] += window - since[w]
        start, partner_of, number_of = partners
        for p in range(start[w], start[w + 1]):
            u = partner_of[p]
            if n_in[u] > 0:
                n_pair[number_of[p]] += window - max(since[w], since[u])
