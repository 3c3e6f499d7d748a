"""Strongest dependencies between words, topic by topic, for models that have them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.arrays import Bools, Floats, Ints
from models import SavedModel

N_DEPENDENCIES = 10  # Dependencies of each sign that are shown by default
SORTED_BY = ("weight", "effect")
"""Order by Φ, or by the correlation of counts that it causes (see `_effect`)."""


@dataclass(frozen=True)
class Dependency:
    """Two words and their Φ: positive if they attract each other, negative if they repel."""

    first: str
    second: str
    weight: float  # Φ_st in the literature


@dataclass(frozen=True)
class TopicDependencies:
    """Dependencies of one topic, strongest first."""

    positive: tuple[Dependency, ...]
    negative: tuple[Dependency, ...]


def strongest_dependencies(
    model: SavedModel, n: int = N_DEPENDENCIES, by: str = "weight"
) -> list[TopicDependencies] | None:
    """Return up to `n` dependencies of each sign for each topic; None for models without any.

    They are ordered by "weight", Φ, as in Table 1 of Inouye et al. (2015), or by "effect". By
    weight, words that are rare in the topic can come first. Ties have the order of the vocabulary.
    """
    assert by in SORTED_BY
    topics = model.topics
    edges = topics.edges
    if edges is None:
        return None
    found = []
    for k in range(topics.n_topics):
        of_topic = slice(*np.searchsorted(edges.topic, [k, k + 1]))
        words, weight = edges.words[of_topic], edges.weight[of_topic]
        strength = _effect(words, weight, topics.topic_word[k]) if by == "effect" else weight
        positive, negative = (
            tuple(
                Dependency(
                    model.vocabulary[words[i, 0]], model.vocabulary[words[i, 1]], float(weight[i])
                )
                for i in _largest(sign * strength, sign * weight > 0, n)
            )
            for sign in (1, -1)
        )
        found.append(TopicDependencies(positive, negative))
    return found


def _largest(values: Floats, admitted: Bools, n: int) -> NDArray[np.intp]:
    """Indices of the `n` largest admitted values, largest first."""
    places = np.flatnonzero(admitted)
    return places[np.argsort(-values[places], kind="stable")[:n]]


def _effect(words: Ints, weight: Floats, word_probability: Floats) -> Floats:
    """Φ_st √(p_s p_t), shape (E,): the correlation of x_s and x_t to first order in Φ, over 2 ω L.

    Without Φ the counts are nearly Poisson with mean and variance L p; with Φ their covariance is
    2 ω Φ_st L p_s L p_t.
    """
    effect: Floats = weight * np.sqrt(word_probability[words].prod(axis=1))
    return effect
