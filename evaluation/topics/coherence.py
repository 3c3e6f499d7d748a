"""Topic coherence: how often the top words of a topic co-occur in documents.

All measures are means of a confirmation of pairs of words by counts of windows (Röder, Both &
Hinneburg 2015, "Exploring the space of topic coherence measures"). With n_a windows that have word
a, n_ab that have both, N in all, the words of a topic in order of probability:

    u_mass  log (n_ab + 1) / n_b, b the more probable; windows are documents (Mimno et al. 2011)
    c_uci   PMI: log (n_ab + 1) N / (n_a n_b), windows of 10 tokens (Newman et al. 2010)
    c_npmi  NPMI: log (n_ab N / (n_a n_b)) / -log (n_ab / N), windows of 10 (Bouma 2009)
    c_v     the cosine of each word's vector of NPMIs to the topic's words with the sum of these
            vectors, windows of 110 (Röder et al. 2015)

gensim's `CoherenceModel` gives the same values, except in these cases:

* A pair that never co-occurs. gensim adds 1e-12 to probabilities, so that u_mass is near -27 and
  c_uci near -18 for one such pair, which dominates the mean; and NPMI is not -1, its limit, but
  nearer to 0 the rarer the words. Here the added count is 1, as in the paper of u_mass, and NPMI is
  -1.
* Two words in every window: NPMI is 0 / 0. gensim gives -1. Here it is 1, the limit of words in the
  same windows.
* A word in no window. gensim's u_mass takes log 1 for its pairs, the best possible value; the other
  measures divide by zero. Here pairs of such words are left out, `n_pairs` is the number of the
  other pairs, and a topic without any has NaN and is in no mean.
* A vector of length 0, as of two words that never co-occur: its cosine is 0, not 0 / 0.
* A word twice in a window. When gensim's window moves past the first of the two tokens, it drops
  the word, and counts too few windows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from corpora import Corpus
from evaluation.topics.cooccurrence import Cooccurrence, count_documents, count_windows
from evaluation.topics.running_text import UNKNOWN, RunningText
from models.topics import TopicWords

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluation.arrays import Bools, Floats, Ints

Measure = Literal["u_mass", "c_uci", "c_npmi", "c_v"]
WINDOW_SIZES: Final[dict[str, int | None]] = {"u_mass": None, "c_uci": 10, "c_npmi": 10, "c_v": 110}
"""Tokens in a window, as in Röder et al. 2015; None for a document."""


@dataclass(frozen=True, eq=False)
class Coherence:
    """The coherence of each topic, the higher the better."""

    measure: str
    window: Literal["sliding", "document"]
    """"document" also for a measure of sliding windows that was given counts, not running text."""
    window_size: int | None
    n_windows: int
    per_topic: Floats  #: (K,), NaN for a topic with fewer than two words that occur.
    n_pairs: Ints  #: (K,), pairs of words that both occur, over which each value is a mean.

    @property
    def n_topics(self) -> int:
        """Number of topics with a value."""
        return int(np.isfinite(self.per_topic).sum())

    @property
    def mean(self) -> float:
        """Mean over topics with a value; NaN without any."""
        values = self.per_topic[np.isfinite(self.per_topic)]
        return float(values.mean()) if len(values) else float("nan")

    @property
    def standard_error(self) -> float:
        """Standard error of `mean`, over topics as independent draws; NaN for fewer than two."""
        values = self.per_topic[np.isfinite(self.per_topic)]
        if len(values) < 2:
            return float("nan")
        return float(values.std(ddof=1) / np.sqrt(len(values)))


def coherence(
    topics: TopicWords | Sequence[Sequence[str]],
    corpus: Corpus | RunningText,
    measure: str = "c_npmi",
    *,
    n_words: int = 10,
    smoothing: float = 1.0,
) -> Coherence:
    """Return the coherence of the `n_words` most probable words of each topic.

    Topics are over the vocabulary of `corpus`, or each topic's words, the most probable first.
    Windows are counted in `corpus`; in a `Corpus`, which has no order, documents are the windows of
    every measure. `smoothing` is added to n_ab in u_mass and c_uci; gensim adds 1e-12 N.

    Raises ValueError if the measure is not known, a topic has fewer than two words or one twice,
    topics have different numbers of words, or a model has another number of words than the corpus.
    """
    if measure not in WINDOW_SIZES:
        known = ", ".join(WINDOW_SIZES)
        raise ValueError(f"measure = {measure!r} is no coherence measure: use one of {known}")
    if not (smoothing > 0 and np.isfinite(smoothing)):
        raise ValueError(f"smoothing must be positive, found {smoothing}")
    words = _word_indices(topics, corpus.vocabulary, n_words)
    size = WINDOW_SIZES[measure]
    if isinstance(corpus, Corpus):
        size = None
        found = count_documents(corpus.counts, words)
    else:
        found = count_windows(corpus, words, size)
    n_pairs = _pairs(found).sum(axis=(1, 2)) // 2
    per_topic = topic_coherences(found, measure, smoothing)
    return Coherence(
        measure,
        "document" if size is None else "sliding",
        size,
        found.n_windows,
        per_topic,
        n_pairs,
    )


def topic_coherences(found: Cooccurrence, measure: str, smoothing: float = 1.0) -> Floats:
    """Return the coherence (K,) by counts of windows; see `coherence`. NaN without a pair of words
    that occur. Raises ValueError if the measure is not known.
    """
    if measure not in WINDOW_SIZES:
        known = ", ".join(WINDOW_SIZES)
        raise ValueError(f"measure = {measure!r} is no coherence measure: use one of {known}")
    occurs, both = found.n_word > 0, _pairs(found)
    n_words = both.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        if measure == "c_v":
            return _mean(_cosines(found), occurs & both.any(axis=2))
        if measure == "c_npmi":
            return _mean(_npmi(found), both)
        if measure == "c_uci":
            return _mean(_pmi(found, smoothing), both)
        # Row m, column l: the pair of a word and an earlier one.
        before = np.tril(np.ones((n_words, n_words), dtype=bool), -1)
        confirmation = np.log((found.n_both + smoothing) / found.n_word[:, None, :])
        return _mean(confirmation, both & before)


def _pairs(found: Cooccurrence) -> Bools:
    """Return the mask (K, n, n) of pairs of two words that both occur, in both orders."""
    occurs = found.n_word > 0
    return occurs[:, :, None] & occurs[:, None, :] & ~np.eye(found.n_word.shape[1], dtype=bool)


def _word_indices(
    topics: TopicWords | Sequence[Sequence[str]], vocabulary: tuple[str, ...], n_words: int
) -> Ints:
    """Return indices (K, n) into `vocabulary` of topics' top words, or UNKNOWN."""
    if n_words < 2:
        raise ValueError(f"n_words must be at least 2, as coherence is of pairs, found {n_words}")
    if isinstance(topics, TopicWords):
        if topics.n_words != len(vocabulary):
            raise ValueError(
                f"the topics are over {topics.n_words} words, the corpus over {len(vocabulary)}: "
                "count the documents against the model's vocabulary"
            )
        indices = topics.top_words(n_words).astype(np.int64)
    else:
        lists = [list(words)[:n_words] for words in topics]
        lengths = sorted({len(words) for words in lists})
        if len(lengths) != 1:
            raise ValueError(
                f"topics must have as many words each, found {lengths}: give the same number of "
                "words for every topic, or a smaller n_words"
            )
        for k, words in enumerate(lists):
            if len(set(words)) != len(words):
                raise ValueError(f"topic {k} has a word twice: {' '.join(words)}")
        index = {word: w for w, word in enumerate(vocabulary)}
        indices = np.array([[index.get(word, UNKNOWN) for word in words] for words in lists], int)
    if indices.shape[1] < 2:
        raise ValueError("every topic needs two words at least, as coherence is of pairs")
    return indices


