"""Consensus of models of LDA from different seeds: their topics are merged and averaged.

The topics of all N models are merged into K by Ward's method (`models.lda.merging`), and those of a
cluster averaged. A topic that some models split and others do not follows the majority of tokens,
which a matching one to one would not allow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from models.lda.merging import merge_topics
from models.lda.topics import LDATopics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from models.arrays import Floats


@dataclass(frozen=True, eq=False)
class Consensus:
    """Mean of N models of LDA over the same words."""

    topics: LDATopics  #: Topics (K, V) and alpha (K,) of the mean.
    models: tuple[LDATopics, ...]  #: (N,).
    weights: tuple[Floats, ...]  #: (N,), the weights (K_n,) of each model's topics.
    members: tuple[NDArray[np.intp], ...]
    """(N,), the topic of the mean that each topic (K_n,) of a model is part of."""

    def without(self, number: int) -> Floats:
        """Return the mean (K, V) of all models but one; a topic of this model alone is zeros."""
        rest = [n for n in range(len(self.models)) if n != number]
        return _mean(
            [self.models[n] for n in rest],
            [self.weights[n] for n in rest],
            [self.members[n] for n in rest],
            self.topics.n_topics,
        )


def consensus(
    models: Sequence[LDATopics], weights: Sequence[Any] | None = None, n_topics: int | None = None
) -> Consensus:
    """Return the mean of models; see `models.lda.consensus`.

    `weights` are the numbers of tokens (K_n,) of each model's topics; by default all topics are
    alike. Topics are weighted means of their clusters, in the order of their first members; alpha
    is the sum over a cluster divided by N. There are `n_topics`, by default as many as in the first
    model. Memory: 8 bytes for each pair of topics.

    Raises ValueError if there is no model, words or shapes of weights differ, a weight is negative
    or not finite, or the models have fewer than `n_topics` topics in all.
    """
    if len({model.n_words for model in models}) != 1:
        found = sorted({model.n_words for model in models})
        raise ValueError(f"models must be of the same words, and at least one, found {found}")
    given = [np.ones(model.n_topics) for model in models]
    if weights is not None:
        given = [np.array(weight, dtype=np.float64) for weight in weights]
    if [each.shape for each in given] != [(model.n_topics,) for model in models]:
        raise ValueError(
            f"weights must have a number for each topic of each model, found shapes "
            f"{[each.shape for each in given]}"
        )
    if not all(np.isfinite(each).all() and (each >= 0).all() for each in given):
        raise ValueError("weights must be finite and none negative")
    wanted = models[0].n_topics if n_topics is None else n_topics
    if not 1 <= wanted <= sum(model.n_topics for model in models):
        raise ValueError(
            f"n_topics must be from 1 to the {sum(model.n_topics for model in models)} topics of "
            f"all models, found {wanted}"
        )
    label = merge_topics(
        np.concatenate([model.topic_word for model in models]), np.concatenate(given), wanted
    )
    members = tuple(np.split(label, np.cumsum([model.n_topics for model in models])[:-1]))
    alpha = np.bincount(label, np.concatenate([model.alpha for model in models]), wanted)
    mean = _mean(models, given, members, wanted)
    topics = LDATopics.from_weights(mean, alpha / len(models))
    return Consensus(topics, tuple(models), tuple(given), members)


def _mean(
    models: Sequence[LDATopics],
    weights: Sequence[Floats],
    members: Sequence[NDArray[np.intp]],
    n_topics: int,
) -> Floats:
    """Return the weighted mean (K, V) of members; the plain one where all weights are 0."""
    total = np.zeros((n_topics, models[0].n_words))
    sums = np.zeros(n_topics)
    for member, weight in zip(members, weights, strict=True):
        np.add.at(sums, member, weight)
    has_weight = sums > 0
    sums = np.where(has_weight, sums, 0.0)
    for model, member, weight in zip(models, members, weights, strict=True):
        share = np.where(has_weight[member], weight, 1.0)
        for k, each, words in zip(member.tolist(), share.tolist(), model.topic_word, strict=True):
            total[k] += each * words
            if not has_weight[k]:
                sums[k] += each
    return np.asarray(total / np.where(sums > 0, sums, 1.0)[:, None])
