"""Annealed importance sampling of the topics of tokens under Poisson MRFs (Neal 2001).

The path of distributions f_t is that of `models.poisson_mrf.assignment_kernel`: at t = 0 tokens are
independent and the sum of f_0 over all topics is Z_0 = ∏_l Σ_k φ[k, j_l] alpha_k; at t = 1 it is
p(document) (Σalpha)_L. Topics are drawn from f_0. For each further temperature t', the weight is
multiplied by f_t'(topics) / f_t(topics) and then the topics are swept at t'. The expected mean
weight times Z_0 / (Σalpha)_L is p(document).

The partition functions are those of the model's table. They are estimates, one for each topic and
length, whose errors are not part of the standard error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evaluation.monte_carlo.annealed_chains import DEFAULT_TEMPERATURES, score_by_chains
from models.kernel import kernel
from models.poisson_mrf.assignment_kernel import (
    FieldArrays,
    document_of,
    field_arrays,
    log_ratio,
    state_of,
    sweep,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evaluation.document_blocks import DocumentBlock
    from evaluation.estimate import LikelihoodEstimate
    from models.poisson_mrf.topics import LPMRFTopics

    Floats = NDArray[np.float64]


def annealed(
    topics: LPMRFTopics,
    documents: DocumentBlock,
    *,
    n_samples: int | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    n_temperatures: int = DEFAULT_TEMPERATURES,
) -> LikelihoodEstimate:
    """Return the mean weight of `n_samples` chains, 20 by default; unbiased for any number.

    It estimates p of the tokens in order, given the model's table of partition functions. Standard
    error and effective sample size are those of the mean of independent weights (`log_mean_of`).

    Parameters
    ----------
    n_temperatures : int
        From 0 to 1, both included. The variance of log-weights falls about as 1 / this.

    Raises ValueError or TypeError if there are fewer than two temperatures.
    """
    longest = int(documents.n_tokens.max(initial=1))
    fields = field_arrays(topics, longest)
    share = topics.alpha / float(topics.alpha.sum())

    def chains(
        words: NDArray[np.int32],
        n: NDArray[np.int64],
        temperatures: Floats,
        n_chains: int,
        rng: np.random.Generator,
    ) -> tuple[float, Floats]:
        constant = float(n @ np.log(fields.word_topic[words] @ share))
        return constant, log_weights(words, n, fields, temperatures, n_chains, rng)

    return score_by_chains(
        documents,
        topics.alpha,
        chains,
        n_samples=n_samples,
        n_temperatures=n_temperatures,
        seed=seed,
        n_jobs=n_jobs,
    )


@kernel
def log_weights(
    words: NDArray[np.int32],
    n: NDArray[np.int64],
    fields: FieldArrays,
    temperatures: Floats,
    n_chains: int,
    rng: np.random.Generator,
) -> Floats:
    """Return the log-weights (n_chains,) of independent chains from t = 0 to t = 1.

    `temperatures` (T,) increase from 0 to 1.
    """
    place_of = np.full(len(fields.word_topic), -1, dtype=np.int32)
    document = document_of(words, n, fields, place_of)
    result = np.zeros(n_chains)
    for chain in range(n_chains):
        state = state_of(document, np.full(len(document.word_of), -1, dtype=np.int32))
        for s in range(len(temperatures) - 1):
            sweep(document, state, temperatures[s], rng)
            result[chain] += log_ratio(document, state, temperatures[s], temperatures[s + 1])
    return result
