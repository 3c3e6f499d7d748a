"""Stability of topics: in how many models from other seeds each topic is found again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evaluation.arrays import Floats
    from models.topics import TopicWords

THRESHOLD = 0.9
DECIMALS = 9
"""Decimals of cosines: their last bits depend on the threads of the matrix product."""


@dataclass(frozen=True, eq=False)
class TopicStability:
    """Similarity of K topics to those of N other models."""

    is_found: NDArray[np.bool_]
    """(N, K), whether the partner of a topic in a model has at least the cosine `threshold`."""
    best_cosine: Floats  #: (N, K), the largest cosine of a topic with one of a model.
    threshold: float

    @property
    def n_models(self) -> int:
        """N."""
        return len(self.is_found)

    @property
    def n_found(self) -> NDArray[np.int64]:
        """(K,), models in which each topic is found again."""
        return np.asarray(self.is_found.sum(axis=0, dtype=np.int64))

    @property
    def cosine(self) -> Floats:
        """(K,), mean best cosine over models."""
        return np.asarray(self.best_cosine.mean(axis=0))

    @property
    def standard_error(self) -> Floats:
        """(K,), standard error of `cosine` over models; NaN for one model."""
        return _standard_error(self.best_cosine)

    @property
    def share(self) -> float:
        """Share of topics that are found again, mean over models."""
        return float(self.is_found.mean())

    @property
    def share_standard_error(self) -> float:
        """Standard error of `share` over models; NaN for one model."""
        return float(_standard_error(self.is_found.mean(axis=1)))


def stability(
    topics: TopicWords,
    models: Sequence[TopicWords],
    *,
    without: Callable[[int], Floats] | None = None,
    threshold: float = THRESHOLD,
) -> TopicStability:
    """Return in which of N models, from other seeds and of the same words, topics are found again.

    Each model's topics are matched with `topics` one to one, by the largest sum of cosines. A topic
    is found again if the cosine with its partner is at least `threshold`; without a partner, in a
    model of fewer topics, it is not.

    Topics that are a mean of these very models would be compared with themselves. Give `without`
    then, a function from the number of a model to the mean (K, V) of all others, such as
    `models.lda.consensus.Consensus.without`: each model is compared with that.

    Raises ValueError if there is no model, for a mean fewer than two, or one is of other words.
    """
    least = 1 if without is None else 2
    if len(models) < least:
        raise ValueError(f"models must be at least {least}, found {len(models)}")
    for model in models:
        if model.n_words != topics.n_words:
            raise ValueError(
                f"models must be of the {topics.n_words} words of topics, found {model.n_words}"
            )
    found = np.zeros((len(models), topics.n_topics), dtype=np.bool_)
    best = np.zeros(found.shape)
    for n, model in enumerate(models):
        reference = topics.topic_word if without is None else without(n)
        similar = cosines(reference, model.topic_word)
        rows, columns = linear_sum_assignment(-similar)
        found[n, rows] = similar[rows, columns] >= threshold
        best[n] = similar.max(axis=1)
    return TopicStability(found, best, threshold)


def partners(first: Floats, second: Floats) -> NDArray[np.intp]:
    """Return the partner (K,) in `second` of each row of `first`, of no more rows, one to one.
    The sum of cosines of the pairs is the largest.
    """
    return np.asarray(linear_sum_assignment(-cosines(first, second))[1])


def cosines(first: Floats, second: Floats) -> Floats:
    """Return the cosines (K1, K2) of rows, rounded to 9 decimals; 0 with a row of zeros."""
    smallest = np.finfo(np.float64).tiny
    rows, columns = (
        each / np.maximum(np.linalg.norm(each, axis=1, keepdims=True), smallest)
        for each in (first, second)
    )
    return np.asarray(np.round(rows @ columns.T, DECIMALS))


def _standard_error(values: Any) -> Floats:
    if len(values) < 2:
        return np.full(np.shape(values)[1:], np.nan)
    return np.asarray(np.std(values, axis=0, ddof=1) / np.sqrt(len(values)))
