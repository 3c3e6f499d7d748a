"""Word intrusion: the five top words of a topic and one word that does not belong there.

Chang, Boyd-Graber, Gerrish, Wang & Blei 2009, "Reading tea leaves: how humans interpret topic
models", Sec. 3.1. The intruder has a low probability in the topic, so that it does not belong
there, and a high one in another topic, so that it is not found by being rare.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evaluation.arrays import Floats
from evaluation.topics.distance import normalised_rows
from evaluation.topics.reading.question import WORD_INTRUSION, Item, Question
from models.checks import check_whole

N_WORDS: Final = 5
PROBABLE: Final = 10
"""Top words of another topic among which the intruder is."""


def word_intrusion(
    topic_word: ArrayLike,
    vocabulary: Sequence[str],
    *,
    model: str = "",
    n_words: int = N_WORDS,
    random_state: int | np.random.Generator = 0,
) -> list[Item]:
    """Return a question for each topic: which of `n_words` + 1 words is the intruder.

    The intruder is drawn from another topic, drawn before: it is one of the 10 top words there, and
    in this topic at most as probable as the median word. A topic with fewer than `n_words` words,
    or for which no topic has an intruder, gets no question.

    `topic_word` (K, V) are weights, none negative. For a model that is known only by lists of words
    see `weights_of_lists`. Raises ValueError if shapes disagree, there is one topic only, or
    `n_words` is not positive.
    """
    rows = checked_topics(topic_word, vocabulary)
    check_whole("n_words", n_words, 1)
    if len(rows) < 2:
        raise ValueError(f"an intruder is a word of another topic: {model or 'model'} has only one")
    rng = np.random.default_rng(random_state)
    top = np.argsort(-rows, axis=1, kind="stable")[:, : max(n_words, PROBABLE)]
    items = []
    for k, row in enumerate(rows):
        own = top[k, :n_words]
        if len(own) < n_words or not row[own].all():
            continue
        intruder = _intruder(k, rows, top, own, rng)
        if intruder is None:
            continue
        shown = rng.permutation(n_words + 1)
        words = [vocabulary[w] for w in (*own.tolist(), intruder)]
        question = Question(WORD_INTRUSION, tuple(words[i] for i in shown))
        items.append(Item(question, model, str(k), int(np.flatnonzero(shown == n_words)[0])))
    return items


def checked_topics(topic_word: ArrayLike, vocabulary: Sequence[str]) -> Floats:
    """Return the rows (K, V), normalised; raise ValueError unless there is a word a column."""
    rows = normalised_rows(topic_word, "topic_word")
    if len(vocabulary) != rows.shape[1]:
        raise ValueError(
            f"vocabulary must be {rows.shape[1]} words, one for each column of topic_word, found "
            f"{len(vocabulary)}"
        )
    return rows


def weights_of_lists(lists: Sequence[Sequence[str]]) -> tuple[Floats, tuple[str, ...]]:
    """Return weights (K, V) and words of topics that are known only by lists, the best word first.

    The word at place i of n has weight n - i, a word that is not in the list 0. Raises ValueError
    if a list is empty or has a word twice.
    """
    vocabulary = tuple(dict.fromkeys(word for words in lists for word in words))
    place = {word: w for w, word in enumerate(vocabulary)}
    weights = np.zeros((len(lists), len(vocabulary)))
    for k, words in enumerate(lists):
        if not words or len(set(words)) < len(words):
            what = "has a word twice" if words else "is empty"
            raise ValueError(f"list {k + 1} of words {what}")
        weights[k, [place[word] for word in words]] = np.arange(len(words), 0, -1)
    return weights, vocabulary


def _intruder(
    k: int, rows: Floats, top: NDArray[np.intp], own: NDArray[np.intp], rng: np.random.Generator
) -> int | None:
    is_improbable = rows[k] <= np.median(rows[k])
    is_improbable[own] = False
    for other in rng.permutation(len(rows)):
        words = top[other, :PROBABLE]
        words = words[is_improbable[words] & (rows[other, words] > 0)]
        if other != k and len(words):
            return int(rng.choice(words))
    return None
