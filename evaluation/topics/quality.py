"""Differences between topics: diversity and exclusivity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from models.checks import check_whole

if TYPE_CHECKING:
    from evaluation.arrays import Floats
    from models.topics import TopicWords


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
    top = topics.top_words(n_words)
    in_topic = np.take_along_axis(topics.topic_word, top, axis=1)
    in_all = topics.topic_word.sum(axis=0)[top]
    # A word without weight in the topic is none of its top words.
    share = np.divide(in_topic, in_all, out=np.zeros_like(in_topic), where=in_all > 0)
    n_used = np.maximum((in_topic > 0).sum(axis=1), 1)
    result: Floats = share.sum(axis=1) / n_used
    return result
