"""Annealed importance sampling from one LDA model to another (Foulds & Smyth 2014).

Both models are written over P pairs of topics (`topic_pairs`): pair p has the words b_p and the
prior β_p in the model at the start, a_p and α_p in the one at the end. Between them, t from 0 to 1,
topics and priors are mixed, the convex path of the paper:

    f_t(z) = ∏_l φ_t[z_l, j_l] · DM(C; α_t),   φ_t = (1 - t) b + t a,   α_t = (1 - t) β + t α

with the Dirichlet-multinomial DM of `annealing`. Every f_t is that of a model, and its sum over
all z is the document's probability: Z_0 under the start, Z_1 under the end. A Gibbs sweep leaves it
invariant: p(z_l = p | all others) ∝ φ_t[p, j_l] (C_p^{-l} + α_t,p).

A step of the path is given by both weights, 1 - t and t, so that neither end is lost where its
weights are a small part of the other's: see `mixed`.

Forwards, from z ~ p(z | j) under the start, the mean weight ∏_s f_{t_s+1}(z_s) / f_{t_s}(z_s) is
Z_1 / Z_0. Backwards, from z under the end, with each sweep's tokens in the opposite order, the mean
of 1 / weight is Z_0 / Z_1. Draws from p(z | j) are not exact here: they are the ends of Markov
chains. Words that only one of two paired topics has are impossible at one end: see `path_of`.
"""

from typing import NamedTuple

import numpy as np

from evaluation.arrays import Floats, Ints, Ints32, Rng
from evaluation.lda.annealing import BELOW_ONE, Document, Tally, place_of, sample_topics, tally_of
from evaluation.lda.topic_pairs import TopicPairs
from evaluation.monte_carlo.annealed_chains import temperatures_for
from models.kernel import kernel
from models.topics import WeightedTopics

BURN_IN_TEMPERATURES = 30
BURN_IN_SWEEPS = 20
"""Sweeps before the path: at temperatures from that of independent tokens up to the model, and then
under the model. With 10 sweeps from independent tokens in place of these, differences of models
that differ in alpha alone were off by 0.04 nats a document, with 40 by no more than 0.01."""
EDGE = 1e-10
"""First t above 0, and 1 - t below 1, if words are impossible at an end. The error in log p is
about t times the ratio of the document's probabilities at t = 1 and 0 for one token."""
LARGE = 1e100  # limit of a product, above which its logarithm is added to a sum


class PairedDocument(NamedTuple):
    """A document of L tokens and U different words over P pairs of topics."""

    ends: Floats  # (U, P, 2), b and a of each word, divided by the largest of the word
    products: Floats  # (U, P, 3), cumulative sums over pairs of bβ, bα + aβ, and aα
    priors: Floats  # (P, 2), β and α
    word_of: Ints32  # (L,), the row of each token's word


def paired_document(
    start: WeightedTopics, end: WeightedTopics, pairs: TopicPairs, words: Ints32, n: Ints
) -> PairedDocument:
    """Return the document with `n` (U,) tokens of `words` (U,); `pairs` are of start and end."""
    b, a = start.word_topic[words][:, pairs.first], end.word_topic[words][:, pairs.second]
    largest = np.maximum(b.max(axis=1), a.max(axis=1))[:, None]
    b, a = b / largest, a / largest
    beta, alpha = pairs.first_prior, pairs.second_prior
    products = np.stack([b * beta, b * alpha + a * beta, a * alpha], axis=-1)
    return PairedDocument(
        np.stack([b, a], axis=-1),
        np.cumsum(products, axis=1),
        np.stack([beta, alpha], axis=-1),
        np.repeat(np.arange(len(words), dtype=np.int32), n),
    )


