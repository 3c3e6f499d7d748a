"""Annealed importance sampling of a document's topics from the mean of their posterior.

The path of `annealing` begins where tokens know nothing of each other. This one begins where they
know all that a mean field knows: with m_k the tokens of topic k that it expects, plus alpha_k,

    f_s(z) = ∏_l φ[z_l, j_l] · DM(C; alpha + s m),   s from infinity to 0

with the Dirichlet-multinomial DM of `annealing`. At s = infinity the proportions of topics are
known, θ = m / Σm, tokens are independent, z_l = k in proportion to φ[k, j_l] m_k, and the sum of
f over all z is ∏_l Σ_k φ[k, j_l] θ_k. At s = 0 it is p(j). Pseudo-counts s m are taken away step by
step, with a Gibbs sweep at each (Neal 2001); they are those of the look-ahead of
`left_to_right_sequential`. The mean weight is unbiased for p(j) whatever m is, as m comes before
any draw; the nearer it is to the posterior's mean, the shorter is the path.

A token's conditional p(z_l = k | all others) ∝ φ[k, j_l] c_k, c = C^{-l} + alpha + s m, has K
terms, but hardly more than `N_LISTED` matter. The topics with the largest φ m of each word are
listed. A token's next topic is proposed from

    g(k) ∝ φ[k, j_l] c_k for a listed k,   φ[k, j_l] (1 + s) m_k for any other

and accepted as by Metropolis and Hastings. Between listed topics that is the Gibbs draw; from or to
others, (1 + s) m_k stands for c_k, which is near it.
"""

from typing import NamedTuple

import numpy as np

from evaluation.arrays import Floats, Ints, Ints32, Rng
from evaluation.lda.annealing import BELOW_ONE, first_above
from evaluation.lda.annealing_between import log_rising
from evaluation.lda.mean_field import N_CYCLES, independent_start, mean_field
from evaluation.monte_carlo.by_document import Score, sampled
from evaluation.monte_carlo.log_mean import log_mean_of
from models.checks import check_whole
from models.kernel import kernel
from models.topics import WeightedTopics

DEFAULT_CHAINS = 10
DEFAULT_TEMPERATURES = 1000
N_LISTED = 32
"""Topics of a word that a token can move between without a chance of rejection."""
FIRST_S = 100.0
"""First finite s. The step to it from infinity has a variance of about K / (2 s²) for K topics."""


class ListedDocument(NamedTuple):
    """A document of L tokens and U different words, with the J likeliest topics of each word."""

    listed: Ints32  # (U, J), topics with the largest φ m
    weight: Floats  # (U, J), φ of these, divided by the largest of the word
    rest: Floats  # (U, K), cumulative sums of φ m over topics, listed ones left out
    word_of: Ints32  # (L,), the row of each token's word
    alpha: Floats  # (K,)
    mean: Floats  # (K,), m


class Chain(NamedTuple):
    """Topics of a document's tokens."""

    topic_of: Ints32  # (L,)
    place_of: Ints32  # (L,), the place of the topic in the word's list; -1 for a topic not listed
    n: Floats  # (K,), tokens of each topic
    total: Floats  # (K,), c: tokens plus prior
    share: Floats  # (J,), scratch


def listed_document(topics: WeightedTopics, words: Ints32, n: Ints) -> tuple[ListedDocument, float]:
    """Return the document with `n` (U,) tokens of `words` (U,), and the logarithm of a constant.

    The constant is that of the words' divisors.
    """
    rows = topics.word_topic[words]
    largest = rows.max(axis=1)
    rows /= largest[:, None]
    q = mean_field(rows, n, topics.alpha, independent_start(rows, topics.alpha), False, N_CYCLES)
    mean = n @ q + topics.alpha
    product = rows * mean
    n_listed = min(N_LISTED, topics.n_topics)
    listed = np.argsort(-product, axis=1, kind="stable")[:, :n_listed]
    weight = np.take_along_axis(rows, listed, axis=1)
    np.put_along_axis(product, listed, 0.0, axis=1)
    word_of = np.repeat(np.arange(len(words), dtype=np.int32), n)
    document = ListedDocument(
        np.ascontiguousarray(listed, dtype=np.int32),
        np.ascontiguousarray(weight),
        np.cumsum(product, axis=1),
        word_of,
        topics.alpha,
        mean,
    )
    return document, float(n @ np.log(largest))


