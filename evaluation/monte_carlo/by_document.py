"""Estimates document by document on threads, each with its own random numbers."""

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

import numpy as np

from evaluation.arrays import Ints, Ints32, Rng
from evaluation.document_blocks import DocumentBlock
from evaluation.estimate import Direction, LikelihoodEstimate
from models.parallel import effective_n_jobs, for_blocks

Estimator = Callable[..., LikelihoodEstimate]
Work = Callable[[int, Ints32, Ints, Rng], object]

DOCUMENT_BLOCK = 4  # documents in a task: few, as sampling one takes milliseconds


def for_documents(documents: DocumentBlock, seed: int, n_jobs: int | None, work: Work) -> None:
    """Call `work(d, words, n, rng)` for each document d that has a token.

    `words` (U,) are the document's different words and `n` (U,) their counts, none 0. `rng` depends
    only on `seed` and the document's number among all documents, so that neither threads nor other
    documents change any draw. `work` must write only to data of its document.
    """
    counts, first_document = documents.counts, documents.first_document

    def block(first: int, last: int) -> None:
        for d in range(first, last):
            entries = slice(counts.indptr[d], counts.indptr[d + 1])
            words, n = counts.indices[entries], counts.data[entries]
            if len(n):
                rng = np.random.default_rng([seed, first_document + d])
                work(d, words.astype(np.int32), n.astype(np.int64), rng)

    for_blocks(block, counts.shape[0], DOCUMENT_BLOCK, effective_n_jobs(n_jobs))


class Score(NamedTuple):
    """Score of one document."""

    log_likelihood: float
    standard_error: float
    effective_sample_size: float = float("nan")


def sampled(
    method: str, direction: Direction, default_samples: int
) -> Callable[[Callable[..., Score]], Estimator]:
    """Make an estimator of documents from a function that scores one document.

    The function takes topics, the document's words (U,) and their counts (U,), a number of samples,
    a generator and settings by name. The estimator takes topics, a `DocumentBlock`, and by name
    `n_samples`, `seed`, `n_jobs` and these settings. Documents without tokens have log-likelihood
    0, and no samples.
    """

    def estimator_of(score: Callable[..., Score]) -> Estimator:
        @wraps(score)
        def estimator(
            topics: Any,
            documents: DocumentBlock,
            *,
            n_samples: int | None = None,
            seed: int = 0,
            n_jobs: int | None = None,
            **settings: Any,
        ) -> LikelihoodEstimate:
            size = n_samples or default_samples
            n_tokens = documents.n_tokens
            scores = np.zeros((len(n_tokens), 3))
            scores[:, 2] = np.nan

            def work(d: int, words: Ints32, n: Ints, rng: Rng) -> None:
                scores[d] = score(topics, words, n, size, rng, **settings)

            for_documents(documents, seed, n_jobs, work)
            return LikelihoodEstimate(
                log_likelihood=scores[:, 0],
                standard_error=scores[:, 1],
                n_tokens=n_tokens,
                method=method,
                convention="sequence",
                direction=direction,
                effective_sample_size=scores[:, 2],
                n_samples=np.where(n_tokens > 0, size, 0),
            )

        return estimator

    return estimator_of
