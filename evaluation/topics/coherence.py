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
from corpora.hash_split import article_of
from corpora.tokens.running_words import UNKNOWN
from evaluation.topics.confirmation import both_occur, topic_values
from evaluation.topics.cooccurrence import count_documents, count_windows
from evaluation.topics.reference.index import ReferenceIndex
from evaluation.topics.resampling import Resampled, resample
from models.topics import TopicWords

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluation.arrays import Floats, Ints
    from evaluation.topics.running_text import RunningText

WINDOW_SIZES: Final[dict[str, int | None]] = {"u_mass": None, "c_uci": 10, "c_npmi": 10, "c_v": 110}
"""Tokens in a window, as in Röder et al. 2015; None for a document."""


@dataclass(frozen=True, eq=False)
class Coherence:
    """The coherence of each topic, the higher the better.

    It has two kinds of standard errors, of different questions. `standard_error` is over topics:
    how far the mean may lie from that of many more topics like these, counted in these documents.
    `by_document` is over the reference's documents, as a sample of more like them, the topics being
    fixed: how far a topic's coherence, or the mean, may lie from that in infinitely many documents,
    `smoothing` growing with their number. It covers neither the choice of the reference nor the
    training of the topics, and is too small where the topics were trained on these documents. Where
    words are together too seldom for a standard error there is none, and the reason is given.
    """

    measure: str
    window: Literal["sliding", "document"]
    """"document" also for a measure of sliding windows that was given counts, not running text."""
    window_size: int | None
    n_windows: int
    per_topic: Floats  #: (K,), NaN for a topic with fewer than two words that occur.
    n_pairs: Ints  #: (K,), pairs of words that both occur, over which each value is a mean.
    by_document: Resampled
    """Standard errors of `per_topic` and of `mean` over documents."""

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
    corpus: Corpus | RunningText | ReferenceIndex,
    measure: str = "c_npmi",
    *,
    n_words: int = 10,
    smoothing: float = 1.0,
    vocabulary: Sequence[str] | None = None,
) -> Coherence:
    """Return the coherence of the `n_words` most probable words of each topic.

    Topics are a model, or each topic's words, the most probable first. `vocabulary` has the words
    of a model's columns; by default they are those of `corpus`, except of an index, whose words are
    others than the model's. Windows are counted in `corpus`; in a `Corpus`, which has no order,
    documents are the windows of every measure. `smoothing` is added to n_ab in u_mass and c_uci;
    gensim adds 1e-12 N.

    Raises ValueError if the measure is not known, a topic has fewer than two words or one twice,
    topics have different numbers of words, or a model has another number of words than
    `vocabulary`, or none is given with an index; CorpusFormatError if the index is damaged.
    """
    if measure not in WINDOW_SIZES:
        known = ", ".join(WINDOW_SIZES)
        raise ValueError(f"measure = {measure!r} is no coherence measure: use one of {known}")
    if not (smoothing > 0 and np.isfinite(smoothing)):
        raise ValueError(f"smoothing must be positive, found {smoothing}")
    if vocabulary is None and isinstance(corpus, ReferenceIndex) and isinstance(topics, TopicWords):
        raise ValueError("vocabulary: an index has words of its own; give those of the model")
    if vocabulary is not None and isinstance(topics, TopicWords):
        topics = _top_words(topics, vocabulary, n_words)
    words = _word_indices(topics, corpus.vocabulary, n_words)
    size = WINDOW_SIZES[measure]
    if isinstance(corpus, Corpus):
        size = None
        found = count_documents(corpus.counts, words, articles_of(corpus))
    elif isinstance(corpus, ReferenceIndex):
        found = corpus.count_windows(words, size)
    else:
        found = count_windows(corpus, words, size)
    return Coherence(
        measure,
        "document" if size is None else "sliding",
        size,
        found.total.n_windows,
        topic_values(found.total, measure, smoothing),
        both_occur(found.total).sum(axis=(1, 2)) // 2,
        resample(found, measure, smoothing),
    )


def articles_of(corpus: Corpus) -> Ints:
    """Return the number (D,) of the article of each document, ascending."""
    names = [article_of(doc_id) for doc_id in corpus.doc_ids]
    starts = [i == 0 or names[i] != names[i - 1] for i in range(len(names))]
    return np.cumsum(np.array(starts, dtype=bool)) - 1


def _top_words(topics: TopicWords, vocabulary: Sequence[str], n_words: int) -> list[list[str]]:
    """Return the words of the topics of a model whose columns are `vocabulary`."""
    if topics.n_words != len(vocabulary):
        raise ValueError(
            f"the topics are over {topics.n_words} words, the vocabulary has {len(vocabulary)}"
        )
    return [[vocabulary[w] for w in row] for row in topics.top_words(n_words).tolist()]


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
