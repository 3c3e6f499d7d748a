"""Variational lower bound on log p(document) under fixed topics (Blei, Ng & Jordan 2003)."""

from typing import Any

from evaluation.document_blocks import DocumentBlock
from evaluation.estimate import LikelihoodEstimate
from models.lda.bound import document_bound
from models.topics import WeightedTopics
from models.variational.inference import infer_doc_topic

MAX_ITERATIONS = 1000
TOLERANCE = 1e-6


def variational_bound(
    topics: WeightedTopics, documents: DocumentBlock, *, n_jobs: int | None = None, **_: Any
) -> LikelihoodEstimate:
    """Return the evidence lower bound of each document, E_q[log p(w, z, θ)] - E_q[log q(z, θ)]."""
    counts = documents.counts
    dirichlet = infer_doc_topic(
        counts,
        topics.word_topic,
        topics.alpha,
        max_iterations=MAX_ITERATIONS,
        tolerance=TOLERANCE,
        n_jobs=n_jobs,
    )
    bound = document_bound(counts, topics.word_topic, topics.alpha, dirichlet, n_jobs)
    return LikelihoodEstimate.deterministic(
        bound, documents.n_tokens, "variational-bound", "lower bound"
    )
