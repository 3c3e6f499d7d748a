"""Annealed importance sampling of a document's topics, upwards and downwards.

Under fixed topics a document's words j_1..j_L and their topics z have the probability

    p(z, j) = ∏_l φ[z_l, j_l] · DM(C; alpha),  DM(C; alpha) = ∏_k (alpha_k)_{C_k} / (Σalpha)_L

with (a)_n = a (a + 1) ... (a + n - 1) and C_k tokens in topic k (Buntine 2009, eq. 1). The path of
distributions from easy to wanted, t from 0 to 1, is that of the prior alpha / t:

    f_t(z) = ∏_l φ[z_l, j_l] · ∏_k ∏_{i<C_k} (alpha_k + t i) / ∏_{i<L} (Σalpha + t i)

At t = 0 tokens are independent, z_l = k in proportion to φ[k, j_l] alpha_k, and the sum of f_0 over
all z is Z_0 = ∏_l Σ_k φ[k, j_l] alpha_k / Σalpha. At t = 1 it is p(j). Words with probability 0 in
a topic do no harm between the two, as they would if likelihoods were raised to powers.
A Gibbs sweep leaves f_t invariant: p(z_l = k | all others) ∝ φ[k, j_l] (alpha_k + t C_k^{-l}).

Upwards (Neal 2001): z from f_0, and for each next temperature t' the weight is multiplied by
f_t'(z) / f_t(z), then z is swept at t'. The mean weight times Z_0 is p(j) in expectation, so its
logarithm is below log p(j) in expectation, and by Markov's inequality above log p(j) + b with a
probability less than exp(-b).

Downwards (Grosse, Ghahramani & Adams 2015, "Sandwiching the marginal likelihood using bidirectional
Monte Carlo"): the same path backwards, tokens of each sweep visited in the opposite order, from an
exact draw from p(z | j), such as the topics with which a document was simulated. The mean of
1 / weight is Z_0 / p(j) in expectation: an upper bound of the same kind.
"""

from typing import NamedTuple

import numpy as np

from evaluation.arrays import Floats, Ints, Ints32, Rng
from models.kernel import kernel
from models.topics import WeightedTopics

LARGE = 1e100  # limit of a product, above which its logarithm is added to a sum
BELOW_ONE = 1.0 - 1e-15  # so that rounding draws nothing after the last cumulative sum


class Document(NamedTuple):
    """A document of L tokens and U different words in the form that kernels read."""

    weight: Floats  # (U, K), φ of each word, divided by its maximum
    cumulative: Floats  # (U, K), Σ_{k' <= k} weight_k' alpha_k'
    word_of: Ints32  # (L,), the row of each token's word
    alpha: Floats


class Tally(NamedTuple):
    """Numbers of tokens of the topics that have any: few of many."""

    topic: Ints32  # (K,), the topics with tokens, in no order
    n: Floats  # (K,), their numbers of tokens
    place: Ints32  # (K,), the position of a topic in these two; -1 for a topic without tokens
    n_active: Ints32  # (1,), the number of topics with tokens
    share: Floats  # (K,), scratch


def document_of(topics: WeightedTopics, words: Ints32, n: Ints) -> tuple[Document, float]:
    """Return the document with `n` (U,) tokens of `words` (U,), and the logarithm of a constant.

    The constant is Z_0 / ∏_{i<L} (1 + i / Σalpha), the factor that the weights omit.
    """
    alpha, alpha_sum = topics.alpha, float(topics.alpha.sum())
    weight = topics.word_topic[words]
    largest = weight.max(axis=1)
    weight /= largest[:, None]
    cumulative = np.cumsum(weight * alpha, axis=1)
    word_of = np.repeat(np.arange(len(words), dtype=np.int32), n)
    constant = float(n @ (np.log(largest) + np.log(cumulative[:, -1] / alpha_sum)))
    constant -= float(np.log1p(np.arange(len(word_of)) / alpha_sum).sum())
    return Document(weight, cumulative, word_of, alpha), constant


@kernel
def tally_of(topic_of: Ints32, n_topics: int) -> Tally:
    """Return the numbers of tokens of the topics of `topic_of` (L,)."""
    topic, n = np.zeros(n_topics, dtype=np.int32), np.zeros(n_topics)
    place, n_active = np.full(n_topics, -1, dtype=np.int32), np.zeros(1, dtype=np.int32)
    for k in topic_of:
        if place[k] < 0:
            place[k] = n_active[0]
            topic[n_active[0]] = k
            n_active[0] += 1
        n[place[k]] += 1.0
    return Tally(topic, n, place, n_active, np.zeros(n_topics))


