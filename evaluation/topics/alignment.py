"""Alignment of the topics of two models by the smallest sum of distances."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from evaluation.topics.distance import cross_distances
from models.checks import check_whole
from models.topics import TopicWords


@dataclass(frozen=True)
class TopicPair:
    """A topic of the first model and its partner in the second, by their numbers."""

    first: int
    second: int
    distance: float  #: Jensen-Shannon distance over the common words, from 0 to 1.
    shared_words: tuple[str, ...]
    """Words among the most probable of both, in the order of the first."""


@dataclass(frozen=True)
class TopicAlignment:
    """Matching of two models' topics with the smallest sum of distances."""

    pairs: tuple[TopicPair, ...]
    """Pairs, the closest first; of equal ones the lower number of the first model."""
    only_first: tuple[int, ...]
    """Topics of the first model without a partner, as the second has fewer; ascending."""
    only_second: tuple[int, ...]  #: Topics of the second model without a partner.
    n_common_words: int

    @property
    def mean_distance(self) -> float:
        """Mean distance over pairs."""
        return float(np.mean([pair.distance for pair in self.pairs]))


def align_topics(
    first: TopicWords,
    first_vocabulary: Sequence[str],
    second: TopicWords,
    second_vocabulary: Sequence[str],
    *,
    n_top: int = 20,
    n_jobs: int | None = None,
) -> TopicAlignment:
    """Match topics one to one by the smallest sum of Jensen-Shannon distances.

    Distances are of the normalised weights of common words. A topic without any of these is at
    distance 1 from all. Shared words are taken from the `n_top` most probable of each topic over
    its own vocabulary, the words of the columns of its `topic_word`.
    Models may be of different families and numbers of topics. Threads: `n_jobs`, -1 for every core.

    Raises ValueError if a vocabulary does not fit its model, the two have no word in common, or
    `n_top` is not positive.
    """
    models = {"first": (first, first_vocabulary), "second": (second, second_vocabulary)}
    for name, (topics, words) in models.items():
        if topics.n_words != len(words):
            raise ValueError(
                f"{name}_vocabulary must have the {topics.n_words} words of {name}, found "
                f"{len(words)}"
            )
    check_whole("n_top", n_top, 1)
    place = {word: w for w, word in enumerate(second_vocabulary)}
    common = [(w, place[word]) for w, word in enumerate(first_vocabulary) if word in place]
    if not common:
        raise ValueError("the two models have no word in common: there is nothing to align")
    columns, other_columns = np.array(common).T
    distances = cross_distances(
        first.topic_word[:, columns], second.topic_word[:, other_columns], n_jobs=n_jobs
    )
    rows, partners = linear_sum_assignment(distances)
    top, other_top = _top(first, n_top), _top(second, n_top)
    pairs = []
    for k, j in zip(rows.tolist(), partners.tolist(), strict=True):
        words = [first_vocabulary[w] for w in top[k]]
        others = {second_vocabulary[w] for w in other_top[j]}
        shared = tuple(word for word in words if word in others)
        pairs.append(TopicPair(k, j, float(distances[k, j]), shared))
    pairs.sort(key=lambda pair: (pair.distance, pair.first))
    return TopicAlignment(
        tuple(pairs),
        tuple(sorted(set(range(first.n_topics)) - set(rows.tolist()))),
        tuple(sorted(set(range(second.n_topics)) - set(partners.tolist()))),
        len(common),
    )


def _top(topics: TopicWords, n: int) -> list[NDArray[np.intp]]:
    """Return the most probable words of each topic, without those of probability 0."""
    return [
        words[weight[words] > 0]
        for words, weight in zip(topics.top_words(n), topics.topic_word, strict=True)
    ]
