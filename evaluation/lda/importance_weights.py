"""Importance weights of a document's topics that were drawn independently for each token.

    p(j, k) / q(k) = ∏_l φ_k_l,j_l / q_l(k_l) · (C_k_l + alpha_k_l) / (l + Σ alpha)

(Buntine 2009, eqs. 1 and 2), where C counts the topics of the tokens before l.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from models.kernel import kernel

if TYPE_CHECKING:
    from evaluation.arrays import Floats, Ints

SMALL, LARGE = 1e-100, 1e100
"""Range of products, outside of which their logarithms are added to a sum."""


@kernel
def log_weights(
    word_topic: Floats, n: Ints, alpha: Floats, q: Floats, n_samples: int, rng: np.random.Generator
) -> Floats:
    """Return log p(j, k) / q(k) (n_samples,) of k drawn from q.

    All samples visit a word together, so that only one word's table is needed at a time.
    `word_topic` and `q` (U, K) are φ_kw and the probability of each topic for a token of each
    different word, and `n` (U,) the counts of the words.
    """
    n_words, n_topics = word_topic.shape
    log_weight, weight = np.zeros(n_samples), np.ones(n_samples)
    pseudo_counts = np.empty((n_samples, n_topics))  # C + alpha of each sample
    pseudo_counts[:] = alpha
    ratio, cut = np.empty(n_topics), np.empty(n_topics)
    alias, waiting = np.empty(n_topics, dtype=np.int64), np.empty(n_topics, dtype=np.int64)
    for u in range(n_words):
        fill_alias_table(q[u], cut, alias, waiting)
        for k in range(n_topics):
            ratio[k] = word_topic[u, k] / q[u, k] if q[u, k] > 0.0 else 0.0
        for s in range(n_samples):
            product = weight[s]
            for _ in range(n[u]):
                x = rng.random() * n_topics
                k = int(x)
                k = k if x < cut[k] else alias[k]
                product *= ratio[k] * pseudo_counts[s, k]
                pseudo_counts[s, k] += 1.0
                if product < SMALL or product > LARGE:
                    log_weight[s] += math.log(product)
                    product = 1.0
            weight[s] = product
    constant, alpha_sum = 0.0, alpha.sum()
    for t in range(n.sum()):
        constant += math.log(t + alpha_sum)
    for s in range(n_samples):
        log_weight[s] += math.log(weight[s]) - constant
    return log_weight


@kernel
def fill_alias_table(q: Floats, cut: Floats, alias: Ints, waiting: Ints) -> None:
    """Fill the alias table, by which one uniform number draws from q (K,) in constant time.

    For x uniform on [0, K), k = ⌊x⌋ if x < cut[⌊x⌋], else alias[⌊x⌋] (Vose 1991). `waiting` (K,) is
    scratch space.
    """
    n_topics = len(q)
    n_small, large = 0, n_topics  # `waiting` has topics below the mean in front, others at the back
    for k in range(n_topics):
        cut[k] = q[k] * n_topics
        alias[k] = k
        if cut[k] < 1.0:
            waiting[n_small] = k
            n_small += 1
        else:
            large -= 1
            waiting[large] = k
    while n_small > 0 and large < n_topics:
        n_small -= 1
        small, k = waiting[n_small], waiting[large]
        alias[small] = k
        cut[k] -= 1.0 - cut[small]
        if cut[k] < 1.0:
            large += 1
            waiting[n_small] = k
            n_small += 1
    for k in range(n_topics):  # the rest are 1, up to rounding
        cut[k] = k + (cut[k] if alias[k] != k else 1.0)
