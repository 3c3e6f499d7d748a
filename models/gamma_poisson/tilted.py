"""Gamma-Poisson factor analysis as LDA: the same integral, over topics that are tilted by length.

The Poisson probabilities of a document bring a factor exp(-θ_k Φ_k) for each topic, Φ_k = Σ_w φ_kw,
which turns the prior Gamma(r_k, rate β_k) of θ_k, β_k = (1 - p_k) / p_k, into one of rate
b_k = β_k + Φ_k. Let u_k = b_k θ_k; u ~ Gamma(r, 1) is S π, with S ~ Gamma(R), R = Σ r, independent
of π ~ Dirichlet(r). As E[S^N] = Γ(R + N) / Γ(R), a document of N tokens has the probability

    p(y) = ∏_k (1 - Q_k)^r_k  ·  Γ(R + N) / (Γ(R) ∏_w y_w!)  ·  E_π[∏_w (Σ_k π_k q_kw)^y_w]

with q_kw = φ_kw / b_k = p_k φ_kw / (1 - p_k + p_k Φ_k) (Capdevila et al. 2018, eq. 8) and
Q_k = Σ_w q_kw. The last factor is what LDA with alpha = r gives to the tokens of the document in
order, but for topics q_k, whose rows sum to Q_k < 1. So results for LDA hold here: the sum
over topic counts that is polynomial in N, its estimators, its bounds and its variational posterior.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from models.arrays import Floats
from models.topics import TopicWords


@dataclass(frozen=True, eq=False)
class TiltedTopics(TopicWords):
    """Topics q (K, V) and alpha (K,) as estimators of LDA take them; rows sum to less than 1."""

    alpha: Floats  # (K,), r
    log_empty: float  # log p of a document without tokens, Σ_k r_k log(1 - Q_k)

    def __post_init__(self) -> None:
        self._freeze({"topic_word": self.topic_word.view(), "alpha": self.alpha.view()})

    @classmethod
    def of(cls, topic_word: Floats, shape: Floats, probability: Floats) -> Self:
        """Tilt φ (K, V) for r (K,) and p (K,)."""
        expected = topic_word.sum(axis=1)  # Φ_k
        norm = 1.0 - probability + probability * expected
        log_empty = float(shape @ (np.log1p(-probability) - np.log(norm)))
        return cls(topic_word * (probability / norm)[:, None], shape, log_empty)
