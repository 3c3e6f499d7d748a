"""Pairs of words that depend on each other, in each topic of a model of Poisson MRFs."""

from typing import Any, NamedTuple, Protocol

import numpy as np

from models.arrays import Floats, Ints, Ints32
from models.poisson_mrf.distribution import FixedLengthPoissonMRF
from models.topics import Weights


class Neighbours(NamedTuple):
    """Φ of all topics by word, as kernels read it; row k V + s is of word s in topic k."""

    start: Ints  # (K V + 1,), first entry of each row
    word: Ints32  # (2 E,), words that depend on the row's, ascending
    weight: Floats  # (2 E,), Φ^k_st


class Fields(Weights, Protocol):
    """K fields over V words, exp θ as weights, with their tables: what scores take of a model."""

    @property
    def fields(self) -> tuple[FixedLengthPoissonMRF, ...]:
        """The distribution of each topic."""

    @property
    def half_length(self) -> Floats:
        """(K,), the number of tokens at which ω is a half."""

    @property
    def neighbours(self) -> Neighbours:
        """Φ of all topics."""

    def log_partition_to(self, longest: int) -> Floats:
        """(K, longest + 1), A_L + log L! from L = 0."""


def checked_edges(
    edge_topic: Any, edge_words: Any, edge_weight: Any, shape: tuple[int, int]
) -> tuple[Ints, Ints, Floats]:
    """Copies of the edges of fields of `shape` (K, V), in order.
    Raises ValueError if they are none of such fields.
    """
    n_topics, n_words = shape
    topic = np.array(edge_topic, dtype=np.int64).reshape(-1)
    words = np.array(edge_words, dtype=np.int64).reshape(-1, 2)
    weight = np.array(edge_weight, dtype=np.float64).reshape(-1)
    if not len(topic) == len(words) == len(weight):
        raise ValueError("edge_topic, edge_words and edge_weight must be of as many edges")
    order = np.lexsort((words[:, 1], words[:, 0], topic))
    topic, words, weight = topic[order], words[order], weight[order]
    if len(topic):
        if topic[0] < 0 or topic[-1] >= n_topics or words.min() < 0 or words.max() >= n_words:
            raise ValueError("an edge is of a topic or a word that there is not")
        if (words[:, 0] >= words[:, 1]).any():
            raise ValueError("the first word of an edge must be below the second")
        if not np.isfinite(weight).all():
            raise ValueError("edge_weight must hold finite numbers")
        number = (topic * n_words + words[:, 0]) * n_words + words[:, 1]
        if (np.diff(number) == 0).any():
            raise ValueError("a pair of words is twice among the edges of a topic")
    return topic, words, weight
