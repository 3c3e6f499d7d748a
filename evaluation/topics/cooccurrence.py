"""Numbers of windows in which the words of a topic occur, alone and in pairs.

A window is boolean: it has a word or not. It is a document, or `size` consecutive tokens of one. A
document of n tokens has n - size + 1 windows; a shorter one, unless it is empty, is one window.

Windows are counted in each of `N_BLOCKS` blocks of documents, so that standard errors can leave out
one block after the other. Article a, with all its sections, is in block a modulo `N_BLOCKS`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from corpora.tokens.running_words import UNKNOWN
from evaluation.arrays import Ints, Ints32
from evaluation.topics.running_text import RunningText
from models.checks import check_whole
from models.kernel import kernel, read_only

PART: Final = 1 << 20
"""Tokens that are counted at a time, or those of two windows, if these are more."""
N_BLOCKS: Final = 100
"""Blocks of documents: a standard error over them has a relative error of 7 % by itself."""


@dataclass(frozen=True, eq=False)
class Cooccurrence:
    """Counts of windows for K topics of n words."""

    n_windows: int
    n_word: Ints  # (K, n), windows with the word; 0 for an unknown word
    n_both: Ints  # (K, n, n), windows with both words; symmetric, with the diagonals `n_word`


@dataclass(frozen=True, eq=False)
class BlockCounts:
    """Counts of windows in each of G blocks of documents."""

    words: "TopicPairs"
    n_windows: Ints  # (G,)
    n_word: Ints  # (G, R)
    n_pair: Ints  # (G, P)

    @cached_property
    def total(self) -> Cooccurrence:
        """Counts in all documents."""
        return self._of(self.n_windows.sum(), self._all_words, self._all_pairs)

    @property
    def in_use(self) -> Ints:
        """Blocks that have a window, ascending."""
        return np.flatnonzero(self.n_windows)

    def without(self, g: int) -> Cooccurrence:
        """Counts in all documents but those of block `g`."""
        return self._of(
            self.n_windows.sum() - self.n_windows[g],
            self._all_words - self.n_word[g],
            self._all_pairs - self.n_pair[g],
        )

    @property
    def blocks_with_both(self) -> Ints:
        """(K, n, n), blocks that have a window with both words."""
        spread = self._of(0, (self.n_word > 0).sum(axis=0), (self.n_pair > 0).sum(axis=0))
        return spread.n_both

    @cached_property
    def _all_words(self) -> Ints:
        return np.asarray(self.n_word.sum(axis=0))

    @cached_property
    def _all_pairs(self) -> Ints:
        return np.asarray(self.n_pair.sum(axis=0))

    def _of(self, n_windows: int, n_word: Ints, n_pair: Ints) -> Cooccurrence:
        """Lay out counts of words (R,) and pairs (P,) by topic."""
        place, pair_of = self.words.place, self.words.pair_of
        n_topics, n_words = place.shape
        i, j = np.triu_indices(n_words, 1)
        n_both = np.zeros((n_topics, n_words, n_words), dtype=np.int64)
        n_both[:, i, j] = n_pair[pair_of]
        n_both += n_both.transpose(0, 2, 1)
        n_both[:, np.arange(n_words), np.arange(n_words)] = n_word[place]
        return Cooccurrence(int(n_windows), n_word[place], n_both)


@dataclass(frozen=True, eq=False)
class TopicPairs:
    """Different words of topics, and different pairs of words of one topic: each counted once."""

    words: Ints  # (R,) different words of all topics, ascending; maybe UNKNOWN
    place: Ints  # (K, n), index into `words` of each topic's words
    pair_of: Ints  # (K, n (n - 1) / 2), number of each topic's pairs, below P
    n_pairs: int  # P
    partner_start: Ints
    partner_of: Ints
    number_of: Ints
    """Word r is in pairs `number_of[partner_start[r]:partner_start[r + 1]]`, with the words in
    `partner_of` at the same positions."""

    @classmethod
    def of(cls, topics: Ints) -> "TopicPairs":
        """Return the words and pairs of topics (K, n)."""
        words, place = np.unique(topics, return_inverse=True)
        place = place.reshape(topics.shape)
        i, j = np.triu_indices(topics.shape[1], 1)
        a, b = place[:, i].ravel(), place[:, j].ravel()
        keys = np.minimum(a, b) * len(words) + np.maximum(a, b)
        key, pair_of = np.unique(keys, return_inverse=True)
        low, high = np.divmod(key, len(words))
        ends = np.concatenate((low, high))
        order = np.argsort(ends, kind="stable")
        n_partners = np.bincount(ends, minlength=len(words))
        return cls(
            words,
            place,
            pair_of.reshape(len(topics), -1),
            len(key),
            read_only(np.concatenate(([0], np.cumsum(n_partners)))),
            read_only(np.concatenate((high, low))[order]),
            read_only(np.tile(np.arange(len(key)), 2)[order]),
        )

    def renumbered(self, vocabulary_size: int) -> Ints32:
        """Return the index (V + 1,) into `words` of each word, or -1; that of UNKNOWN is last."""
        number = np.full(vocabulary_size + 1, -1, dtype=np.int32)
        number[self.words] = np.arange(len(self.words))
        number[UNKNOWN] = -1
        return number


def check_windows(topics: Ints, n_words: int, size: int | None) -> None:
    """Raise ValueError unless `topics` (K, n) are different words below `n_words`, or UNKNOWN, and
    `size` is a number of tokens or None; TypeError if that is no whole number.
    """
    if size is not None:
        check_whole("size", size, 1)
    if topics.ndim != 2 or topics.dtype.kind not in "iu":
        raise ValueError(
            f"topics must be whole numbers (n_topics, n_words), found {topics.dtype} {topics.shape}"
        )
    wrong = topics[(topics < UNKNOWN) | (topics >= n_words)]
    if len(wrong):
        raise ValueError(
            f"topics must be numbers of the {n_words} words, or {UNKNOWN}, found {wrong[0]}"
        )
    ordered = np.sort(topics, axis=1)
    is_twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != UNKNOWN)
    if is_twice.any():
        k = int(is_twice.any(axis=1).argmax())
        raise ValueError(f"topic {k} has word {ordered[k, 1:][is_twice[k]][0]} twice")


class Part(NamedTuple):
    """Tokens that are counted at a time: some documents, or a piece of a long one."""

    first: int  # Number of its first token in the whole text
    stop: int
    doc_start: Ints  # (n_docs + 1,), places of its documents, counted from `first`
    docs: slice  # Numbers of its documents


def parts_of(doc_start: Ints, size: int | None) -> Iterator[Part]:
    """Yield the parts of a text in order, of about `PART` tokens each.

    A longer document is cut into pieces that overlap by `size` - 1 tokens, so that each of its
    windows is in one piece. Where the document is the window it is one part.
    """
    first, n_docs = 0, len(doc_start) - 1
    while first < n_docs:
        begin = int(doc_start[first])
        last = int(np.searchsorted(doc_start, begin + PART, side="right")) - 1
        if last > first:
            docs = slice(first, last)
            yield Part(begin, int(doc_start[last]), doc_start[first : last + 1] - begin, docs)
            first = last
            continue
        end = int(doc_start[first + 1])
        overlap = end - begin if size is None else size - 1
        step = max(PART - overlap, overlap + 1)
        for at in range(begin, max(end - overlap, begin + 1), step):
            stop = min(at + step + overlap, end)
            yield Part(at, stop, np.array([0, stop - at]), slice(first, first + 1))
        first += 1


class WindowCounter:
    """Adds up windows of `size` tokens, None for documents, of one part of a text after another.

    It holds `N_BLOCKS` numbers of 8 bytes for each word and for each pair of words of a topic.
    """

    def __init__(self, topics: Ints, size: int | None) -> None:
        self._words = TopicPairs.of(topics)
        self._size = np.iinfo(np.int64).max if size is None else size
        n_words = len(self._words.words)
        self._n_windows = np.zeros(N_BLOCKS, dtype=np.int64)
        self._n_word = np.zeros((N_BLOCKS, n_words), dtype=np.int64)
        self._n_pair = np.zeros((N_BLOCKS, self._words.n_pairs), dtype=np.int64)
        self._stays = np.zeros((2, n_words), dtype=np.int64)

    @property
    def words(self) -> TopicPairs:
        """Words and pairs that are counted."""
        return self._words

    def add(self, position: Ints, word_of: Ints32, doc_start: Ints, article_of: Ints) -> None:
        """Count documents that begin at `doc_start` (n_docs + 1,), of articles (n_docs,).

        `position` (n_tokens,), ascending, are those of the tokens whose words are counted, and
        `word_of` (n_tokens,) their indices into `words.words`.
        """
        words = self._words
        _slide(
            read_only(position),
            read_only(word_of),
            read_only(doc_start.astype(np.int64, copy=False)),
            read_only(article_of % N_BLOCKS),
            self._size,
            (words.partner_start, words.partner_of, words.number_of),
            self._stays,
            (self._n_windows, self._n_word, self._n_pair),
        )

    @property
    def counts(self) -> BlockCounts:
        """Counts of what was added so far."""
        return BlockCounts(self._words, self._n_windows, self._n_word, self._n_pair)


def count_documents(
    counts: sparse.csr_array[np.int32], topics: Ints, article_of: Ints | None = None
) -> BlockCounts:
    """Count co-occurrences in documents, from counts (D, V) without explicit zeros.

    `topics` (K, n) are column numbers, all different in a topic, or UNKNOWN. `article_of` (D,)
    numbers the articles of documents; by default each is one. Raises ValueError if `topics` or
    `article_of` is none of these.
    """
    # Only pairs of words of one topic are counted. A product of sparse matrices would count all
    # pairs: for 1,000 topics that took 2 to 10 times as long.
    return _count(counts.indices, counts.indptr, counts.shape[1], topics, None, article_of)


def count_windows(text: RunningText, topics: Ints, size: int | None) -> BlockCounts:
    """Count co-occurrences in windows of `size` tokens that slide by one; None: in documents.

    `topics` (K, n) are indices into the vocabulary, all different in a topic, or UNKNOWN. Raises
    ValueError if `topics` or `size` is none of these.
    """
    n_words = len(text.vocabulary)
    return _count(text.word_of, text.doc_start, n_words, topics, size, text.article_of)


def _count(
    word_of: NDArray[Any],
    doc_start: NDArray[Any],
    vocabulary_size: int,
    topics: Ints,
    size: int | None,
    article_of: Ints | None,
) -> BlockCounts:
    check_windows(topics, vocabulary_size, size)
    n_docs = len(doc_start) - 1
    if article_of is not None and np.shape(article_of) != (n_docs,):
        raise ValueError(
            f"article_of must be ({n_docs},), one for each document, found {np.shape(article_of)}"
        )
    counter = WindowCounter(topics, size)
    number = counter.words.renumbered(vocabulary_size)
    if article_of is None:
        article_of = np.arange(n_docs)
    for part in parts_of(doc_start, size):
        word = number[word_of[part.first : part.stop]]
        position = np.flatnonzero(word >= 0)
        counter.add(position, word[position], part.doc_start, article_of[part.docs])
    return counter.counts


@kernel
def _slide(
    position: Ints,
    word_of: Ints32,
    doc_start: Ints,
    block_of: Ints,
    size: int,
    partners: tuple[Ints, Ints, Ints],
    stays: Ints,
    counts: tuple[Ints, Ints, Ints],
) -> None:
    """Add the windows of each block, those with each word, and with each pair, to `counts`.

    `position` (n_tokens,), `word_of` (n_tokens,), from 0 to R - 1: the tokens of words in topics.
    `doc_start` (n_docs + 1,), `block_of` (n_docs,). `partners` are those of `TopicPairs`. `counts`
    are (G,), (G, R) and (G, P). `stays` (2, R) is scratch, 0 before and after.

    Window s of a document has its tokens s to s + size - 1. A word stays in the window from its
    first token's entry to its last token's exit. On its exit, the windows shared with a partner in
    the window are those since the later entry of the two. That takes one step for each token of a
    word in topics, and one for each partner and stay, whatever the size.
    """
    n_windows, n_word, n_pair = counts
    n_in, since = stays[0], stays[1]  # tokens in the window; first window of the current stay
    i = 0
    for d in range(len(doc_start) - 1):
        begin, length, g = doc_start[d], doc_start[d + 1] - doc_start[d], block_of[d]
        if length == 0:
            continue
        n_starts = max(length - size, 0) + 1
        n_windows[g] += n_starts
        oldest = i
        while i < len(position) and position[i] < doc_start[d + 1]:
            entry = max(position[i] - begin - size + 1, 0)
            # A word that enters as it leaves stays: tokens that leave at `entry` are still there.
            while oldest < i and position[oldest] - begin + 1 < entry:
                leaving = position[oldest] - begin + 1
                _go_out(word_of[oldest], leaving, n_in, since, partners, n_word[g], n_pair[g])
                oldest += 1
            w = word_of[i]
            if n_in[w] == 0:
                since[w] = entry
            n_in[w] += 1
            i += 1
        while oldest < i:
            leaving = min(position[oldest] - begin + 1, n_starts)
            _go_out(word_of[oldest], leaving, n_in, since, partners, n_word[g], n_pair[g])
            oldest += 1


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
    n_in[w] -= 1
    if n_in[w] == 0:
        n_word[w] += window - since[w]
        start, partner_of, number_of = partners
        for p in range(start[w], start[w + 1]):
            u = partner_of[p]
            if n_in[u] > 0:
                n_pair[number_of[p]] += window - max(since[w], since[u])
