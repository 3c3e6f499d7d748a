"""Diversity of lists of words, with an error over topics.

How many words of a topic are new depends on the other topics. What m topics have in common the
jackknife counts m times, so that its variance is too large (Efron & Stein 1981). By how much,
halves tell: the difference of two halves of the topics, drawn at random, has twice the variance of
a half, and the jackknife of a half should have it too.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np
from scipy import sparse

from evaluation.arrays import Bools, Floats, Ints
from evaluation.figure import MIN_TOPICS, Figure, bounded, of_topics
from models.checks import check_whole

N_HALVES = 64
USUAL_SHARE, ITS_TOPICS = 2 / 3, 20
"""True variance over the jackknife's of many kinds of topics; it counts as much as 20 topics do."""


def word_diversity(words: Sequence[Sequence[str]], n_words: int = 25) -> Figure:
    """Return the share of distinct words in the `n_words` first words of all topics.

    As `evaluation.diversity`, of lists that may be shorter. The error is over topics, by the
    jackknife less what it counts too often; there is none of fewer than `MIN_TOPICS`. Its interval
    is Wilson's. Raises ValueError if `n_words` is not positive.
    """
    check_whole("n_words", n_words, 1)
    tops = [tuple(some[:n_words]) for some in words if some]
    if not tops:
        return Figure.none("no topic has words")
    sizes = np.array([len(top) for top in tops])
    topic_of = np.repeat(np.arange(len(tops)), sizes)
    word_of = np.unique(list(chain(*tops)), return_inverse=True)[1]
    has = sparse.csr_array((np.ones(len(word_of)), (topic_of, word_of)))
    has.data[:] = 1  # also of a word that a topic has twice
    value, variance = (each[0] for each in _shares(np.ones((1, len(tops)), bool), has, sizes))
    if len(tops) < MIN_TOPICS:
        return of_topics(Figure(float(value)), len(tops))
    error = float(np.sqrt(variance * _true_share(has, sizes)))
    return bounded(Figure(float(value), error, len(tops) - 1, "topics"))


def _true_share(has: sparse.csr_array, sizes: Ints) -> float:
    """Return the true variance over the jackknife's, by halves of the topics; few topics say little
    of it, and the usual share is mixed in.
    """
    rng, n = np.random.default_rng(0), len(sizes)
    ranks = rng.permuted(np.tile(np.arange(n), (N_HALVES, 1)), axis=1)
    one, other = (_shares(ranks // (n // 2) == half, has, sizes) for half in (0, 1))
    true, jackknifed = np.mean((one[0] - other[0]) ** 2), np.mean(one[1] + other[1])
    share = np.clip(true / jackknifed, 0.25, 1) if jackknifed > 0 else USUAL_SHARE
    return float((n * share + ITS_TOPICS * USUAL_SHARE) / (n + ITS_TOPICS))


def _shares(kept: Bools, has: sparse.csr_array, sizes: Ints) -> tuple[Floats, Floats]:
    """Return diversities (S,) of the topics of masks (S, K), and variances by the jackknife."""
    counts, totals = kept @ has, (kept @ sizes)[:, None]
    distinct = (counts > 0).sum(axis=1, keepdims=True)
    left = np.maximum(totals - sizes, 1)
    without = (distinct - (counts == 1) @ has.T) / left
    variances = (kept.sum(axis=1) - 1) * without.var(axis=1, where=kept)
    return (distinct / totals)[:, 0], variances
