"""The likelihood of documents by annealed importance sampling of their topics (Neal 2001).

The chains are those upwards of `annealed_bounds`, the path that of `annealing`. Topic models of
Poisson MRFs are scored by the same method with as many chains and temperatures by default, so that
what it is off by, for want of more of them, is much the same for both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evaluation.lda.annealed_bounds import temperatures_for
from evaluation.lda.annealing import Document, log_weights_upwards
from evaluation.lda.by_document import Score, sample_documents
from evaluation.lda.weights import log_mean_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    from evaluation.estimate import LikelihoodEstimate
    from evaluation.lda.weighted_topics import WeightedTopics

DEFAULT_CHAINS = 20
DEFAULT_TEMPERATURES = 200
"""As of `evaluation.poisson_mrf.annealed`."""


def annealed(
    topics: WeightedTopics,
    counts: sparse.csr_array,
    *,
    n_samples: int | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    n_temperatures: int = DEFAULT_TEMPERATURES,
) -> LikelihoodEstimate:
    """The mean weight of `n_samples` chains, 20 by default; unbiased for p with any number.

    p is that of the tokens in order. Standard error and effective sample size are those of the
    mean of independent weights (`log_mean_of`).

    Parameters
    ----------
    n_temperatures : int
        From 0 to 1, both included. The variance of log-weights falls about as 1 / this.

    Raises
    ------
    ValueError, TypeError
        If there are fewer than two temperatures.
    """
    if isinstance(n_temperatures, bool) or not isinstance(n_temperatures, (int, np.integer)):
        raise TypeError(f"n_temperatures must be an integer, found {n_temperatures!r}")
    if n_temperatures < 2:
        raise ValueError(f"n_temperatures must be at least 2, found {n_temperatures}")
    n_chains = n_samples or DEFAULT_CHAINS
    alpha = topics.alpha
    alpha_sum = float(alpha.sum())

    def sampler(words: NDArray[np.int32], n: NDArray[np.int64], rng: np.random.Generator) -> Score:
        weight = topics.word_topic[words]
        largest = weight.max(axis=1)
        weight /= largest[:, None]
        cumulative = np.cumsum(weight * alpha, axis=1)
        word_of = np.repeat(np.arange(len(words), dtype=np.int32), n)
        document = Document(weight, cumulative, word_of, alpha)
        temperatures = temperatures_for(n_temperatures, len(word_of), alpha)
        mean = log_mean_of(log_weights_upwards(document, temperatures, n_chains, rng))
        # log Z_0, and what the weights leave out.
        constant = float(n @ (np.log(largest) + np.log(cumulative[:, -1] / alpha_sum)))
        constant -= float(np.log1p(np.arange(len(word_of)) / alpha_sum).sum())
        return Score(constant + mean.log_mean, mean.standard_error, mean.effective_sample_size)

    return sample_documents(
        counts,
        sampler,
        method="annealed-importance-sampling",
        direction="unbiased",
        n_samples=n_chains,
        seed=seed,
        n_jobs=n_jobs,
    )
