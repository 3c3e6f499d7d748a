"""Likeliest topics of each word, which CVB0 reads in the place of the weights of all topics."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.arrays import Floats
from models.kernel import kernel, read_only
from models.parallel import effective_n_jobs, for_blocks
from models.variational.first_passes import Floats32

Indices = NDArray[np.uint32]

N_LIKELY = 48  # topics of a word
_APART = 7919  # topics from the first of a word to that of the next
_WORD_BLOCK = 512


class LikelyTopics(NamedTuple):
    """The likeliest topics of each word, M of them, in order."""

    topic: Indices  # (V, M)
    share: Floats32  # (V, M), φ_kw / Σ_j φ_jw over all topics; 0 if no topic has the word
    rest: Floats32  # (V,), mean share of the other topics


def likely_topics(word_topic: Floats, n_jobs: int | None = None) -> LikelyTopics:
    """Return the likeliest topics of each word, for `word_topic` (V, K)."""
    weight = read_only(word_topic)
    n_words, n_topics = weight.shape
    shape = n_words, min(N_LIKELY, n_topics)
    topic, share = np.zeros(shape, dtype=np.uint32), np.empty(shape, dtype=np.float32)
    rest = np.zeros(n_words, dtype=np.float32)
    for_blocks(
        lambda i, j: list_likely(weight, i, j, topic, share, rest),
        n_words,
        _WORD_BLOCK,
        effective_n_jobs(n_jobs),
    )
    return LikelyTopics(read_only(topic), read_only(share), read_only(rest))


@kernel
def list_likely(
    weight: Floats, first: int, last: int, topic: Indices, share: Floats32, rest: Floats32
) -> None:
    """Fill the rows `first:last` of `topic` and `share` (V, M) and of `rest` (V,), zeros before.

    Each word begins with another topic, so that of equal weights not all words take the same.
    """
    n_topics, n_listed = weight.shape[1], topic.shape[1]
    largest = np.empty(n_listed)
    for w in range(first, last):
        of_word, total = weight[w], weight[w].sum()
        if total <= 0.0:
            share[w] = 0.0
            continue
        largest[:] = -1.0  # below any weight, so that all places are filled
        begin = w * _APART % n_topics
        for step in range(n_topics):
            k = begin + step if begin + step < n_topics else begin + step - n_topics
            if of_word[k] > largest[n_listed - 1]:
                i = n_listed - 1
                while i > 0 and of_word[k] > largest[i - 1]:
                    largest[i], topic[w, i] = largest[i - 1], topic[w, i - 1]
                    i -= 1
                largest[i], topic[w, i] = of_word[k], k
        for i in range(n_listed):
            share[w, i] = largest[i] / total
        if n_topics > n_listed:
            rest[w] = max(total - largest.sum(), 0.0) / total / (n_topics - n_listed)
