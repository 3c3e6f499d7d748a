"""Annealed importance sampling of documents' topics (Neal 2001): likelihoods, and two bounds.

The path is that of `annealing`. Topic models of Poisson MRFs are scored by the same method with as
many chains and temperatures by default, so that the errors from their finite numbers are similar.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evaluation.arrays import Floats, Ints, Ints32, Rng
from evaluation.document_blocks import DocumentBlock
from evaluation.lda.annealing import document_of, log_weights_downwards, log_weights_upwards
from evaluation.monte_carlo.annealed_chains import (
    DEFAULT_CHAINS,
    DEFAULT_TEMPERATURES,
    temperatures_for,
)
from evaluation.monte_carlo.by_document import Score, for_documents, sampled
from evaluation.monte_carlo.log_mean import log_mean_of
from models.checks import check_whole
from models.topics import WeightedTopics

BOUND_CHAINS = 16
BOUND_TEMPERATURES = 500
"""With 16 chains the two bounds on documents of 150 tokens, with 10 or 100 topics and alpha 0.1,
were on average less than 0.1 nats a document apart. Longer documents need more."""


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


@dataclass(frozen=True, eq=False)
class AnnealedBounds:
    """Log-probability of each document between two stochastic bounds, in nats.

    Documents without tokens have bounds 0.
    """

    lower: Floats  # (D,), logarithm of the mean weight of the chains upwards
    lower_standard_error: Floats  # (D,), to first order
    upper: Floats  # (D,), minus the logarithm of the mean of 1 / weight of the chains downwards
    upper_standard_error: Floats
    """(D,), as if chains were independent. All start near one draw from p(z | j), so it is too
    small where chains still depend on it; the spread over documents includes that part."""
    n_tokens: Ints  # (D,)
    n_chains: int
    n_temperatures: int


def annealed_bounds(
    topics: WeightedTopics,
    counts: sparse.csr_array,
    assignments: NDArray[np.integer],
    *,
    n_samples: int = BOUND_CHAINS,
    n_temperatures: int = BOUND_TEMPERATURES,
    seed: int = 0,
    n_jobs: int | None = None,
) -> AnnealedBounds:
    """Return a lower and an upper bound on each log p(document), from exact assignments.

    `counts` (D, V) are canonical, without words that are impossible under the topics. `assignments`
    (n_tokens,) are the topic of each token, in the order of the rows of `counts` and of the words
    in a row. They must be draws from p(z | document), as those of `simulated_documents` are. Others
    cannot be detected, and their result is no bound. There are `n_samples` chains in each direction
    over `n_temperatures` from 0 to 1, both included.

    Raises ValueError if shapes disagree, an assignment is no topic or one that does not have the
    word, or there are no chains or fewer than two temperatures.
    """
    _check(topics, counts, assignments, n_samples, n_temperatures)
    n_docs = counts.shape[0]
    n_tokens = np.asarray(counts.sum(axis=1), dtype=np.int64).ravel()
    start = np.concatenate(([0], np.cumsum(n_tokens)))
    lower, lower_error = np.zeros(n_docs), np.zeros(n_docs)
    upper, upper_error = np.zeros(n_docs), np.zeros(n_docs)

    def work(d: int, words: Ints32, n: Ints, rng: Rng) -> None:
        document, constant = document_of(topics, words, n)
        temperatures = temperatures_for(n_temperatures, len(document.word_of), topics.alpha)
        up = log_mean_of(log_weights_upwards(document, temperatures, n_samples, rng))
        lower[d], lower_error[d] = constant + up.log_mean, up.standard_error
        exact = assignments[start[d] : start[d + 1]].astype(np.int32)
        down = log_mean_of(-log_weights_downwards(document, temperatures, n_samples, exact, rng))
        upper[d], upper_error[d] = constant - down.log_mean, down.standard_error

    for_documents(DocumentBlock(counts), seed, n_jobs, work)
    return AnnealedBounds(
        lower, lower_error, upper, upper_error, n_tokens, n_samples, n_temperatures
    )


def _check(
    topics: WeightedTopics,
    counts: sparse.csr_array,
    assignments: NDArray[np.integer],
    n_samples: int,
    n_temperatures: int,
) -> None:
    if counts.ndim != 2 or counts.shape[1] != topics.n_words:
        raise ValueError(f"counts must be (n_docs, {topics.n_words}), found {counts.shape}")
    check_whole("n_samples", n_samples, 1)
    check_whole("n_temperatures", n_temperatures, 2)
    n_tokens = int(counts.sum())
    if assignments.shape != (n_tokens,) or assignments.dtype.kind not in "iu":
        raise ValueError(
            f"assignments must be integers of shape ({n_tokens},), a topic a token, found "
            f"{assignments.dtype} of shape {assignments.shape}"
        )
    if n_tokens and not 0 <= assignments.min() <= assignments.max() < topics.n_topics:
        raise ValueError(
            f"assignments must be topics from 0 to {topics.n_topics - 1}, found "
            f"{assignments.min()} to {assignments.max()}"
        )
    word_of = np.repeat(counts.indices, counts.data)
    impossible = np.flatnonzero(topics.word_topic[word_of, assignments] == 0)
    if len(impossible):
        at = impossible[0]
        raise ValueError(
            f"assignments: topic {assignments[at]} of token {at} does not have its word "
            f"{word_of[at]}; tokens stand in the order of the rows of counts"
        )