def path_for(n_temperatures: int, n_tokens: int, alpha: Floats) -> Floats:
    """Return the finite s of a path of `n_temperatures`, the last 0: even steps of log(1 + s / c).

    Where s is below c = Σalpha / 20 L, pseudo-counts matter to hardly any topic. Half of this c,
    three times as much, or even steps of the priors' logarithms gave about the same variance on two
    documents of 1,000 tokens under 1,000 topics.
    """
    check_whole("n_temperatures", n_temperatures, 2)
    scale = 0.05 * float(alpha.sum()) / n_tokens
    even = np.linspace(np.log1p(FIRST_S / scale), 0.0, n_temperatures - 1)
    path: Floats = scale * np.expm1(even)
    path[-1] = 0.0
    return path


@sampled("annealing-from-mean", "unbiased", DEFAULT_CHAINS)
def annealing_from_mean(
    topics: WeightedTopics,
    words: Ints32,
    n: Ints,
    n_samples: int,
    rng: Rng,
    n_temperatures: int = DEFAULT_TEMPERATURES,
) -> Score:
    """Return the mean weight of `n_samples` chains, 10 by default; unbiased for any number.

    It estimates p of the tokens in order. `n_temperatures` counts both ends, infinity and 0.
    Standard error and effective sample size are those of the mean of independent weights
    (`log_mean_of`). Raises ValueError or TypeError if `n_temperatures` is no integer of at least 2.
    """
    document, constant = listed_document(topics, words, n)
    path = path_for(n_temperatures, len(document.word_of), topics.alpha)
    mean = log_mean_of(log_weights_from_mean(document, path, n_samples, rng))
    return Score(constant + mean.log_mean, *mean[1:])


@kernel
def log_weights_from_mean(
    document: ListedDocument, path: Floats, n_chains: int, rng: Rng
) -> Floats:
    """Return the log-weights (n_chains,) of independent chains over s from infinity along `path`.

    `path` (T,) decreases to 0. The mean of exp(log_weights) is p(j) up to the words' divisors.
    """
    result = np.empty(n_chains)
    alpha, mean = document.alpha, document.mean
    for i in range(n_chains):
        chain, log_weight = start_at_mean(document, rng)
        log_weight += log_from_infinity(chain.n, alpha, mean, path[0])
        for s in range(len(path) - 1):
            for k in range(len(alpha)):
                chain.total[k] = chain.n[k] + alpha[k] + path[s] * mean[k]
            sweep_listed(document, 1.0 + path[s], chain, rng)
            log_weight += log_step(chain.n, alpha, mean, path[s], path[s + 1])
        result[i] = log_weight
    return result


@kernel
def start_at_mean(document: ListedDocument, rng: Rng) -> tuple[Chain, float]:
    """Return topics drawn given θ = m / Σm, and the logarithm of the tokens' probability."""
    n_tokens, n_topics = len(document.word_of), len(document.mean)
    chain = Chain(
        np.empty(n_tokens, dtype=np.int32),
        np.empty(n_tokens, dtype=np.int32),
        np.zeros(n_topics),
        document.mean.copy(),
        np.empty(document.listed.shape[1]),
    )
    mean_sum, log_p = document.mean.sum(), 0.0
    for i in range(n_tokens):
        u = document.word_of[i]
        of_listed = _fill_share(document, u, chain)
        of_rest = document.rest[u, n_topics - 1]
        log_p += np.log((of_listed + of_rest) / mean_sum)
        uniform = rng.random() * (of_listed + of_rest)
        place = _listed_place(chain.share, uniform) if uniform < of_listed or of_rest == 0 else -1
        k = document.listed[u, place]
        if place < 0:
            k = _topic_of_rest(document.rest, u, uniform - of_listed)
        chain.topic_of[i], chain.place_of[i] = k, place
        chain.n[k] += 1.0
    return chain, log_p


