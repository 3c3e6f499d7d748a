"""Documents as Gamma-Poisson samplers take them: scores in units in which nothing gets large.

Scores are measured by what a whole document leaves of their scale: with b_k = β_k + Φ_k, where
β_k = (1 - p_k) / p_k and Φ_k = Σ_w φ_kw, the model of u_k = b_k θ_k is, without approximation,

    u_k ~ Gamma(shape r_k, rate 1 - Q_k),   y_w ~ Poisson(Σ_k u_k q_kw),   q_kw = φ_kw / b_k

and Q_k = Σ_w q_kw < 1 (see `TiltedTopics`). After words w' < w the rate is 1 - Q_k + Σ_w'<w q_kw',
which ends at 1: that of Capdevila et al. 2018, eq. 15, in these units, for p near 0 or 1 too.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from evaluation.arrays import Floats, Ints, Ints32, Rng
from evaluation.document_blocks import DocumentBlock
from evaluation.estimate import Direction, LikelihoodEstimate
from evaluation.monte_carlo.by_document import Estimator, Score, sampled
from evaluation.monte_carlo.token_sweep import document_words
from models import GammaPoissonTopics
from models.gamma_poisson.tilted import TiltedTopics


class Document(NamedTuple):
    """The words that a document has, and the prior of its scores; topics are padded."""

    word_topic: Floats
    """(U, K padded), q_kw of each word over the largest of its K, padded with zeros."""
    log_scale: Floats  # (U,), logarithms of these divisors
    n: Ints  # (U,), how often each word occurs, none 0
    shape: Floats  # (K padded,), r, padded with zeros
    rate: Floats  # (K padded,), 1 - Q_k, of the scores before anything is seen; padded with ones
    expected: Floats  # (K padded,), Q_k, how many tokens a score of 1 brings; padded with zeros

    @property
    def log_constant(self) -> float:
        """Difference of log p(y | u) and Σ_w y_w log Σ_k u_k word_topic_wk - Σ_k u_k Q_k."""
        return float(self.n @ self.log_scale - gammaln(self.n + 1.0).sum())


def sampled_counts(
    method: str, direction: Direction, default_samples: int
) -> Callable[[Callable[..., Score]], Estimator]:
    """Make an estimator of log p(y), zeros included, from `score(document, n_samples, rng)`.

    Settings and random numbers are those of `sampled`. Documents without tokens get their exact
    log-probability, and no samples.
    """

    def estimator_of(score: Callable[..., Score]) -> Estimator:
        @wraps(score)
        def estimator(
            topics: GammaPoissonTopics, documents: DocumentBlock, **settings: Any
        ) -> LikelihoodEstimate:
            # 1 - Q_k is not computed as such: for p near 1 nothing would be left of it.
            norm = 1.0 - topics.probability + topics.probability * topics.topic_word.sum(axis=1)
            rate = (1.0 - topics.probability) / norm
            expected = topics.tilted.topic_word.sum(axis=1)

            @sampled(method, direction, default_samples)
            def score_words(
                tilted: TiltedTopics,
                words: Ints32,
                n: Ints,
                n_samples: int,
                rng: Rng,
                **further: Any,
            ) -> Score:
                rows = document_words(tilted, words)
                padding = (0, len(rows.alpha) - tilted.n_topics)
                document = Document(
                    rows.word_topic,
                    rows.log_scale,
                    n,
                    rows.alpha,
                    np.pad(rate, padding, constant_values=1.0),
                    np.pad(expected, padding),
                )
                return score(document, n_samples, rng, **further)

            estimate = score_words(topics.tilted, documents, **settings)
            log_p = np.where(
                estimate.n_tokens > 0, estimate.log_likelihood, topics.tilted.log_empty
            )
            return replace(estimate, log_likelihood=log_p, convention="bag-and-length")

        return estimator

    return estimator_of
