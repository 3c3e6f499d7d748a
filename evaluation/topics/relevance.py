"""Relevance of words for a topic, between probability and lift.

Sievert & Shirley 2014, "LDAvis: a method for visualizing and interpreting topics", Sec. 3.2. And
the other way round: which topics a word is from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from evaluation.topics.distance import normalised_rows
from models.checks import check_whole

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from evaluation.arrays import Floats

WEIGHTS: Final = np.arange(101) / 100  # the values of λ that `relevant_words` is for: 0, 0.01, …, 1
WORDS_AT_ONCE: Final = 4096


def relevance(probability: ArrayLike, word_share: ArrayLike, weight: float) -> Floats:
    """Return λ log p(w | k) + (1 - λ) log (p(w | k) / p(w)), λ from 0 to 1 being `weight` (eq. 1).

    λ = 1 ranks words by probability, λ = 0 by lift, which favours words that hardly occur
    elsewhere, even those that occur only once. In a study people identified topics best with λ of
    about 0.6 (Sec. 4). `probability` (…, V) is p(w | k); where it is 0, relevance is -∞.
    `word_share` (V,) is p(w), positive where the probability is.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        log_probability = np.log(np.asarray(probability, dtype=np.float64))
        lift = log_probability - np.log(np.asarray(word_share, dtype=np.float64))
    # The share of a word that the topic does not have may be 0 too.
    lift = np.where(np.isneginf(log_probability), -np.inf, lift)
    if weight in (0, 1):  # else 0 · ∞
        return log_probability if weight else lift
    found: Floats = weight * log_probability + (1 - weight) * lift
    return found


def relevant_words(
    topic_word: ArrayLike, word_share: ArrayLike, n_words: int
) -> list[NDArray[np.intp]]:
    """Return the words of each topic among its `n_words` most relevant at some λ of `WEIGHTS`.

    They are indices into the vocabulary, the most probable first, equally probable ones in its
    order. So a stable sort of these by relevance, at any such λ, begins with the same `n_words` as
    one of the whole vocabulary. Words with probability 0 in a topic are never among them.

    `topic_word` (K, V) are weights, none negative; `word_share` (V,) is p(w) up to a factor,
    positive where a topic has weight. Raises ValueError otherwise, or if `n_words` is not positive.
    """
    rows = normalised_rows(topic_word, "topic_word")
    share = np.asarray(word_share, dtype=np.float64)
    if share.shape != rows.shape[1:]:
        raise ValueError(
            f"word_share must be ({rows.shape[1]},), one for each column of topic_word, found "
            f"shape {share.shape}"
        )
    if not np.isfinite(share).all() or (share < 0).any() or (rows[:, share == 0] > 0).any():
        raise ValueError(
            "word_share must be finite and not negative, and positive where a topic has weight: "
            "give the model's own word_share"
        )
    check_whole("n_words", n_words, 1)
    total = share.sum()
    return [_relevant(row, share / total, n_words) for row in rows]


def topics_of_words(
    topic_word: ArrayLike, prevalence: ArrayLike, n: int
) -> tuple[NDArray[np.intp], Floats]:
    """Return the `n` most probable topics of each word, and their probabilities (V, min(n, K)).

    p(k | w) ∝ prevalence_k p(w | k), the most probable first, the lower number of equal ones. They
    are 0 for a word that no topic has. `topic_word` (K, V) are weights, and `prevalence` (K,) the
    shares of topics in all tokens up to a factor, none negative. Raises ValueError otherwise, or if
    `n` is not positive.
    """
    rows = normalised_rows(topic_word, "topic_word")
    of_topic = np.asarray(prevalence, dtype=np.float64)
    if of_topic.shape != rows.shape[:1]:
        raise ValueError(
            f"prevalence must be ({rows.shape[0]},), one for each row of topic_word, found shape "
            f"{of_topic.shape}"
        )
    if not np.isfinite(of_topic).all() or (of_topic < 0).any():
        raise ValueError("prevalence must be finite and not negative")
    check_whole("n", n, 1)
    n_topics, n_words = rows.shape
    n = min(n, n_topics)
    topics, shares = np.empty((n_words, n), dtype=np.intp), np.empty((n_words, n))
    for start in range(0, n_words, WORDS_AT_ONCE):
        some = slice(start, start + WORDS_AT_ONCE)
        joint = np.ascontiguousarray(rows[:, some].T) * of_topic
        total = joint.sum(axis=1, keepdims=True)
        joint /= np.where(total > 0, total, 1.0)
        topics[some] = np.argsort(-joint, axis=1, kind="stable")[:, :n]
        shares[some] = np.take_along_axis(joint, topics[some], axis=1)
    return topics, shares


def _relevant(probability: Floats, share: Floats, n_words: int) -> NDArray[np.intp]:
    order = np.argsort(-probability, kind="stable")[: np.count_nonzero(probability)]
    probability, share = probability[order], share[order]
    places = _unbeaten(relevance(probability, share, 0), n_words)
    probability, share = probability[places], share[places]
    shown = np.zeros(len(places), dtype=bool)
    for weight in WEIGHTS:
        ranked = np.argsort(-relevance(probability, share, weight), kind="stable")
        shown[ranked[:n_words]] = True
    return order[places[shown]]


def _unbeaten(lift: Floats, n: int) -> NDArray[np.intp]:
    """Return positions, ascending, of all words among the first `n` at some λ, and few others.

    Words are in order of probability. A word after `n` others of at least its lift is behind them
    at every λ: relevance never falls with either, in floating point too, and equal relevance keeps
    the order. A word is compared with the positions before a power of two times `n`, so that it
    costs one comparison.
    """
    places = [np.arange(min(n, len(lift)))]
    best, start = lift[:n], n
    while start < len(lift):
        stop = min(2 * start, len(lift))
        found = start + np.flatnonzero(lift[start:stop] > best.min())
        places.append(found)
        best = np.concatenate([best, lift[found]])
        best = np.partition(best, len(best) - n)[len(best) - n :]
        start = stop
    return np.concatenate(places)
