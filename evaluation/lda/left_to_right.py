"""Left-to-right samplers as published: a sampled factor p(j_l | j_<l) for each token.

    p(j) = ∏_l p(j_l | j_<l),   p(j_l | j_<l) ≈ mean of Σ_k φ_k,j_l (C_k + alpha_k) / (l + Σ alpha)

(Buntine 2009, eqs. 5 to 7), where C counts the topics of the tokens before l, drawn by Gibbs
sampling given the words before l. One kernel runs both of the paper's samplers, which use their R
draws for each token in different ways:

    the particle sampler (Sec. 3.5)    R chains,   1 sweep before each token
    the sequential sampler (Sec. 3.6)  1 chain,    R sweeps before each token

Counts have no order of tokens, and p(j) does not depend on it. It is drawn at random, because both
samplers are less accurate in the order of the vocabulary, where all tokens of a word are adjacent.
The sequential sampler is corrected: in the paper's listing sweeps see the token that is predicted
next, which makes it too probable. Time is R L² / 2 draws of O(K) for L tokens.
"""

import math

import numpy as np

from evaluation.arrays import Floats, Ints, Ints32, Rng
from evaluation.monte_carlo.by_document import Score, sampled
from evaluation.monte_carlo.log_mean import standard_error_of_mean
from evaluation.monte_carlo.token_sweep import document_words, fill_probabilities, pick, resample
from models.kernel import kernel
from models.topics import WeightedTopics

DEFAULT_SAMPLES = 100


@sampled("left-to-right-particle", "biased", DEFAULT_SAMPLES)
def left_to_right_particle(
    topics: WeightedTopics, words: Ints32, n: Ints, n_samples: int, rng: Rng
) -> Score:
    """Score by `n_samples` particles R (Wallach 2008; Buntine 2009, Sec. 3.5), as MALLET does.

    Factors are averaged with equal weights, although particles are not draws from the posterior
    after one sweep: the estimate is biased, whatever the number of particles. (The mean over
    particles of their products of factors is unbiased, the product of means is not.)

    The standard error is of Σ_l log S_l, S_l the mean over particles of f_rl, linearised: the
    standard deviation over r of Σ_l f_rl / S_l, over √R. It includes neither the bias nor the
    variance over orders of the tokens.
    """
    log_p, factors = _sampled_factors(topics, words, n, n_samples, 1, rng)
    return Score(log_p, error_over_particles(factors))


@sampled("left-to-right-sequential (straight)", "biased", DEFAULT_SAMPLES)
def straight_sequential(
    topics: WeightedTopics, words: Ints32, n: Ints, n_samples: int, rng: Rng
) -> Score:
    """Score by one chain of `n_samples` sweeps a token (Buntine 2009, Sec. 3.6, corrected).

    After the sweeps before token l, its topic is drawn once. The estimate converges as the number
    of samples grows; with few, the chain still depends on its states at the token before.

    The standard error is that of batch means of each token's factors, √R batches, added over
    tokens in quadrature. It ignores that neighbouring factors come from one chain.
    """
    log_p, factors = _sampled_factors(topics, words, n, 1, n_samples, rng)
    relative = standard_error_of_mean(factors[0]) / factors[0].mean(axis=1)
    return Score(log_p, float(np.sqrt((relative**2).sum())))


def error_over_particles(factors: Floats) -> float:
    """Return the linearised standard error of Σ_l log S_l by `factors` (R, L, 1); NaN if R = 1."""
    n_particles = len(factors)
    if n_particles == 1:
        return math.nan
    relative = (factors / factors.mean(axis=0)).sum(axis=(1, 2))
    return float(relative.std(ddof=1)) / math.sqrt(n_particles)


def _sampled_factors(
    topics: WeightedTopics, words: Ints32, n: Ints, n_chains: int, n_sweeps: int, rng: Rng
) -> tuple[float, Floats]:
    """Return log p of a document and its factors (n_chains, L, n_sweeps), in a random order."""
    document = document_words(topics, words)
    word_of = rng.permutation(np.repeat(np.arange(len(n)), n))
    factors = predictive_factors(
        document.word_topic, document.alpha, word_of, n_chains, n_sweeps, rng
    )
    log_p = np.log(factors.mean(axis=(0, 2))).sum() + n @ document.log_scale
    return float(log_p), factors


@kernel
def predictive_factors(
    word_topic: Floats, alpha: Floats, word_of: Ints, n_chains: int, n_sweeps: int, rng: Rng
) -> Floats:
    """Return the factors (n_chains, L, n_sweeps) of each token after each sweep of each chain.

    `word_topic` (U, K) is used as given. Tokens come in the order of `word_of` (L,).
    """
    n_tokens, n_topics = len(word_of), len(alpha)
    factors = np.empty((n_chains, n_tokens, n_sweeps))
    topic_of = np.zeros(n_tokens, dtype=np.int64)
    n_k, p = np.empty(n_topics), np.empty(n_topics)
    alpha_sum = alpha.sum()
    for chain in range(n_chains):
        n_k[:] = 0.0
        for t in range(n_tokens):
            total = 0.0
            for sweep in range(n_sweeps):
                resample(word_topic, alpha, word_of, t, topic_of, n_k, p, rng)
                total = fill_probabilities(word_topic, word_of[t], alpha, n_k, p)
                factors[chain, t, sweep] = total / (t + alpha_sum)  # eq. 7
            k = pick(p, rng.random() * total)
            topic_of[t] = k
            n_k[k] += 1.0
    return factors
