"""The pairs of words of each topic that depend on each other most, where words depend at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from models import SavedModel

N_DEPENDENCIES = 10
"""How many of each sign are shown where nothing else is said."""
SORTED_BY = ("weight", "effect")
"""By Φ; or by the correlation of two counts that it makes, of which more in `_effect`."""


@dataclass(frozen=True)
class Dependency:
    """Two words and Φ of them: one brings the other if it is positive, and bars it if negative."""

    first: str
    second: str
    weight: float
    """In the literature this is Φ_st."""


@dataclass(frozen=True)
class TopicDependencies:
    """Those of one topic, the strongest first."""

    positive: tuple[Dependency, ...]
    negative: tuple[Dependency, ...]


def strongest_dependencies(
    model: SavedModel, n: int = N_DEPENDENCIES, by: str = "weight"
) -> list[TopicDependencies] | None:
    """Up to `n` of each sign for each topic; None of models whose words do not depend.

    Parameters
    ----------
    by
        What they are sorted by: "weight", Φ, as in Table 1 of Inouye et al. (2015), or "effect".
        By weight, pairs of words that the topic hardly has can come first. Those of the same
        weight stand in the order of the vocabulary.
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


def _largest(values: NDArray[np.float64], admitted: NDArray[np.bool_], n: int) -> NDArray[np.intp]:
    """Where the `n` largest of the admitted values are, the largest first."""
    places = np.flatnonzero(admitted)
    return places[np.argsort(-values[places], kind="stable")[:n]]


def _effect(
    words: NDArray[np.int64], weight: NDArray[np.float64], word_probability: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(E,), Φ_st √(p_s p_t): the correlation of x_s and x_t to first order in Φ, over 2 ω L.

    Without Φ the counts are near Poisson, of means and variances L p, and Φ makes their covariance
    2 ω Φ_st L p_s L p_t.
    """
    effect: NDArray[np.float64] = weight * np.sqrt(word_probability[words].prod(axis=1))
    return effect
