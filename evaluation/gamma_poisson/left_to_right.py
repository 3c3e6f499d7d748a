"""Left-to-right sampler: a factor p(y_w | y_<w) for each word that occurs, and one for all others.

    p(y) = ∏_w p(y_w | y_<w),   p(y_w | y_<w) ≈ (1/S) Σ_s p(y_w | x_<w^(s)),   x_<w ~ p(x_<w | y_<w)

(Capdevila et al. 2018, eqs. 10 to 14 and Algorithm 1). Words that occur come first, in a random
order, since p(y) does not depend on it. For each, S times: one Gibbs sweep over the topic counts
x_<w of the words before it, given these words only (eqs. 15 and 16), then the factor is recorded.
Then the topic counts of the word itself are drawn, once, and the chain continues. The last factor
is of all words that do not occur (eq. 22), after S sweeps over those that do:

    ∏_k b_k^(r_k + X_k),   b_k = 1 - Q_k + Σ_w' q_kw'

in the units of `by_document`. The two methods differ in p(y_w | x_<w) (`word_conditional`):
estimated from draws of x_w, or exact. Both draw a word's own topic counts exactly, so the chain
needs no burn-in. Time is S U² / 2 multinomial draws for U different words, and S U K of scores.
"""

import numpy as np

from evaluation.arrays import Floats, Ints, Rng
from evaluation.gamma_poisson.by_document import Document, sampled_counts
from evaluation.gamma_poisson.topic_counts import resample
from evaluation.gamma_poisson.word_conditional import (
    add_topic_counts,
    log_coefficient,
    log_proposal_mean,
)
from evaluation.monte_carlo.by_document import Score
from evaluation.monte_carlo.log_mean import standard_error_of_mean
from models.kernel import kernel

DEFAULT_SAMPLES = 1000
EXACTLY = 0  # number of proposals that stands for exact conditionals


@sampled_counts("left-to-right", "biased", DEFAULT_SAMPLES)
def left_to_right(document: Document, n_samples: int, rng: Rng, n_proposals: int = 1) -> Score:
    """Score by the sampler L2R with conditionals by importance sampling (eqs. 20 and 21).

    `n_samples` is the number of sweeps S a word, 1000 by default, `n_proposals` the number of draws
    S' a sweep. With S = 1 the product of recorded factors is unbiased. The product of means is not:
    all factors come from one chain, so that their errors are dependent. The bias is of order 1 / S
    and of either sign; the estimate is consistent.

    The standard error is by batch means of each factor's records, √S batches, added over factors
    in quadrature. It ignores the dependence of neighbouring factors, and states that the chain has
    not visited, as for small r a topic without tokens hardly ever gets any, or for p near 1. The
    estimate is then too low by many standard errors.
    """
    return _score(document, n_samples, rng, n_proposals)


@sampled_counts("left-to-right-exact", "biased", DEFAULT_SAMPLES)
def left_to_right_exact(document: Document, n_samples: int, rng: Rng) -> Score:
    """Score by the sampler L2R with exact conditionals (eqs. 17 and 19).

    Like `left_to_right`, without the noise of proposals. A word that occurs y times takes time in
    proportion to K y + y² a sweep: for small y no more than proposals.
    """
    return _score(document, n_samples, rng, EXACTLY)


def _score(document: Document, n_samples: int, rng: Rng, n_proposals: int) -> Score:
    order = rng.permutation(len(document.n))
    log_f = log_factors(
        document.word_topic[order],
        document.log_scale[order],
        document.n[order],
        document.shape,
        document.rate,
        n_samples,
        n_proposals,
        rng,
    )
    largest = log_f.max(axis=1, keepdims=True)
    factors = np.exp(log_f - largest)
    means = factors.mean(axis=1)
    relative = standard_error_of_mean(factors) / means
    return Score(float((np.log(means) + largest[:, 0]).sum()), float(np.linalg.norm(relative)))


@kernel
def log_factors(
    word_topic: Floats,
    log_scale: Floats,
    n: Ints,
    prior: Floats,
    initial_rate: Floats,
    n_sweeps: int,
    n_proposals: int,
    rng: Rng,
) -> Floats:
    """Return log factors (U + 1, n_sweeps) of one chain: of each word, then of absent words.

    The first five arguments are fields of a `Document`, with words in the order of the chain.
    """
    n_words, n_topics = word_topic.shape
    log_f = np.empty((n_words + 1, n_sweeps))
    shape, rate = prior.copy(), initial_rate.copy()
    success, kept, log_kept = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics)
    power, room = np.empty(n_topics), (np.empty(n_topics), np.empty(n_topics))
    sums, coefficients = np.empty(n.max() + 1), np.empty(n.max() + 1)
    for w in range(n_words):
        log_largest = fill_success(word_topic, w, log_scale[w], rate, success, kept, log_kept)
        for sweep in range(n_sweeps):
            resample(word_topic, n, w, prior, rate, shape, room, rng)
            if n_proposals == EXACTLY:
                value = log_coefficient(n[w], shape, success, power, sums, coefficients)
            else:
                value = log_proposal_mean(n[w], shape, success, kept, n_proposals, room, rng)
            log_f[w, sweep] = value + n[w] * log_largest + dot(shape, log_kept)
        if n_proposals != EXACTLY:
            log_coefficient(n[w], shape, success, power, sums, coefficients)
        add_topic_counts(n[w], shape, success, sums, coefficients, room, rng)
        rate /= kept
    for k in range(n_topics):
        log_kept[k] = np.log(rate[k])
    for sweep in range(n_sweeps):
        resample(word_topic, n, n_words, prior, rate, shape, room, rng)
        log_f[n_words, sweep] = dot(shape, log_kept)  # eq. 22
    return log_f


@kernel
def dot(a: Floats, b: Floats) -> float:
    """Equivalent to a @ b, of short arrays (K,)."""
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@kernel
def fill_success(
    word_topic: Floats,
    w: int,
    log_scale: float,
    rate: Floats,
    success: Floats,
    kept: Floats,
    log_kept: Floats,
) -> float:
    """Set the arrays of eq. 19 for word w; return log ρ_max, where ρ_k = q_kw / (rate_k + q_kw).

    Sets `success` (K,) to ρ / ρ_max, `kept` (K,) to 1 - ρ and `log_kept` (K,) to its logarithm, in
    place. `rate` (K,) is the rate before word w.
    """
    largest = 0.0
    for k in range(len(rate)):
        weight = word_topic[w, k] * np.exp(log_scale)
        kept[k] = rate[k] / (rate[k] + weight)
        log_kept[k] = -np.log1p(weight / rate[k])
        success[k] = word_topic[w, k] / (rate[k] + weight)
        largest = max(largest, success[k])
    for k in range(len(rate)):
        success[k] /= largest
    return float(np.log(largest) + log_scale)
