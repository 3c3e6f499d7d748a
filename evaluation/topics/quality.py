"""Differences between topics: diversity and exclusivity."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from evaluation.figure import Figure, bounded, mean_figure, of_topics
from models.checks import check_whole
from models.topics import TopicWords

if TYPE_CHECKING:
    from evaluation.arrays import Floats, Ints

MIN_EXCLUSIVE = 20  # Topics, at least, for an error of exclusivity


def diversity(topics: TopicWords, n_words: int = 25) -> float:
    """Return the share of distinct words in the `n_words` top words of all topics, from 1/K to 1.

    Dieng, Ruiz & Blei 2020, "Topic modeling in embedding spaces", with 25 words. A vocabulary with
    fewer words is taken whole. Raises ValueError if `n_words` is not positive.
    """
    check_whole("n_words", n_words, 1)
    top = topics.top_words(n_words)
    return len(np.unique(top)) / top.size


def exclusivity(topics: TopicWords, n_words: int = 10) -> Floats:
    """Return the mean (K,) of topic_word_kw / Σ_j topic_word_jw over topics' `n_words` top words.

    The exclusivity of a word to a topic is that of Bischof & Airoldi 2012, "Summarizing topical
    content with word frequency and exclusivity", before it is ranked: the share of the topic in the
    word if all topics are equally frequent. It is 1 for words that no other topic has, and 1/K if
    all topics are equal, so that it depends on K. Raises ValueError if `n_words` is not positive.
    """
    check_whole("n_words", n_words, 1)
    share, n_used = _shares(topics, topics.top_words(n_words))
    result: Floats = share.sum(axis=1) / n_used
    return result


def exclusivity_figure(topics: TopicWords, n_words: int = 10) -> Figure:
    """Return the mean exclusivity of topics with its error, by the infinitesimal jackknife.

    A topic changes the mean by its own exclusivity, and by what its weight takes from the shares of
    all others: it is the derivative by this weight that varies over topics. The interval is
    Wilson's. Topics without weights are left out; of fewer than `MIN_EXCLUSIVE` others there is no
    error: a few of ten that are unlike the others decide the mean. Raises ValueError if `n_words`
    is not positive.
    """
    check_whole("n_words", n_words, 1)
    has_weight = topics.topic_word.any(axis=1)
    if not has_weight.any():
        return Figure.none("no topic has a weight")
    topics = TopicWords(topics.topic_word[has_weight])
    top = topics.top_words(n_words)
    share, n_used = _shares(topics, top)
    words, place = np.unique(top, return_inverse=True)
    in_all = topics.topic_word.sum(axis=0)[words]
    shares = np.divide(
        topics.topic_word[:, words], in_all, out=np.zeros((len(top), len(words))), where=in_all > 0
    )
    taken = np.bincount(place.ravel(), (share / n_used[:, np.newaxis]).ravel(), len(words))
    exclusive, from_itself = share.sum(axis=1) / n_used, (share**2).sum(axis=1) / n_used
    found = mean_figure(exclusive - shares @ taken + from_itself)
    found = bounded(replace(found, value=float(exclusive.mean())))
    return of_topics(found, topics.n_topics, MIN_EXCLUSIVE)


def _shares(topics: TopicWords, top: Ints) -> tuple[Floats, Ints]:
    """Return the shares that topics have in their top words (K, n), and how many they have (K,).

    A word without weight in the topic is none of its top words: its share is 0.
    """
    in_topic = np.take_along_axis(topics.topic_word, top, axis=1)
    in_all = topics.topic_word.sum(axis=0)[top]
    share = np.divide(in_topic, in_all, out=np.zeros_like(in_topic), where=in_all > 0)
    return share, np.maximum((in_topic > 0).sum(axis=1), 1)