@kernel
def sweep_listed(document: ListedDocument, scale: float, chain: Chain, rng: Rng) -> None:
    """Move each token once by a step that leaves f_s invariant, `scale` = 1 + s, in place."""
    topic_of, place_of, n, total, share = chain
    listed, rest, mean = document.listed, document.rest, document.mean
    last = len(mean) - 1
    for i in range(len(topic_of)):
        k, u = topic_of[i], document.word_of[i]
        total[k] -= 1.0
        of_listed, of_rest = _fill_share(document, u, chain), scale * rest[u, last]
        uniform = rng.random() * (of_listed + of_rest)
        if uniform < of_listed or of_rest == 0.0:
            place = _listed_place(share, uniform)
            drawn, gain = listed[u, place], 1.0
        else:
            place = -1
            drawn = _topic_of_rest(rest, u, (uniform - of_listed) / scale)
            gain = total[drawn] / (scale * mean[drawn])
        loss = 1.0 if place_of[i] >= 0 else total[k] / (scale * mean[k])
        if gain >= loss or rng.random() * loss < gain:
            n[k] -= 1.0
            n[drawn] += 1.0
            topic_of[i], place_of[i] = drawn, place
            k = drawn
        total[k] += 1.0


@kernel
def _fill_share(document: ListedDocument, u: int, chain: Chain) -> float:
    """Set `share` (J,) to φ c of the listed topics of word u, and return its sum."""
    share, of_listed = chain.share, 0.0
    for j in range(len(share)):
        share[j] = document.weight[u, j] * chain.total[document.listed[u, j]]
    for j in range(len(share)):
        of_listed += share[j]
    return of_listed


@kernel
def _listed_place(share: Floats, rest: float) -> int:
    """Return the first place where the cumulative sum of shares exceeds `rest`, else the last."""
    last = 0  # the last possible one gets a rest left by rounding
    for j in range(len(share)):
        if share[j] > 0.0:
            last = j
            rest -= share[j]
            if rest < 0.0:
                break
    return last


@kernel
def _topic_of_rest(rest: Floats, u: int, sought: float) -> int:
    """Return the first topic whose cumulative sum in `rest` is above `sought`."""
    return first_above(rest, u, min(sought, rest[u, rest.shape[1] - 1] * BELOW_ONE))


@kernel
def log_from_infinity(n: Floats, alpha: Floats, mean: Floats, s: float) -> float:
    """Return log DM(C; alpha + s m) / ∏_k (m_k / Σm)^C_k."""
    result, n_tokens, prior_sum = 0.0, int(n.sum()), alpha.sum() + s * mean.sum()
    theta_of_one = 1.0 / mean.sum()
    for k in range(len(n)):
        for i in range(int(n[k])):
            result += np.log((alpha[k] + s * mean[k] + i) / (mean[k] * theta_of_one))
    for i in range(n_tokens):
        result -= np.log(prior_sum + i)
    return result


@kernel
def log_step(n: Floats, alpha: Floats, mean: Floats, before: float, after: float) -> float:
    """Return log DM(C; alpha + after m) / DM(C; alpha + before m)."""
    alpha_sum, mean_sum = alpha.sum(), mean.sum()
    result = log_rising(alpha_sum + before * mean_sum, alpha_sum + after * mean_sum, int(n.sum()))
    for k in range(len(n)):
        if n[k] > 0.0:
            result -= log_rising(alpha[k] + before * mean[k], alpha[k] + after * mean[k], int(n[k]))
    return result
