"""Estimates document by document on threads, each with its own random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evaluation.estimate import LikelihoodEstimate
from models.parallel import effective_n_jobs, for_blocks

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evaluation.document_blocks import DocumentBlock
    from evaluation.estimate import Direction

    Work = Callable[[int, NDArray[np.int32], NDArray[np.int64], np.random.Generator], object]

    Sampler = Callable[[NDArray[np.int32], NDArray[np.int64], np.random.Generator], "Score"]

DOCUMENT_BLOCK = 4
"""Documents in a task: few, as sampling one takes milliseconds."""


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


def sample_documents(
    documents: DocumentBlock,
    sampler: Sampler,
    *,
    method: str,
    direction: Direction,
    n_samples: int,
    seed: int,
    n_jobs: int | None,
) -> LikelihoodEstimate:
    """Return the estimate by `sampler(words, n, rng)` of each document, as in `for_documents`.

    Documents without tokens have log-likelihood 0, and no samples.
    """
    n_tokens = documents.n_tokens
    scores = np.zeros((len(n_tokens), 3))
    scores[:, 2] = np.nan

    def work(
        d: int, words: NDArray[np.int32], n: NDArray[np.int64], rng: np.random.Generator
    ) -> None:
        scores[d] = sampler(words, n, rng)

    for_documents(documents, seed, n_jobs, work)
    return LikelihoodEstimate(
        log_likelihood=scores[:, 0],
        standard_error=scores[:, 1],
        n_tokens=n_tokens,
        method=method,
        convention="sequence",
        direction=direction,
        effective_sample_size=scores[:, 2],
        n_samples=np.where(n_tokens > 0, n_samples, 0),
    )
