"""Coherence of lists of words in documents, with an error over the documents that were counted.

`evaluation.topics.coherence` has an error over topics as draws. But whether these topics are more
coherent than those, in documents like these, is a question about documents: their groups are left
out one by one (`evaluation.figure`), the same groups for all models.

The error is that of other documents, as many. It does not say how far the coherence in so few is
from that in all: see `WordCoherence.unseen_pairs`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corpora.tokens.running_words import UNKNOWN
from evaluation.figure import Figure, jackknife
from evaluation.topics.coherence import WINDOW_SIZES, articles_of
from evaluation.topics.confirmation import both_occur, topic_values
from evaluation.topics.cooccurrence import count_documents
from evaluation.topics.reference.index import ReferenceIndex
from evaluation.topics.resampling import resample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from corpora import Corpus
    from evaluation.arrays import Floats, Ints


SMOOTHING = 1.0  # Windows added to those with both words, in u_mass and c_uci


@dataclass(frozen=True, eq=False)
class WordCoherence:
    """Coherence of lists of words."""

    figure: Figure
    """Mean over topics; without an error where `evaluation.coherence` has none, for its reason."""
    jackknifed: Figure  #: The same with the error by the jackknife, also where it misses too often.
    per_topic: Floats  #: (K,), NaN without two words that occur.
    unseen_pairs: float
    """Share of pairs of words that both occur, but in no document together. Each counts as -1 in
    NPMI, also if the documents are too few to have it: then a coherence is too low, and more so for
    rarer words."""


def word_coherence(
    words: Sequence[Sequence[str]],
    corpus: Corpus | ReferenceIndex,
    group_of: Ints,
    measure: str = "c_npmi",
    n_words: int = 10,
) -> WordCoherence:
    """Return the mean coherence over topics, with its error, and that of each topic.

    Windows are documents of a corpus, in the groups `group_of` (D,) below 100; or those of the
    measure in an index, in groups of its own. The `n_words` first words of each topic count; a
    topic may have fewer, and words that are in no document are left out. The mean is over the
    topics that have a value in all documents. Raises ValueError if `n_words` is
    below 2 or the measure is not known.
    """
    if n_words < 2:
        raise ValueError(f"n_words must be at least 2, as coherence is of pairs, found {n_words}")
    if measure not in WINDOW_SIZES:
        known = ", ".join(WINDOW_SIZES)
        raise ValueError(f"measure = {measure!r} is no coherence measure: use one of {known}")
    indices = _indices(words, corpus.vocabulary, n_words)
    if isinstance(corpus, ReferenceIndex):
        found = in_blocks = corpus.count_windows(indices, WINDOW_SIZES[measure])
    else:
        found = count_documents(corpus.counts, indices, group_of)
        in_blocks = count_documents(corpus.counts, indices, articles_of(corpus))
    per_topic = topic_values(found.total, measure, SMOOTHING)
    kept = np.isfinite(per_topic)
    if not kept.any():
        why = "no topic has two words that occur in the documents"
        nothing = Figure.none(why)
        return WordCoherence(nothing, nothing, per_topic, float("nan"))
    pairs = both_occur(found.total)
    unseen = float((found.total.n_both[pairs] == 0).mean())
    replicates = []
    for g in found.in_use.tolist():
        values = topic_values(found.without(g), measure, SMOOTHING)[kept]
        replicates.append(float(np.nanmean(values)) if np.isfinite(values).any() else np.nan)
    jackknifed = jackknife(float(per_topic[kept].mean()), np.array(replicates))
    why = resample(in_blocks, measure, SMOOTHING).mean.why_none
    figure = Figure(jackknifed.value, over=jackknifed.over, why=why) if why else jackknifed
    return WordCoherence(figure, jackknifed, per_topic, unseen)


def _indices(words: Sequence[Sequence[str]], vocabulary: Sequence[str], n_words: int) -> Ints:
    """Return indices (K, n) into the vocabulary, or UNKNOWN, also for words that a topic lacks."""
    place = {word: w for w, word in enumerate(vocabulary)}
    indices = np.full((len(words), n_words), UNKNOWN, dtype=np.int64)
    for k, some in enumerate(words):
        for i, word in enumerate(some[:n_words]):
            indices[k, i] = place.get(word, UNKNOWN)
    return indices
