"""Merging of topics into fewer by Ward's method, by their distributions of words.

Pair by pair the two clusters i, j with the smallest cost become one (Ward 1963, "Hierarchical
grouping to optimize an objective function"), n being their tokens:

    n_i n_j / (n_i + n_j) · |√φ_i - √φ_j|²

For similar topics that is in proportion to n_i KL(φ_i | φ) + n_j KL(φ_j | φ), the loss of
log-likelihood if both become their mean φ. Merging needs the inner products of all topics once, and
a row of them for each step.
"""

import numpy as np
from numpy.typing import NDArray

from models.arrays import Floats

DECIMALS = 12
"""Decimals of inner products: their last bits depend on the threads of the matrix product."""


def merge_topics(topic_word: Floats, weight: Floats, n_clusters: int) -> NDArray[np.intp]:
    """Return the cluster (M,) of each topic (M, V), numbered by their first members.

    `weight` (M,) are tokens. Ties take the lowest numbers.
    """
    root = np.sqrt(topic_word)
    product = np.round(root @ root.T, DECIMALS)
    n_items = len(weight)
    weight = np.maximum(weight, np.finfo(np.float64).tiny)
    label = np.arange(n_items)
    alive = np.ones(n_items, dtype=np.bool_)
    nearest, cost = np.zeros(n_items, dtype=np.intp), np.full(n_items, np.inf)

    def costs(i: int) -> Floats:
        distance = np.maximum(product[i, i] + np.diagonal(product) - 2.0 * product[i], 0.0)
        found = distance * (weight[i] / (weight[i] + weight)) * weight
        found[~alive] = np.inf
        found[i] = np.inf
        return np.asarray(found)

    def find_nearest(i: int) -> None:
        found = costs(i)
        nearest[i] = np.argmin(found)
        cost[i] = found[nearest[i]]

    for i in range(n_items):
        find_nearest(i)
    for _ in range(n_items - n_clusters):
        one = int(np.argmin(cost))
        i, j = sorted((one, int(nearest[one])))
        share = weight[i] / (weight[i] + weight[j])
        product[i] = share * product[i] + (1.0 - share) * product[j]
        product[:, i] = share * product[:, i] + (1.0 - share) * product[:, j]
        weight[i] += weight[j]
        label[label == j] = i
        alive[j], cost[j] = False, np.inf
        for k in np.flatnonzero(alive & ((nearest == i) | (nearest == j))):
            find_nearest(int(k))
        find_nearest(i)
        found = costs(i)
        closer = found < cost
        nearest[closer], cost[closer] = i, found[closer]
    return np.asarray(np.unique(label, return_inverse=True)[1])
