"""State of Gibbs sampling of a Gamma-Poisson model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from models.gamma_poisson.topics import GammaPoissonTopics
from models.gibbs.state import GibbsLDAState

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from models.arrays import Floats

MIN_PROBABILITY = 1e-12
"""Minimum distance of probabilities from 0 and 1, which a Beta variate can reach by rounding."""


@dataclass
class BetaGammaPFAState(GibbsLDAState):
    """State as for LDA, with r as `alpha`, and the probabilities p; both have averages."""

    probability: Floats  #: (K,). In the literature this is p.
    shape_sum: Floats  #: (K,), weighted sum of r over samples.
    mean_count_sum: Floats
    """(K,), weighted sum over samples of Σ_d n_dk / D, a document's mean count of the topic."""
    weight_sum: float  #: Sum of the weights of samples.

    @property
    def topic_weight(self) -> Floats:
        """(K,), p_k over the largest."""
        weight: Floats = self.probability / self.probability.max()
        return weight

    def add_priors(self, weight: float, mean_count: Floats) -> None:
        """Add the present r, and the mean counts (K,) that p follows from, to the sums."""
        self.shape_sum += weight * self.alpha
        self.mean_count_sum += weight * mean_count
        self.weight_sum += weight


def mean_gamma_poisson(
    state: BetaGammaPFAState, word_topic_weight: NDArray[Any]
) -> GammaPoissonTopics:
    """Topics, r and mean counts averaged over the samples; before the first, the present ones.

    `word_topic_weight` (V, K) is that of `GibbsSweeps`. p makes a document's mean count of a
    topic, r p / (1 - p), that of the samples. (Their own r p / (1 - p) cannot be averaged: its mean
    is infinite for a topic of few documents.)
    """
    if not state.n_samples:
        shape, probability = state.alpha, state.probability
    else:
        shape = state.shape_sum / state.weight_sum
        probability = state.mean_count_sum / (state.mean_count_sum + state.shape_sum)
    weight = word_topic_weight.T.astype(np.float64)
    topic_word = weight / weight.sum(axis=1, keepdims=True)
    return GammaPoissonTopics(
        topic_word, shape, np.clip(probability, MIN_PROBABILITY, 1.0 - MIN_PROBABILITY)
    )
