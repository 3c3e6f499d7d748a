"""Ratings of topics: how well the top words belong together, on three levels.

Newman, Lau, Grieser & Baldwin 2010, "Automatic evaluation of topic coherence": people rated
the ten top words of topics from 1, useless, to 3, useful.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from evaluation.topics.reading.question import RATING, Item, Question
from evaluation.topics.reading.word_intruders import checked_topics
from models.checks import check_whole

LEVELS: Final = (
    "the words have nothing in common",
    "some of the words belong together",
    "the words belong together",
)


def ratings(
    topic_word: ArrayLike, vocabulary: Sequence[str], *, model: str = "", n_words: int = 10
) -> list[Item]:
    """Return a question for each topic with words: how well they belong together.

    `topic_word` (K, V) are weights, none negative. Raises ValueError if shapes disagree, or
    `n_words` is not positive.
    """
    rows = checked_topics(topic_word, vocabulary)
    check_whole("n_words", n_words, 1)
    items = []
    for k, row in enumerate(rows):
        top = [w for w in np.argsort(-row, kind="stable")[:n_words].tolist() if row[w] > 0]
        if top:
            words = ", ".join(vocabulary[w] for w in top)
            items.append(Item(Question(RATING, LEVELS, words), model, str(k)))
    return items
