"""Diversity of lists of words, with an error over topics."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from evaluation.figure import Figure, jackknife
from models.checks import check_whole


def word_diversity(words: Sequence[Sequence[str]], n_words: int = 25) -> Figure:
    """Return the share of distinct words in the `n_words` first words of all topics.

    As `evaluation.diversity`, of lists that may be shorter. The error is over topics: each is left
    out once. Raises ValueError if `n_words` is not positive.
    """
    check_whole("n_words", n_words, 1)
    tops = [tuple(some[:n_words]) for some in words if some]
    if not tops:
        return Figure.none("no topic has words")
    counts = Counter(word for top in tops for word in top)
    total = sum(map(len, tops))
    value = len(counts) / total
    if len(tops) < 2:
        return Figure(value, over="topics")
    without = [
        (len(counts) - sum(counts[word] == 1 for word in top)) / (total - len(top)) for top in tops
    ]
    return jackknife(value, np.array(without), "topics")
