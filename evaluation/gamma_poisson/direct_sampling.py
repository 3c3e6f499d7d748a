"""Direct sampling: the mean of p(y | θ) over scores drawn from the prior.

    p(y) ≈ (1/S) Σ_s ∏_w Poisson(y_w; Σ_k θ_k φ_kw),   θ ~ Gamma(r, scale p / (1 - p))

(Capdevila et al. 2018, eq. 9). Unbiased, and efficient for documents so short that their posterior
is close to the prior. For longer ones almost no draw from the prior is near the posterior: the
effective sample size is small and the estimate most likely too low.
"""

import numpy as np

from evaluation.arrays import Floats, Ints, Rng
from evaluation.gamma_poisson.by_document import Document, sampled_counts
from evaluation.gamma_poisson.topic_counts import draw_scores, fill_rates
from evaluation.monte_carlo.by_document import Score
from evaluation.monte_carlo.log_mean import log_mean_of
from models.kernel import kernel


@sampled_counts("direct-sampling", "unbiased", 1000)
def direct_sampling(document: Document, n_samples: int, rng: Rng) -> Score:
    """Return the mean of p(y | θ) over `n_samples` draws from the prior of θ, 1000 by default.

    The standard error and the effective sample size are those of the mean of independent weights
    (see `log_mean_of`). If every weight underflows to 0, the estimate is -infinity, with an
    effective sample size of 0.
    """
    log_p = log_probabilities_given_scores(document.word_topic, *document[2:], n_samples, rng)
    mean = log_mean_of(log_p)
    if not np.isfinite(mean.log_mean):
        return Score(-np.inf, np.nan, 0.0)
    return Score(document.log_constant + mean.log_mean, *mean[1:])


@kernel
def log_probabilities_given_scores(
    word_topic: Floats,
    n: Ints,
    prior: Floats,
    rate: Floats,
    expected: Floats,
    n_draws: int,
    rng: Rng,
) -> Floats:
    """Return Σ_w n_w log Σ_k u_k word_topic_wk - Σ_k u_k Q_k (n_draws,) for u of the prior.

    The first five arguments are fields of a `Document`.
    """
    log_p = np.empty(n_draws)
    scores, p = np.empty(len(prior)), np.empty(len(prior))
    for draw in range(n_draws):
        draw_scores(prior, rate, scores, rng)
        log_p[draw] = log_probability(word_topic, n, scores, expected, p)
    return log_p


@kernel
def log_probability(
    word_topic: Floats, n: Ints, scores: Floats, expected: Floats, p: Floats
) -> float:
    """Return Σ_w n_w log Σ_k scores_k word_topic_wk - Σ_k scores_k expected_k; `p` is scratch."""
    total = 0.0
    for k in range(len(scores)):
        total -= scores[k] * expected[k]
    for w in range(len(n)):
        total += n[w] * np.log(fill_rates(word_topic, w, scores, p))
    return total
