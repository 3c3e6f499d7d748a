"""Likeliest topics of each word, which CVB0 reads in the place of the weights of all topics."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.arrays import Floats
from models.kernel import kernel, read_only
from models.lanes import LANES
from models.parallel import effective_n_jobs, for_blocks
from models.variational.first_passes import Floats32

Topics = NDArray[np.uint16]

N_LIKELY = 48  # topics of a word
MAX_TOPICS = np.iinfo(np.uint16).max  # CVB0 has no more
_LINE = 64  # bytes of a line of the cache
_APART = 7919  # topics from the first of a word to that of the next
_WORD_BLOCK = 512


class LikelyTopics(NamedTuple):
    """The likeliest topics of each word, in order, M of them, which is a multiple of `LANES`."""

    topic: Topics  # (V, M), beyond all K topics K; 0 if no topic has the word
    share: Floats32  # (V, M), φ_kw / Σ_j φ_jw over all topics; 0 where that has no sense
    rest: Floats32  # (V,), mean share of the other topics


def likely_topics(word_topic: Floats, n_jobs: int | None = None) -> LikelyTopics:
    """Return the likeliest topics of each word, for `word_topic` (V, K), K at most `MAX_TOPICS`."""
    weight = read_only(word_topic)
    n_words, n_topics = weight.shape
    n_listed = min(N_LIKELY, -(-n_topics // LANES) * LANES)
    topic, share = (_lines(n_words, n_listed, each) for each in (np.uint16, np.float32))
    topic[:] = n_topics
    rest = np.zeros(n_words, dtype=np.float32)
    for_blocks(
        lambda i, j: list_likely(weight, i, j, topic, share, rest),
        n_words,
        _WORD_BLOCK,
        effective_n_jobs(n_jobs),
    )
    return LikelyTopics(read_only(topic), read_only(share), read_only(rest))


def _lines(n_words: int, n_listed: int, dtype: type) -> NDArray[Any]:
    """Return zeros (V, M) that begin with a line of the cache, so that rows are in few of them."""
    size = n_words * n_listed * np.dtype(dtype).itemsize
    room = np.zeros(size + _LINE, dtype=np.uint8)
    first = -room.ctypes.data % _LINE
    return room[first : first + size].view(dtype).reshape(n_words, n_listed)


@kernel
def list_likely(
    weight: Floats, first: int, last: int, topic: Topics, share: Floats32, rest: Floats32
) -> None:
    """Fill the rows `first:last` of `topic` and `share` (V, M) and of `rest` (V,), 0 before.

    Each word begins with another topic, so that of equal weights not all words take the same.
    """
    n_topics = weight.shape[1]
    n_listed = min(topic.shape[1], n_topics)
    largest = np.empty(n_listed)
    for w in range(first, last):
        of_word, total = weight[w], weight[w].sum()
        if total <= 0.0:
            topic[w, :n_listed] = 0
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
