"""The published measure of models of Poisson MRFs: documents at their most probable split.

    log ∏_k p(z_k | θ^k, Φ^k, m_k),    Σ_k z_k = x,  m_k = Σ_s z_sk

of the topic matrix Z that `models.map_assignment` finds, a bag of words each (Inouye, Ravikumar &
Dhillon 2015, Sec. 4, by the authors' code). How probable the lengths m are is left out, so that it
is the log-probability of nothing: with two topics or more the sum over all documents of L tokens
is above 1. It serves to compare with what was published.
"""

from typing import Any

import numpy as np

from evaluation.document_blocks import DocumentBlock
from evaluation.estimate import LikelihoodEstimate
from models.poisson_mrf.topic_matrices import map_assignment as best_matrices
from models.poisson_mrf.topic_matrices import single_topic_scores
from models.poisson_mrf.topics import LPMRFClusters, LPMRFTopics


def map_assignment(
    topics: LPMRFTopics | LPMRFClusters,
    documents: DocumentBlock,
    *,
    n_jobs: int | None = None,
    **_: Any,
) -> LikelihoodEstimate:
    """Return the log-probability of documents at their most probable split.

    For a mixture it is the largest log p(x | component) of each document, without the component's
    share. For a topic model it is a local optimum, found by moves of one word's tokens from the
    document whole in its best topic.
    """
    if isinstance(topics, LPMRFClusters):
        log_likelihood = single_topic_scores(topics, documents.counts).max(axis=1)
    else:
        log_likelihood = best_matrices(topics, documents.counts, n_jobs=n_jobs).objective
    n_tokens = documents.n_tokens
    log_likelihood = np.where(n_tokens > 0, log_likelihood, 0.0)
    return LikelihoodEstimate.deterministic(
        log_likelihood, n_tokens, "best-split", "plug-in", "bag"
    )
