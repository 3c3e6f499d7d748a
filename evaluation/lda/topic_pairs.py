"""Pairs of topics of two models, so that one model can turn into the other step by step.

A topic k with prior alpha_k may be replaced by copies of it whose priors sum to alpha_k: the sum of
the copies' shares has the same Dirichlet distribution, so that no probability of a document
changes. Both models are written over the same pairs (k of the first, l of the second) in this way:

    first:   topics φ_k, priors a_kl with Σ_l a_kl = alpha_k
    second:  topics φ'_l, priors b_kl with Σ_k b_kl = alpha'_l

Pairs are the set of least total Jensen-Shannon distance in which every topic of either model has a
partner (a minimum edge cover). So models may have different numbers of topics, and a topic that the
other model does not have goes with its nearest one.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from evaluation.arrays import Floats
from evaluation.topics.distance import cross_distances
from models.topics import WeightedTopics


class TopicPairs(NamedTuple):
    """P pairs of topics, max(K1, K2) <= P < K1 + K2, or one; each topic is in one at least."""

    first: NDArray[np.intp]  # (P,), topic of the first model
    second: NDArray[np.intp]  # (P,), topic of the second model
    first_prior: Floats  # (P,), priors that sum to those of the first model's topics
    second_prior: Floats  # (P,)


def topic_pairs(
    first: WeightedTopics, second: WeightedTopics, n_jobs: int | None = None
) -> TopicPairs:
    """Return the pairs of least total distance; the two models have the same words."""
    distance = cross_distances(first.topic_word, second.topic_word, n_jobs=n_jobs)
    rows, columns = _edge_cover(distance)
    # A topic's prior is divided in proportion to the priors of its partners, each of which divides
    # its own prior among as many copies as it has.
    n_first = np.bincount(rows, minlength=first.n_topics)
    n_second = np.bincount(columns, minlength=second.n_topics)
    of_first = second.alpha[columns] / n_second[columns]
    of_second = first.alpha[rows] / n_first[rows]
    return TopicPairs(
        rows,
        columns,
        first.alpha[rows] * of_first / np.bincount(rows, of_first)[rows],
        second.alpha[columns] * of_second / np.bincount(columns, of_second)[columns],
    )


def _edge_cover(cost: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return rows and columns of the pairs of least total cost (K1, K2) that leave none out.

    Every row and column pays for its cheapest partner at first. A pair then saves the two payments
    and costs its own: the pairs of the cover that save anything are the assignment that saves most.
    """
    of_row, of_column = cost.min(axis=1), cost.min(axis=0)
    change = cost - of_row[:, None] - of_column
    rows, columns = linear_sum_assignment(np.minimum(change, 0.0))
    kept = change[rows, columns] < 0
    pairs = set(zip(rows[kept].tolist(), columns[kept].tolist(), strict=True))
    left = np.setdiff1d(np.arange(cost.shape[0]), rows[kept])
    pairs.update(zip(left.tolist(), cost[left].argmin(axis=1).tolist(), strict=True))
    left = np.setdiff1d(np.arange(cost.shape[1]), columns[kept])
    pairs.update(zip(cost[:, left].argmin(axis=0).tolist(), left.tolist(), strict=True))
    found = np.array(sorted(pairs), dtype=np.intp)
    return found[:, 0], found[:, 1]
