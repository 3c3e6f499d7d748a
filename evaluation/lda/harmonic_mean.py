"""Harmonic mean of p(document | topics of its tokens), a bad estimator, for comparison.

    1 / p(j) = E[1 / p(j | k)] over k ~ p(k | j),   p(j | k) = ∏_l φ_k_l,j_l

(Griffiths & Steyvers 2004; Buntine 2009, Sec. 3.2.) It converges, but topics so improbable that no
chain of practical length visits them dominate the mean: without them 1 / p is too small and p too
large. Where some φ are 0 its limit is wrong: k with p(j | k) = 0 are never drawn, so that it
converges to p(j) divided by the prior probability of all other k.
"""

import numpy as np

from evaluation.arrays import Floats, Ints, Ints32, Rng
from evaluation.monte_carlo.by_document import Score, sampled
from evaluation.monte_carlo.log_mean import log_mean_of, standard_error_of_mean
from evaluation.monte_carlo.token_sweep import document_words, fill_probabilities, pick, resample
from models.kernel import kernel
from models.topics import WeightedTopics

BURN_IN = 20  # sweeps before the first recorded one


@sampled("harmonic-mean", "upward biased", 200)
def harmonic_mean(
    topics: WeightedTopics, words: Ints32, n: Ints, n_samples: int, rng: Rng
) -> Score:
    """Return the harmonic mean of ∏_l φ_k_l,j_l over `n_samples` Gibbs sweeps, 200 by default.

    The standard error is by batch means of 1 / p (see `standard_error_of_mean`), to first order. It
    is far too small, because the chain misses the topics that dominate the mean. The same holds for
    the effective sample size, which treats the weights 1 / p as independent.
    """
    document = document_words(topics, words)
    with np.errstate(divide="ignore"):  # topics without the word are never drawn
        log_word_topic = np.log(document.word_topic)
    word_of = np.repeat(np.arange(len(n)), n)
    log_p = log_probabilities_given_topics(
        document.word_topic, log_word_topic, document.alpha, word_of, n_samples, rng
    )
    mean = log_mean_of(-log_p)
    error = float(standard_error_of_mean(np.exp(-log_p - mean.log_mean)))
    in_scale = float(n @ document.log_scale)
    return Score(in_scale - mean.log_mean, error, mean.effective_sample_size)


@kernel
def log_probabilities_given_topics(
    word_topic: Floats,
    log_word_topic: Floats,
    alpha: Floats,
    word_of: Ints,
    n_sweeps: int,
    rng: Rng,
) -> Floats:
    """Return log p(j | k) (n_sweeps,) after each sweep of a chain of k given all words j.

    The chain starts from topics drawn left to right, each given the words up to its own.
    """
    n_tokens, n_topics = len(word_of), len(alpha)
    log_p = np.empty(n_sweeps)
    topic_of = np.zeros(n_tokens, dtype=np.int64)
    n_k, p = np.zeros(n_topics), np.empty(n_topics)
    for t in range(n_tokens):
        total = fill_probabilities(word_topic, word_of[t], alpha, n_k, p)
        k = pick(p, rng.random() * total)
        topic_of[t] = k
        n_k[k] += 1.0
    for sweep in range(-BURN_IN, n_sweeps):
        resample(word_topic, alpha, word_of, n_tokens, topic_of, n_k, p, rng)
        if sweep >= 0:
            total = 0.0
            for t in range(n_tokens):
                total += log_word_topic[word_of[t], topic_of[t]]
            log_p[sweep] = total
    return log_p
