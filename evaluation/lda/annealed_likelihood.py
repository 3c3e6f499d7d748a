"""Likelihood of documents by annealed importance sampling of their topics (Neal 2001).

The chains are the upward ones of `annealed_bounds`, the path that of `annealing`. Topic models of
Poisson MRFs are scored by the same method with as many chains and temperatures by default, so that
the errors from their finite numbers are similar.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evaluation.lda.annealing import Document, log_weights_upwards
from evaluation.monte_carlo.annealed_chains import DEFAULT_TEMPERATURES, score_by_chains

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evaluation.document_blocks import DocumentBlock
    from evaluation.estimate import LikelihoodEstimate
    from models.topics import WeightedTopics

    Floats = NDArray[np.float64]


def annealed(
    topics: WeightedTopics,
    documents: DocumentBlock,
    *,
    n_samples: int | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    n_temperatures: int = DEFAULT_TEMPERATURES,
) -> LikelihoodEstimate:
    """Return the mean weight of `n_samples` chains, 20 by default; unbiased for any number.

    It estimates p of the tokens in order. Standard error and effective sample size are those of the
    mean of independent weights (`log_mean_of`).

    Parameters
    ----------
    n_temperatures : int
        Number of temperatures from 0 to 1, both included. The variance of log-weights is about in
        proportion to 1 / n_temperatures.

    Raises ValueError or TypeError if `n_temperatures` is no integer of at least 2.
    """
    alpha = topics.alpha
    alpha_sum = float(alpha.sum())

    def chains(
        words: NDArray[np.int32],
        n: NDArray[np.int64],
        temperatures: Floats,
        n_chains: int,
        rng: np.random.Generator,
    ) -> tuple[float, Floats]:
        weight = topics.word_topic[words]
        largest = weight.max(axis=1)
        weight /= largest[:, None]
        cumulative = np.cumsum(weight * alpha, axis=1)
        word_of = np.repeat(np.arange(len(words), dtype=np.int32), n)
        document = Document(weight, cumulative, word_of, alpha)
        constant = float(n @ (np.log(largest) + np.log(cumulative[:, -1] / alpha_sum)))
        return constant, log_weights_upwards(document, temperatures, n_chains, rng)

    return score_by_chains(
        documents,
        alpha,
        chains,
        n_samples=n_samples,
        n_temperatures=n_temperatures,
        seed=seed,
        n_jobs=n_jobs,
    )
