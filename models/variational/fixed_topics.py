"""Inference of new documents under topics that no longer change."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from models.arrays import Floats
from models.kernel import kernel, read_only
from models.parallel import effective_n_jobs, for_blocks
from models.variational.accelerated import infer_accelerated
from models.variational.digamma import exp_digamma
from models.variational.halved_weights import HalvedWeights
from models.variational.inference import (
    DOCUMENT_BLOCK,
    Documents,
    documents_of,
    infer_documents,
    starting_dirichlet,
)

FINEST = 1e-5
"""Tolerance down to which float32 suffices; below it, float64 goes on from its result."""


def infer_given_topics(
    counts: sparse.csr_array,
    word_topic_weight: Floats,
    halved: HalvedWeights,
    alpha: Floats,
    max_iterations: int,
    tolerance: float,
    *,
    n_jobs: int | None = None,
) -> Floats:
    """Return the variational Dirichlet parameters γ (D, K) of documents (D, V), for good.

    `halved` is `halved_weights(word_topic_weight)`. A document is done when an iteration changes γ
    by less than `tolerance`, on average over topics, or after `max_iterations`. Its result depends
    on neither the other documents nor the number of threads.
    """
    gamma, iterations = np.empty((counts.shape[0], len(alpha))), np.zeros(counts.shape[0], np.int64)
    documents, alpha = documents_of(counts), read_only(alpha)

    def work(first: int, last: int) -> None:
        infer_in_float32(
            documents,
            first,
            last,
            alpha,
            halved,
            max_iterations,
            max(tolerance, FINEST),
            gamma,
            iterations,
        )
        left = iterations[first:last] == 0
        if tolerance < FINEST:
            left |= iterations[first:last] < max_iterations
        for d in (first + np.flatnonzero(left)).tolist():
            if iterations[d] == 0:  # float32 does not suffice
                gamma[d] = starting_dirichlet(counts[d : d + 1], alpha)[0]
            given, n_left = read_only(word_topic_weight), max_iterations - int(iterations[d])
            room = np.empty((1, len(alpha))), np.empty(0)
            infer_documents(documents, d, d + 1, given, alpha, n_left, tolerance, gamma, *room)

    for_blocks(work, counts.shape[0], DOCUMENT_BLOCK, effective_n_jobs(n_jobs))
    return gamma


@kernel
def infer_in_float32(
    documents: Documents,
    first: int,
    last: int,
    alpha: Floats,
    halved: HalvedWeights,
    max_iterations: int,
    tolerance: float,
    gamma: Floats,
    iterations: NDArray[np.int64],
) -> None:
    """Fill the rows `first:last` of `gamma` (D, K), and of `iterations` (D,).
    The latter are 0 where float32 does not suffice.
    """
    faint = np.empty(alpha.shape[0])
    exp_digamma(alpha, faint)
    for d in range(first, last):
        start, stop = documents.start[d], documents.start[d + 1]
        words, counts = documents.word_of[start:stop], documents.counts[start:stop]
        iterations[d] = infer_accelerated(
            words, counts, halved, alpha, faint, max_iterations, tolerance, gamma[d]
        )
