"""Annealed importance sampling of the topics of tokens under Poisson MRFs (Neal 2001).

The path of distributions f_t is that of `models.poisson_mrf.assignment_kernel`: at t = 0 tokens are
independent and the sum of f_0 over all topics is Z_0 = ∏_l Σ_k φ[k, j_l] alpha_k; at t = 1 it is
p(document) (Σalpha)_L. Topics are drawn from f_0. For each further temperature t', the weight is
multiplied by f_t'(topics) / f_t(topics) and then the topics are swept at t'. The expected mean
weight times Z_0 / (Σalpha)_L is p(document).

The partition functions are those of the model's table. They are estimates, one for each topic and
length, whose errors are not part of the standard error.
"""

from typing import Any

import numpy as np

from evaluation.arrays import Floats, Ints, Ints32, Rng
from evaluation.document_blocks import DocumentBlock
from evaluation.estimate import LikelihoodEstimate
from evaluation.monte_carlo.annealed_chains import (
    DEFAULT_CHAINS,
    DEFAULT_TEMPERATURES,
    temperatures_for,
)
from evaluation.monte_carlo.by_document import Score, sampled
from evaluation.monte_carlo.log_mean import log_mean_of
from models.kernel import kernel
from models.poisson_mrf.assignment_kernel import (
    FieldArrays,
    document_of,
    field_arrays,
    log_ratio,
    state_of,
    sweep,
)
from models.poisson_mrf.topics import LPMRFTopics


def annealed(
    topics: LPMRFTopics,
    documents: DocumentBlock,
    *,
    n_temperatures: int = DEFAULT_TEMPERATURES,
    **settings: Any,
) -> LikelihoodEstimate:
    """Return the mean weight of `n_samples` chains, 20 by default; unbiased for any number.

    It estimates p of the tokens in order, given the model's table of partition functions. Settings
    and errors are those of LDA's `annealed`.
    """
    fields = field_arrays(topics, int(documents.n_tokens.max(initial=1)))
    alpha, alpha_sum = topics.alpha, float(topics.alpha.sum())

    @sampled("annealed-importance-sampling", "unbiased", DEFAULT_CHAINS)
    def by_chains(share: Floats, words: Ints32, n: Ints, n_chains: int, rng: Rng) -> Score:
        n_tokens = int(n.sum())
        temperatures = temperatures_for(n_temperatures, n_tokens, alpha)
        constant = float(n @ np.log(fields.word_topic[words] @ share))
        mean = log_mean_of(log_weights(words, n, fields, temperatures, n_chains, rng))
        constant -= float(np.log1p(np.arange(n_tokens) / alpha_sum).sum())
        return Score(constant + mean.log_mean, *mean[1:])

    return by_chains(alpha / alpha_sum, documents, **settings)


@kernel
def log_weights(
    words: Ints32, n: Ints, fields: FieldArrays, temperatures: Floats, n_chains: int, rng: Rng
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