def path_of(document: PairedDocument, n_temperatures: int) -> Floats:
    """Return 1 - t and t (T, 2), with t from 0 to 1 in even steps; other steps if a word is
    impossible in a topic at an end.

    Then a state with probability 0 at the end has some as soon as t differs from it, and chains
    must find it: t are even in log(t / (1 - t)), from `EDGE` to 1 - `EDGE`.
    """
    rising = np.linspace(0.0, 1.0, n_temperatures)
    if not np.array_equal(document.ends[:, :, 0] == 0, document.ends[:, :, 1] == 0):
        limit = np.log(1.0 / EDGE - 1.0)
        even = np.linspace(-limit, limit, n_temperatures)
        rising = 1.0 / (1.0 + np.exp(-even))
    return np.ascontiguousarray(np.stack([rising[::-1], rising], axis=1))


def burn_in_of(document: Document) -> Floats:
    """Return the temperatures of `annealing` before a chain's start."""
    rising = temperatures_for(BURN_IN_TEMPERATURES, len(document.word_of), document.alpha)
    return np.concatenate([rising, np.ones(BURN_IN_SWEEPS)])


@kernel
def draw_pairs(
    own: Document, burn_in: Floats, topic_of_pair: Ints, prior: Floats, rng: Rng
) -> Ints32:
    """Return pairs (L,), about a draw from their posterior under the model of one end.

    The topics are drawn by a Markov chain, then each topic's tokens are divided among its copies
    exactly: a Pólya urn draws a copy ∝ prior + tokens before.
    """
    topic_of = sample_topics(own, burn_in, rng)
    urn = prior.copy()
    pair_of = np.empty(len(topic_of), dtype=np.int32)
    for i in range(len(topic_of)):
        total = 0.0
        for p in range(len(urn)):
            if topic_of_pair[p] == topic_of[i]:
                total += urn[p]
        rest, drawn = rng.random() * total, -1
        for p in range(len(urn)):
            if topic_of_pair[p] == topic_of[i] and (drawn < 0 or rest >= 0.0):
                drawn = p
                rest -= urn[p]
        urn[drawn] += 1.0
        pair_of[i] = drawn
    return pair_of


@kernel
def mixed(start: float, end: float, step: Floats) -> float:
    """Return (1 - t) start + t end at `step` (2,), 1 - t and t.

    From the nearer end, so that it is exact at both ends and for equal ones, and the same with ends
    and step reversed, but for rounding at t = 1/2.
    """
    if step[1] < step[0]:
        return float(start + step[1] * (end - start))
    return float(end + step[0] * (start - end))


@kernel
def sweep_pairs(
    document: PairedDocument, step: Floats, backwards: bool, pair_of: Ints32, tally: Tally, rng: Rng
) -> None:
    """Resample each token's pair ∝ φ_t (C + α_t), C without the token, in place.

    `step` (2,) are 1 - t and t. As in `annealing`, the sum over α_t is known beforehand, here as a
    polynomial in t, and the sum over C has few terms. Mutates `pair_of` (L,) and its counts
    `tally`.
    """
    topic, n, place, share = tally.topic, tally.n, tally.place, tally.share
    ends, products, word_of = document.ends, document.products, document.word_of
    n_tokens, last = len(pair_of), ends.shape[1] - 1
    of_start, of_end = step[0], step[1]
    c0, c1, c2 = of_start * of_start, of_start * of_end, of_end * of_end
    n_active = tally.n_active[0]
    for i in range(n_tokens):
        token = n_tokens - 1 - i if backwards else i
        k, u = pair_of[token], word_of[token]
        a = place[k]
        n[a] -= 1.0
        if n[a] == 0.0:  # the last one takes its place
            n_active -= 1
            topic[a], n[a] = topic[n_active], n[n_active]
            place[topic[a]] = a
            place[k] = -1
        for a in range(n_active):
            share[a] = mixed(ends[u, topic[a], 0], ends[u, topic[a], 1], step) * n[a]
        of_counts = 0.0
        for a in range(n_active):
            of_counts += share[a]
        of_prior = c0 * products[u, last, 0] + c1 * products[u, last, 1] + c2 * products[u, last, 2]
        uniform = rng.random() * (of_prior + of_counts)
        if uniform >= of_prior and of_counts > 0.0:
            k = topic[place_of(share, n_active, uniform - of_prior)]
        else:
            sought, k, high = min(uniform, of_prior * BELOW_ONE), 0, last
            while k < high:
                middle = (k + high) // 2
                reached = c0 * products[u, middle, 0] + c1 * products[u, middle, 1]
                if reached + c2 * products[u, middle, 2] > sought:
                    high = middle
                else:
                    k = middle + 1
        if place[k] < 0:
            place[k] = n_active
            topic[n_active], n[n_active] = k, 0.0
            n_active += 1
        n[place[k]] += 1.0
        pair_of[token] = k
    tally.n_active[0] = n_active


