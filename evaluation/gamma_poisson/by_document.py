"""Documents as Gamma-Poisson samplers take them: scores in units in which nothing gets large.

Scores are measured by what a whole document leaves of their scale: with b_k = β_k + Φ_k, where
β_k = (1 - p_k) / p_k and Φ_k = Σ_w φ_kw, the model of u_k = b_k θ_k is, without approximation,

    u_k ~ Gamma(shape r_k, rate 1 - Q_k),   y_w ~ Poisson(Σ_k u_k q_kw),   q_kw = φ_kw / b_k

and Q_k = Σ_w q_kw < 1 (see `TiltedTopics`). After words w' < w the rate is 1 - Q_k + Σ_w'<w q_kw',
which ends at 1: that of Capdevila et al. 2018, eq. 15, in these units, for p near 0 or 1 too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from evaluation.monte_carlo.by_document import Score
from evaluation.monte_carlo.by_document import sample_documents as sample_nonempty
from evaluation.monte_carlo.token_sweep import document_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluation.document_blocks import DocumentBlock
    from evaluation.estimate import LikelihoodEstimate
    from models import GammaPoissonTopics

    Sampler = Callable[["Document", np.random.Generator], Score]

Floats = NDArray[np.float64]


class Document(NamedTuple):
    """The words that a document has, and the prior of its scores; topics are padded."""

    word_topic: Floats
    """(U, K padded), q_kw of each word over the largest of its K, padded with zeros."""
    log_scale: Floats
    """(U,), logarithms of these divisors."""
    n: NDArray[np.int64]
    """(U,), how often each word occurs, none 0."""
    shape: Floats
    """(K padded,), r, padded with zeros."""
    rate: Floats
    """(K padded,), 1 - Q_k, of the scores before anything is seen; padded with ones."""
    expected: Floats
    """(K padded,), Q_k, how many tokens a score of 1 brings; padded with zeros."""

    @property
    def log_constant(self) -> float:
        """Difference of log p(y | u) and Σ_w y_w log Σ_k u_k word_topic_wk - Σ_k u_k Q_k."""
        return float(self.n @ self.log_scale - gammaln(self.n + 1.0).sum())


def sample_documents(
    topics: GammaPoissonTopics, documents: DocumentBlock, sampler: Sampler, **settings: Any
) -> LikelihoodEstimate:
    """The estimates of log p(y), zeros and all, that `sampler(document, rng)` makes.

    `settings` and random numbers are as in LDA's `sample_documents`. Documents without tokens get
    their exact log-probability, and no samples.
    """
    # 1 - Q_k is not computed as such: for p near 1 nothing would be left of it.
    norm = 1.0 - topics.probability + topics.probability * topics.topic_word.sum(axis=1)
    rate = (1.0 - topics.probability) / norm
    expected = topics.tilted.topic_word.sum(axis=1)

    def score(words: NDArray[np.int32], n: NDArray[np.int64], rng: np.random.Generator) -> Score:
        rows = document_words(topics.tilted, words)
        padding = (0, len(rows.alpha) - topics.n_topics)
        document = Document(
            rows.word_topic,
            rows.log_scale,
            n,
            rows.alpha,
            np.pad(rate, padding, constant_values=1.0),
            np.pad(expected, padding),
        )
        return sampler(document, rng)

    estimate = sample_nonempty(documents, score, **settings)
    return replace(
        estimate,
        log_likelihood=np.where(
            estimate.n_tokens > 0, estimate.log_likelihood, topics.tilted.log_empty
        ),
        convention="bag-and-length",
    )