def _pmi(found: Cooccurrence, smoothing: float) -> Floats:
    """Return pointwise mutual information (K, n, n) in nats."""
    n_a, n_b = found.n_word[:, :, None].astype(float), found.n_word[:, None, :]
    result: Floats = np.log((found.n_both + smoothing) * found.n_windows / (n_a * n_b))
    return result


def _npmi(found: Cooccurrence) -> Floats:
    """Return NPMI (K, n, n) from -1, never together, to 1, always; 1 on the diagonals."""
    ratio = _pmi(found, 0.0) / -np.log(found.n_both / found.n_windows)
    ratio[found.n_both == 0] = -1.0
    ratio[found.n_both == found.n_windows] = 1.0
    return ratio


def _cosines(found: Cooccurrence) -> Floats:
    """Return the cosine (K, n) of each word's NPMIs with their sum over words that occur."""
    occurs = found.n_word > 0
    vectors = np.where(occurs[:, :, None] & occurs[:, None, :], _npmi(found), 0.0)
    total = vectors.sum(axis=1)
    lengths = np.linalg.norm(vectors, axis=2) * np.linalg.norm(total, axis=1)[:, None]
    products = np.einsum("kij,kj->ki", vectors, total)
    return np.where(lengths > 0, products / lengths, 0.0)


def _mean(values: Floats, counted: Bools) -> Floats:
    """Return the mean (K,) of the `counted` values; NaN where there is none."""
    axes = tuple(range(1, values.ndim))
    total: Floats = np.where(counted, values, 0.0).sum(axis=axes)
    means: Floats = total / counted.sum(axis=axes)
    return means
