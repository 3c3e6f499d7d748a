"""Likelihood of documents by annealed importance sampling of their topics (Neal 2001).

The chains are the upward ones of `annealed_bounds`, the path that of `annealing`. Topic models of
Poisson MRFs are scored by the same method with as many chains and temperatures by default, so that
the errors from their finite numbers are similar.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaluation.lda.annealing import document_of, log_weights_upwards
from evaluation.monte_carlo.annealed_chains import (
    DEFAULT_CHAINS,
    DEFAULT_TEMPERATURES,
    temperatures_for,
)
from evaluation.monte_carlo.by_document import Score, sampled
from evaluation.monte_carlo.log_mean import log_mean_of

if TYPE_CHECKING:
    from evaluation.arrays import Ints, Ints32, Rng
    from models.topics import WeightedTopics


@sampled("annealed-importance-sampling", "unbiased", DEFAULT_CHAINS)
def annealed(
    topics: WeightedTopics,
    words: Ints32,
    n: Ints,
    n_samples: int,
    rng: Rng,
    n_temperatures: int = DEFAULT_TEMPERATURES,
) -> Score:
    """Return the mean weight of `n_samples` chains, 20 by default; unbiased for any number.

    It estimates p of the tokens in order. Standard error and effective sample size are those of the
    mean of independent weights (`log_mean_of`). Raises ValueError or TypeError if `n_temperatures`,
    from 0 to 1, both included, is no integer of at least 2.
    """
    document, constant = document_of(topics, words, n)
    temperatures = temperatures_for(n_temperatures, len(document.word_of), topics.alpha)
    mean = log_mean_of(log_weights_upwards(document, temperatures, n_samples, rng))
    return Score(constant + mean.log_mean, *mean[1:])
