"""Estimate by document completion: half of a document's tokens, given the other half.

`models.completion` defines and computes it; here are means over splits and their errors.
"""

import numpy as np

from evaluation.document_blocks import DocumentBlock
from evaluation.estimate import LikelihoodEstimate
from models.completion import DEFAULT_SPLITS, log_completions, mean_of_splits
from models.topics import TopicWords


def completion(
    topics: TopicWords,
    documents: DocumentBlock,
    *,
    n_samples: int | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
) -> LikelihoodEstimate:
    """Return log p of the second half of each document given the first, mean of random splits.

    Of a document's n tokens ⌊n/2⌋ are seen and the others scored. `n_samples` is the number of
    random splits, 4 by default; the standard error is over them (NaN for one split).
    """
    n_splits = n_samples or DEFAULT_SPLITS
    n_tokens, n_before = documents.n_tokens, documents.n_tokens_before
    values = log_completions(topics, documents.counts, n_splits, seed, n_before, n_jobs)
    with np.errstate(invalid="ignore"):  # of an impossible document: NaN
        mean = mean_of_splits(values)
        spread = np.full(documents.n_documents, np.nan)
        if n_splits > 1:
            squares = sum((values - mean) ** 2, start=np.zeros(documents.n_documents))
            spread = np.sqrt(squares / (n_splits - 1)) / np.sqrt(n_splits)
    spread[n_tokens == 0] = 0.0
    return LikelihoodEstimate(
        log_likelihood=mean,
        standard_error=spread,
        n_tokens=n_tokens - n_tokens // 2,
        method="completion",
        convention="sequence",
        direction="plug-in",
    )