@kernel
def log_step(
    document: PairedDocument, pair_of: Ints32, tally: Tally, above: Floats, below: Floats
) -> float:
    """Return log f_above(z) / f_below(z), by products of ratios; 0 if the models are the same.

    `above` and `below` (2,) are 1 - t and t of two steps of the path.
    """
    ends, priors, word_of = document.ends, document.priors, document.word_of
    total, product = 0.0, 1.0
    for i in range(len(pair_of)):
        u, p = word_of[i], pair_of[i]
        b, a = ends[u, p, 0], ends[u, p, 1]
        ratio = mixed(b, a, above) / mixed(b, a, below)
        if 1.0 / LARGE < ratio < LARGE:
            product *= ratio
        else:
            total += np.log(ratio)
        if not 1.0 / LARGE < product < LARGE:
            total += np.log(product)
            product = 1.0
    for active in range(tally.n_active[0]):
        p = tally.topic[active]
        b, a, n = priors[p, 0], priors[p, 1], int(tally.n[active])
        total += log_rising(mixed(b, a, above), mixed(b, a, below), n)
    b, a = 0.0, 0.0
    for p in range(len(priors)):
        b += priors[p, 0]
        a += priors[p, 1]
    total -= log_rising(mixed(b, a, above), mixed(b, a, below), len(pair_of))
    return float(total + np.log(product))


@kernel
def log_rising(above: float, below: float, n: int) -> float:
    """Return Σ_{i<n} log (above + i) / (below + i)."""
    total, product = np.log(above / below), 1.0
    for i in range(1, n):
        product *= (above + i) / (below + i)
        if not 1.0 / LARGE < product < LARGE:
            total += np.log(product)
            product = 1.0
    return float(total + np.log(product))


@kernel
def anneal_between(
    document: PairedDocument, path: Floats, backwards: bool, pair_of: Ints32, rng: Rng
) -> float:
    """Return the log-weight of one chain over the `path` (T, 2) of `path_of`; in place.

    `pair_of` (L,) is a draw from the posterior at the first step, or at the last if
    `backwards`. In both cases the weight is that of the path upwards, ∏_s f_{t_s+1} / f_{t_s}.
    """
    tally = tally_of(pair_of, document.ends.shape[1])
    n_steps, result = len(path) - 1, 0.0
    for i in range(n_steps):
        s = n_steps - 1 - i if backwards else i
        result += log_step(document, pair_of, tally, path[s + 1], path[s])
        if i < n_steps - 1:
            step = path[s] if backwards else path[s + 1]
            sweep_pairs(document, step, backwards, pair_of, tally, rng)
    return result


@kernel
def anneal_chains(
    document: PairedDocument,
    path: Floats,
    backwards: bool,
    own: Document,
    burn_in: Floats,
    topic_of_pair: Ints,
    prior: Floats,
    n_chains: int,
    rng: Rng,
) -> Floats:
    """Return the log-weights (n_chains,) of chains from the posterior of the model at one end.

    The document is also given over that model's `own` topics, `topic_of_pair` (P,) is the topic
    that a pair copies, and `prior` (P,) that of the copy. See `burn_in_of` and `anneal_between`.
    """
    result = np.empty(n_chains)
    for chain in range(n_chains):
        pair_of = draw_pairs(own, burn_in, topic_of_pair, prior, rng)
        result[chain] = anneal_between(document, path, backwards, pair_of, rng)
    return result