@kernel
def _sweep(
    document: Document, t: float, backwards: bool, topic_of: Ints32, tally: Tally, rng: Rng
) -> None:
    """Resample each token's topic k ∝ weight_k (alpha_k + t C_k), C without the token.

    Mutates `topic_of` (L,), where -1 stands for no topic yet, and its counts `tally`. The sum over
    alpha_k is precomputed, and that over t C_k has few terms: one of the two parts is drawn first,
    then the topic in it (Yao, Mimno & McCallum 2009, §3.2).
    """
    topic, n, place, share = tally.topic, tally.n, tally.place, tally.share
    weight, cumulative, word_of = document.weight, document.cumulative, document.word_of
    n_tokens, n_topics = len(topic_of), weight.shape[1]
    n_active = tally.n_active[0]
    for i in range(n_tokens):
        token = n_tokens - 1 - i if backwards else i
        k, u = topic_of[token], word_of[token]
        if k >= 0:
            a = place[k]
            n[a] -= 1.0
            if n[a] == 0.0:  # the last one takes its place
                n_active -= 1
                topic[a], n[a] = topic[n_active], n[n_active]
                place[topic[a]] = a
                place[k] = -1
        of_counts = 0.0
        for a in range(n_active):
            share[a] = weight[u, topic[a]] * n[a]
        for a in range(n_active):
            of_counts += share[a]
        of_prior = cumulative[u, n_topics - 1]
        uniform = rng.random() * (of_prior + t * of_counts)
        if uniform >= of_prior and t * of_counts > 0.0:
            k = topic[place_of(share, n_active, (uniform - of_prior) / t)]
        else:
            k = first_above(cumulative, u, min(uniform, of_prior * BELOW_ONE))
        if place[k] < 0:
            place[k] = n_active
            topic[n_active], n[n_active] = k, 0.0
            n_active += 1
        n[place[k]] += 1.0
        topic_of[token] = k
    tally.n_active[0] = n_active


@kernel
def place_of(share: Floats, n: int, rest: float) -> int:
    """Return the first place where the cumulative sum of n shares exceeds `rest`, else the last."""
    a = 0
    while a < n and rest >= share[a]:
        rest -= share[a]
        a += 1
    if a == n:
        a -= 1
        while share[a] == 0.0:
            a -= 1
    return a


@kernel
def first_above(cumulative: Floats, u: int, sought: float) -> int:
    """Return the first k with cumulative[u, k] above `sought`, which is below the last."""
    low, high = 0, cumulative.shape[1] - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[u, middle] > sought:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def _log_ratio(alpha: Floats, tally: Tally, above: float, below: float) -> float:
    """Return log ∏_k ∏_{i<C_k} (alpha_k + above · i) / (alpha_k + below · i), a log-weight's gain.

    A product of ratios, not a difference of two sums, stays exact for arbitrarily small steps.
    """
    total, product = 0.0, 1.0
    for a in range(tally.n_active[0]):
        prior = alpha[tally.topic[a]]
        for i in range(1, int(tally.n[a])):
            product *= (prior + above * i) / (prior + below * i)
            if product > LARGE:
                total += np.log(product)
                product = 1.0
    return float(total + np.log(product))


@kernel
def sample_topics(document: Document, temperatures: Floats, rng: Rng) -> Ints32:
    """Return topics (L,) of the tokens after a sweep at each of `temperatures`, in their order.

    With the last ones 1, they are about a draw from p(z | j).
    """
    topic_of = np.full(len(document.word_of), -1, dtype=np.int32)
    tally = tally_of(topic_of[:0], len(document.alpha))
    for t in temperatures:
        _sweep(document, t, False, topic_of, tally, rng)
    return topic_of


@kernel
def log_weights_upwards(
    document: Document, temperatures: Floats, n_chains: int, rng: Rng
) -> Floats:
    """Return the log-weights (n_chains,) of independent chains from t = 0 to t = 1.

    `temperatures` (T,) increase from 0 to 1. Weights omit the factor that depends only on the
    document's length: the mean of exp(log_weights) is p(j) / Z_0 · ∏_{i<L} (1 + i / Σalpha).
    """
    last = len(temperatures) - 1
    result = np.zeros(n_chains)
    topic_of = np.empty(len(document.word_of), dtype=np.int32)
    for chain in range(n_chains):
        tally = tally_of(topic_of[:0], len(document.alpha))
        topic_of[:] = -1
        for s in range(last):
            _sweep(document, temperatures[s], False, topic_of, tally, rng)
            result[chain] += _log_ratio(document.alpha, tally, temperatures[s + 1], temperatures[s])
    return result


@kernel
def log_weights_downwards(
    document: Document, temperatures: Floats, n_chains: int, exact: Ints32, rng: Rng
) -> Floats:
    """Return the log-weights (n_chains,) of chains from t = 1 to t = 0, each reversed.

    `exact` (L,) are topics drawn from p(z | j). The first chain starts there, each later one a
    sweep at t = 1 after the start of the one before: all starts are draws from p(z | j), though not
    independent. The mean of exp(-log_weights) is Z_0 / p(j) / ∏_{i<L} (1 + i / Σalpha).
    """
    last, n_topics = len(temperatures) - 1, len(document.alpha)
    result = np.zeros(n_chains)
    start = exact.copy()
    for chain in range(n_chains):
        if chain > 0:
            _sweep(document, 1.0, False, start, tally_of(start, n_topics), rng)
        topic_of = start.copy()
        tally = tally_of(topic_of, n_topics)
        for s in range(last - 1, -1, -1):
            result[chain] += _log_ratio(document.alpha, tally, temperatures[s + 1], temperatures[s])
            if s > 0:
                _sweep(document, temperatures[s], True, topic_of, tally, rng)
    return result
