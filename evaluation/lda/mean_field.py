"""Importance sampling of a document's topics from a mean-field approximation to their posterior.

    p(j) = E[p(j, k) / ∏_l q_l(k_l)],   k_l ~ q_l independently

(Buntine 2009, Sec. 3.3, eq. 2). Coordinate updates give q, q_l(k) ∝ φ_k,j_l exp E log(C_k +
alpha_k), C the counts of the other tokens' topics, whose mean plus alpha is μ_k and variance v_k:

    first order    q_l(k) ∝ φ_k,j_l μ_k
    second order   q_l(k) ∝ φ_k,j_l μ_k exp(-v_k / (2 μ_k²))

Time is linear in the document's length. The estimate of p(j) is unbiased for any q with q_l(k) > 0
wherever φ_k,j_l > 0. That holds here: exp E log(C_k + alpha_k) >= alpha_k, as C_k >= 0, and where
the second order, which is poor if v_k is large beside μ_k², is below alpha_k, that replaces it.

An unbiased estimate can be far off. A mean field is one mode of a posterior that has several if
alpha is small or topics are similar. The other modes have weights so large and rare that an
estimate by few samples is most often too low, and its standard error does not show it.
"""

import math

import numpy as np

from evaluation.arrays import Floats, Ints, Ints32, Rng
from evaluation.monte_carlo.by_document import Score, sampled
from evaluation.monte_carlo.log_mean import log_mean_of
from models.kernel import kernel
from models.topics import WeightedTopics

DEFAULT_SAMPLES = 200
AT_ONCE = 2**22  # maximal number of topic counts, of all samples, in memory at the same time
N_CYCLES = 10  # number of updates of every q_l
SMALL, LARGE = 1e-100, 1e100
"""Range of products, outside of which their logarithms are added to a sum."""


@sampled("mean-field-is-1", "unbiased", DEFAULT_SAMPLES)
def mean_field_is_1(
    topics: WeightedTopics, words: Ints32, n: Ints, n_samples: int, rng: Rng
) -> Score:
    """Importance sampling from the first-order mean field, 200 samples by default."""
    return _score(topics, words, n, n_samples, rng, second_order=False)


@sampled("mean-field-is-2", "unbiased", DEFAULT_SAMPLES)
def mean_field_is_2(
    topics: WeightedTopics, words: Ints32, n: Ints, n_samples: int, rng: Rng
) -> Score:
    """Importance sampling from the second-order mean field, 200 samples by default."""
    return _score(topics, words, n, n_samples, rng, second_order=True)


def _score(
    topics: WeightedTopics, words: Ints32, n: Ints, n_samples: int, rng: Rng, *, second_order: bool
) -> Score:
    word_topic = topics.word_topic[words]
    scale = word_topic.max(axis=1)  # so that no rare word underflows
    word_topic /= scale[:, None]
    start = independent_start(word_topic, topics.alpha)
    proposal = mean_field(word_topic, n, topics.alpha, start, second_order, N_CYCLES)
    at_once = max(1, AT_ONCE // topics.n_topics)
    log_weight = [
        log_weights(word_topic, n, topics.alpha, proposal, min(at_once, n_samples - first), rng)
        for first in range(0, n_samples, at_once)
    ]
    mean = log_mean_of(np.concatenate(log_weight))
    return Score(mean.log_mean + float(n @ np.log(scale)), *mean[1:])


@kernel
def independent_start(word_topic: Floats, alpha: Floats) -> Floats:
    """Return the topics q (U, K) of independent words, ∝ word_topic alpha."""
    q = word_topic * alpha
    for u in range(len(q)):
        total = 0.0
        for k in range(len(alpha)):
            total += q[u, k]
        for k in range(len(alpha)):
            q[u, k] /= total
    return q


@kernel
def mean_field(
    word_topic: Floats, n: Ints, alpha: Floats, start: Floats, second_order: bool, n_cycles: int
) -> Floats:
    """Return the distribution q (U, K) of the topic of each word's tokens; rows sum to 1.

    Tokens of one word are exchangeable and share their q, which is updated for all of them at once,
    `n_cycles` times. `word_topic` (U, K) is φ_kw times any factor for each word, `n` (U,) the
    counts of the words, `start` (U, K) the initial q.
    """
    n_words, n_topics = word_topic.shape
    q = start.copy()
    mean, variance, new = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics)
    for _ in range(n_cycles):
        for k in range(n_topics):  # of all tokens' counts plus alpha; recomputed against drift
            mean[k], variance[k] = alpha[k], 0.0
        for u in range(n_words):
            for k in range(n_topics):
                mean[k] += n[u] * q[u, k]
                variance[k] += n[u] * q[u, k] * (1.0 - q[u, k])
        for u in range(n_words):
            total = 0.0
            for k in range(n_topics):
                factor = expected_factor(mean[k], variance[k], q[u, k], alpha[k], second_order)
                new[k] = word_topic[u, k] * factor
            for k in range(n_topics):
                total += new[k]
            for k in range(n_topics):
                before, after = q[u, k], new[k] / total
                mean[k] += n[u] * (after - before)
                variance[k] += n[u] * (after * (1.0 - after) - before * (1.0 - before))
                q[u, k] = after
    return q


@kernel
def expected_factor(
    mean: float, variance: float, q: float, alpha: float, second_order: bool
) -> float:
    """Return about exp E log(C_k + alpha_k), C_k without a token that has topic k with probability
    `q`. `mean`, with alpha, and `variance` are those of the count of all tokens.
    """
    factor = mean - q
    if second_order and factor > alpha:
        spread = variance - q * (1.0 - q)
        if spread > 0.0:  # always, except for rounding
            factor *= math.exp(-0.5 * spread / (factor * factor))
    return factor if factor > alpha else alpha


@kernel
def log_weights(
    word_topic: Floats, n: Ints, alpha: Floats, q: Floats, n_samples: int, rng: Rng
) -> Floats:
    """Return log p(j, k) / q(k) (n_samples,) of k drawn from q (Buntine 2009, eqs. 1 and 2).

    It is Σ_l log φ_k_l,j_l / q_l(k_l) · (C_k_l + alpha_k_l) / (l + Σ alpha), where C counts the
    topics of the tokens before l. All samples visit a word together, so that only one word's table
    is needed at a time. `word_topic` and `q` (U, K) are φ_kw and the probability of each topic for
    a token of each different word, and `n` (U,) the counts of the words.
    """
    n_words, n_topics = word_topic.shape
    log_weight, weight = np.zeros(n_samples), np.ones(n_samples)
    pseudo_counts = np.empty((n_samples, n_topics))  # C + alpha of each sample
    for s in range(n_samples):
        for k in range(n_topics):
            pseudo_counts[s, k] = alpha[k]
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
