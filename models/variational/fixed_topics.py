"""Inference of new documents under topics that no longer change."""

import numpy as np
from scipy import sparse

from models.arrays import Floats
from models.kernel import kernel, read_only
from models.parallel import effective_n_jobs, for_blocks
from models.variational.accelerated import infer_accelerated
from models.variational.fixed_point import infer_document
from models.variational.halved_weights import HalvedWeights
from models.variational.inference import DOCUMENT_BLOCK, Documents, documents_of

FINEST = 1e-5
"""Tolerance down to which float32 suffices; below it, float64 goes on from its result."""


def infer_given_topics(
    counts: sparse.csr_array,
    word_topic_weight: Floats,
    halved: HalvedWeights,
    alpha: Floats,
    *,
    max_iterations: int,
    tolerance: float,
    n_jobs: int | None = None,
) -> Floats:
    """Return the variational Dirichlet parameters γ (D, K) of documents (D, V), for good.

    `halved` is `halved_weights(word_topic_weight)`. A document is done when an iteration changes γ
    by less than `tolerance`, on average over topics, or after `max_iterations`. Its result depends
    on neither the other documents nor the number of threads.
    """
    gamma = np.empty((counts.shape[0], len(alpha)))
    documents, given = documents_of(counts), (read_only(word_topic_weight), read_only(alpha))

    def work(first: int, last: int) -> None:
        _infer(documents, first, last, *given, halved, max_iterations, tolerance, gamma)

    for_blocks(work, counts.shape[0], DOCUMENT_BLOCK, effective_n_jobs(n_jobs))
    return gamma


@kernel
def _infer(
    documents: Documents,
    first: int,
    last: int,
    word_topic_weight: Floats,
    alpha: Floats,
    halved: HalvedWeights,
    max_iterations: int,
    tolerance: float,
    gamma: Floats,
) -> None:
    """Fill the rows `first:last` of `gamma` (D, K)."""
    theta, n_topics = np.empty(alpha.shape[0]), alpha.shape[0]
    for d in range(first, last):
        start, stop = documents.start[d], documents.start[d + 1]
        words, counts = documents.word_of[start:stop], documents.counts[start:stop]
        iterations = infer_accelerated(
            words, counts, halved, alpha, max_iterations, max(tolerance, FINEST), gamma[d]
        )
        if iterations == 0:  # float32 does not suffice: the whole fixed point, from an even start
            for k in range(n_topics):
                gamma[d, k] = alpha[k] + counts.sum() / n_topics
        if iterations == 0 or (tolerance < FINEST and iterations < max_iterations):
            infer_document(
                words,
                counts,
                word_topic_weight,
                alpha,
                max_iterations - iterations,
                tolerance,
                gamma[d],
                theta,
            )
