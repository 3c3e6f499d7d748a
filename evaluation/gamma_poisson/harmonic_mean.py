"""Harmonic mean of p(document | scores): an estimator known to be bad, kept for comparison.

    1 / p(y) = E[1 / p(y | θ)] over θ ~ p(θ | y),   p(y | θ) = ∏_w Poisson(y_w; Σ_k θ_k φ_kw)

(Capdevila et al. 2018, Sec. 4, after Newton & Raftery 1994), by Gibbs sampling of scores and topic
counts given all words (eqs. 15 and 16), including words that do not occur: the scale of the scores
is p_k / (1 - p_k + p_k Φ_k), which equals the p_k of the paper only where Φ_k = 1. It is
consistent, but scores that no chain of practical length visits dominate the mean: p is too large.
"""

import numpy as np

from evaluation.arrays import Floats, Ints, Rng
from evaluation.gamma_poisson.by_document import Document, sampled_counts
from evaluation.gamma_poisson.direct_sampling import log_probability
from evaluation.gamma_poisson.topic_counts import draw_scores, fill_rates, spread
from evaluation.monte_carlo.by_document import Score
from evaluation.monte_carlo.log_mean import log_mean_of, standard_error_of_mean
from models.kernel import kernel

BURN_IN = 100  # sweeps before the first recorded one


@sampled_counts("harmonic-mean", "upward biased", 1000)
def harmonic_mean(document: Document, n_samples: int, rng: Rng) -> Score:
    """Return the harmonic mean of p(y | θ) over `n_samples` Gibbs sweeps, 1000 by default.

    Errors are those of LDA's `harmonic_mean`, and too small for the same reason.
    """
    log_p = log_probabilities_of_posterior(
        document.word_topic, document.n, document.shape, document.expected, n_samples, rng
    )
    mean = log_mean_of(-log_p)
    error = float(standard_error_of_mean(np.exp(-log_p - mean.log_mean)))
    return Score(document.log_constant - mean.log_mean, error, mean.effective_sample_size)


@kernel
def log_probabilities_of_posterior(
    word_topic: Floats, n: Ints, prior: Floats, expected: Floats, n_sweeps: int, rng: Rng
) -> Floats:
    """Return `log_probability` (n_sweeps,) after each sweep of a chain given the document.

    The first four arguments are fields of a `Document`. Given all words the rate is 1 in its units.
    The chain starts from topic counts drawn given scores of r.
    """
    log_p = np.empty(n_sweeps)
    shape, scores, p = prior.copy(), prior.copy(), np.empty(len(prior))
    rate = np.ones(len(prior))
    for sweep in range(-BURN_IN, n_sweeps):
        for k in range(len(prior)):
            shape[k] = prior[k]
        for w in range(len(n)):
            spread(p, fill_rates(word_topic, w, scores, p), n[w], shape, rng)
        draw_scores(shape, rate, scores, rng)
        if sweep >= 0:
            log_p[sweep] = log_probability(word_topic, n, scores, expected, p)
    return log_p
