"""Lists of topics with their counts, for documents or words that have few of all topics."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.arrays import Bools, Ints, Ints32
from models.gibbs.lanes import lane_of
from models.gibbs.tokens import Tokens
from models.kernel import kernel
from models.lanes import LANES

Topics = NDArray[np.uint16]
SHORT = 64  # Topics of a list that is sorted by insertion
Numbers = Ints32 | NDArray[np.float32]


class TopicLists(NamedTuple):
    """Topics of each of n items, documents or words, with the number of the item's tokens in each.
    The topics of item i are the first `n_distinct[i]` places from `start[i]` on.
    """

    start: Ints  # (n + 1,), an item has as many places as it can have topics, in whole `LANES`
    topic: Topics  # K behind a document's last topic
    n_tokens: Ints32  # Tokens of each place's topic; 0 behind a document's last topic
    n_distinct: Ints32  # (n,)


def empty_lists(n_tokens: Ints, n_topics: int) -> TopicLists:
    """Return empty lists of items of `n_tokens` (n,)."""
    n_places = -(-np.minimum(n_tokens, n_topics) // LANES) * LANES
    start = np.concatenate(([0], np.cumsum(n_places))).astype(np.int64)
    return TopicLists(
        start=start,
        topic=np.full(start[-1], n_topics, dtype=np.uint16),
        n_tokens=np.zeros(start[-1], dtype=np.int32),
        n_distinct=np.zeros(len(n_tokens), dtype=np.int32),
    )


def topics_of_words(
    tokens: Tokens, topic_of: Topics, frozen: Bools, n_wk_before: Ints32, n_topics: int
) -> TopicLists:
    """Return the topics of each word, in their order, without frozen words.
    `n_wk_before` (V, K) holds counts of other documents; (0, K) if there are none.
    """
    order = np.argsort(tokens.word_of_run, kind="stable")
    first = np.searchsorted(tokens.word_of_run[order], np.arange(len(frozen) + 1))
    n_tokens = np.bincount(tokens.word_of_run, np.diff(tokens.run_start), len(frozen))
    n_tokens = n_tokens.astype(np.int64)
    if len(n_wk_before):
        n_tokens += n_wk_before.sum(axis=1)
    lists = empty_lists(np.where(frozen, 0, n_tokens), n_topics)
    list_word_topics(tokens, order, first, topic_of, frozen, n_wk_before, n_topics, lists)
    return lists


@kernel
def list_word_topics(
    tokens: Tokens,
    runs: Ints,
    first: Ints,
    topic_of: Topics,
    frozen: Bools,
    n_wk_before: Ints32,
    n_topics: int,
    lists: TopicLists,
) -> None:
    """Count the topics of each word in the empty `lists`, in place.
    The runs of word w are `runs[first[w]:first[w + 1]]`.
    """
    count = np.zeros(n_topics, dtype=np.int32)
    for w in range(frozen.shape[0]):
        if frozen[w]:
            continue
        if n_wk_before.shape[0]:
            count[:] = n_wk_before[w]
        for i in range(first[w], first[w + 1]):
            for t in range(tokens.run_start[runs[i]], tokens.run_start[runs[i] + 1]):
                count[topic_of[t]] += 1
        place = lists.start[w]
        for k in range(n_topics):
            if count[k]:
                lists.topic[place] = k
                lists.n_tokens[place] = count[k]
                place += 1
                count[k] = 0
        lists.n_distinct[w] = place - lists.start[w]


@kernel
def add_listed_topics(
    lists: TopicLists, first: int, last: int, factor: Numbers, total: Numbers
) -> None:
    """Add the counts of the items `first <= i < last`, times `factor` (K,), to `total` (n, K).
    Equivalent to `total[i, topic] += count * factor[topic]`, in place.
    """
    for i in range(first, last):
        for place in range(lists.start[i], lists.start[i] + lists.n_distinct[i]):
            k = lists.topic[place]
            total[i, k] += lists.n_tokens[place] * factor[k]


@kernel
def list_doc_topics(
    tokens: Tokens, first: int, last: int, topic_of: Topics, lists: TopicLists
) -> None:
    """Count the tokens `first <= t < last` in the lists of documents, in place."""
    for t in range(first, last):
        d, k = tokens.doc_of[t], topic_of[t]
        place = lists.start[d]
        stop = place + lists.n_distinct[d]
        while place < stop and lists.topic[place] != k:
            place += 1
        if place == stop:
            lists.topic[place] = k
            lists.n_tokens[place] = 0
            lists.n_distinct[d] += 1
        lists.n_tokens[place] += 1


@kernel
def sort_lists(lists: TopicLists, first: int, last: int) -> None:
    """Put the most frequent topics of each item first, in place, for `first <= i < last`.
    The order then depends on the counts alone, not on earlier sweeps, and searches are shorter.
    """
    topics, counts = lists.topic, lists.n_tokens
    for item in range(first, last):
        start = lists.start[item]
        end = start + lists.n_distinct[item]
        if end - start > SHORT:
            _sort_long(topics, counts, start, end)
        else:
            for i in range(start + 1, end):  # nearly in order since the sweep before
                topic, count, place = topics[i], counts[i], i
                while place > start and (
                    counts[place - 1] < count
                    or (counts[place - 1] == count and topics[place - 1] > topic)
                ):
                    topics[place], counts[place] = topics[place - 1], counts[place - 1]
                    place -= 1
                topics[place], counts[place] = topic, count


@kernel
def _sort_long(topics: Topics, counts: Ints32, start: int, end: int) -> None:
    """Put the most frequent topics of the places `start <= i < end` first, in place."""
    keys = np.empty(end - start, dtype=np.int64)
    for i in range(end - start):
        keys[i] = np.int64(topics[start + i]) - np.int64(counts[start + i]) * 65536
    keys.sort()
    for i in range(end - start):
        topic = keys[i] & 0xFFFF
        topics[start + i] = topic
        counts[start + i] = (topic - keys[i]) // 65536


@kernel
def place_of(topics: Topics, start: int, n: int, k: int) -> int:
    """Return the place, from `start` on, of topic `k` among the `n` of a document; `n` if it is not
    there.
    """
    first = 0
    while first < n:
        lane = lane_of(topics, start + first, k)
        if lane < LANES:
            return first + lane
        first += LANES
    return n


@kernel
def move_token(
    topics: Topics, counts: Ints32, start: int, n: int, place: int, k: int, to: int, n_topics: int
) -> int:
    """Move a token of a document from the topic at `place` to topic `k` at the place `to`; return
    the number of its topics then. `to` is `n` if `k` is not among its `n` topics so far.
    """
    counts[start + place] -= 1
    is_empty = (counts[start + place] == 0) & (to != place)
    n_left = n - 1 if is_empty else n
    last = n_left if is_empty else place  # it takes the place of an empty one
    topic, count = topics[start + last], counts[start + last]
    topics[start + place], counts[start + place] = topic, count
    topics[start + last] = n_topics if is_empty else topic
    counts[start + last] = 0 if is_empty else count
    if to == n:
        to = n_left
    elif is_empty and to == last:
        to = place
    topics[start + to] = k
    counts[start + to] += 1
    return max(n_left, to + 1)
