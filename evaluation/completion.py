"""Document completion: see half of a document's tokens, predict the other half.

The estimate of p(second half | first half) is ∏_i Σ_k θ̂_k φ_k,w_i, where θ̂ is the mean of the
variational posterior of θ given the first half (Wallach, Murray, Salakhutdinov & Mimno 2009, §5.1
call the task document completion; Hoffman et al. 2013 use this estimate). It treats all models
alike and needs only a trainer's E-step, but it is not p(document): it is the probability of half of
each document, with θ̂ in the place of an integral over θ. Families differ in their model of `half`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from evaluation.arrays import Floats, Ints, Rng
from evaluation.document_blocks import DocumentBlock
from evaluation.estimate import LikelihoodEstimate
from models.topics import TopicWords
from models.variational.word_probability import log_word_probability

DEFAULT_SPLITS = 4


def completion(
    topics: Any,
    documents: DocumentBlock,
    *,
    n_samples: int | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    half: Callable[[Any], tuple[TopicWords, Floats]] = lambda topics: (topics, topics.word_topic),
) -> LikelihoodEstimate:
    """Return log p of the second half of each document given the first, mean of random splits.

    Of a document's n tokens ⌊n/2⌋ are seen and the others scored. `n_samples` is the number of
    random splits, 4 by default; the standard error is over them (NaN for one split). `half` returns
    the model of half of a document's tokens, and the probabilities of words in each topic (V, K).
    """
    n_splits = n_samples or DEFAULT_SPLITS
    counts, n_tokens, n_docs = documents.counts, documents.n_tokens, documents.n_documents
    model_of_half, word_topic = half(topics)
    log_likelihood = np.empty((n_splits, n_docs))
    for split in range(n_splits):
        seen, scored = split_tokens(counts, split_rng(seed, split, documents.n_tokens_before))
        proportions = model_of_half.proportions(seen, n_jobs=n_jobs)
        log_likelihood[split] = log_word_probability(scored, proportions, word_topic, n_jobs)
    zeros = np.zeros(n_docs)  # sums are in the order of splits, unlike NumPy's for one document
    with np.errstate(invalid="ignore"):  # of an impossible document: NaN
        mean = sum(log_likelihood, start=zeros) / n_splits
        spread = np.full(n_docs, np.nan)
        if n_splits > 1:
            variance = sum((log_likelihood - mean) ** 2, start=zeros) / (n_splits - 1)
            spread = np.sqrt(variance) / np.sqrt(n_splits)
    spread[n_tokens == 0] = 0.0
    return LikelihoodEstimate(
        log_likelihood=mean,
        standard_error=spread,
        n_tokens=n_tokens - n_tokens // 2,
        method="completion",
        convention="sequence",
        direction="plug-in",
    )


def split_rng(seed: int, split: int, n_tokens_before: int = 0) -> np.random.Generator:
    """Return the generator for `split_tokens`, advanced by one number for each earlier token."""
    bits = np.random.PCG64([seed, split])
    return np.random.Generator(bits.advance(n_tokens_before) if n_tokens_before else bits)


def split_tokens(counts: sparse.csr_array, rng: Rng) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Split `counts` (D, V) into a random ⌊n/2⌋ of each document's n tokens and the rest.

    Every choice of tokens is equally likely.
    """
    n_tokens = np.asarray(counts.sum(axis=1), dtype=np.int64).ravel()
    entry_of = np.repeat(np.arange(counts.nnz), counts.data)
    doc_of = np.repeat(np.arange(counts.shape[0]), n_tokens)
    shuffled = np.lexsort((rng.random(len(entry_of)), doc_of))
    start = np.concatenate(([0], np.cumsum(n_tokens)))
    place = np.arange(len(entry_of)) - start[doc_of]  # lexsort keeps documents in their order
    seen = np.bincount(entry_of[shuffled[place < n_tokens[doc_of] // 2]], minlength=counts.nnz)
    return with_data(counts, seen), with_data(counts, counts.data - seen)


def with_data(counts: sparse.csr_array, data: Ints) -> sparse.csr_array:
    """Return a copy of `counts` (D, V) with `data` (nnz,) in place of its numbers, less zeros."""
    result = sparse.csr_array((data, counts.indices, counts.indptr), shape=counts.shape, copy=True)
    result.eliminate_zeros()
    return result
