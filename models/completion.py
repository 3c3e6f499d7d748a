"""Document completion: see half of a document's tokens, predict the other half.

The estimate of p(second half | first half) is ∏_i Σ_k θ̂_k φ_k,w_i, where θ̂ is the mean of the
variational posterior of θ given the first half (Wallach, Murray, Salakhutdinov & Mimno 2009, §5.1
call the task document completion; Hoffman et al. 2013 use this estimate). It treats all models
alike and needs only a trainer's E-step, but it is not p(document): it is the probability of half of
each document, with θ̂ in the place of an integral over θ.
"""

import numpy as np
from scipy import sparse

from models.arrays import Floats, Ints
from models.counts import checked_counts
from models.topics import TopicWords
from models.variational.word_probability import log_word_probability

DEFAULT_SPLITS = 4
SHARE_OF_UNSEEN = 1e-6
"""Smoothing of topics by `score_per_word` where a document has a word that no topic has."""


def log_completions(
    topics: TopicWords,
    counts: sparse.csr_array,
    n_splits: int,
    seed: int = 0,
    n_tokens_before: int = 0,
    n_jobs: int | None = None,
) -> Floats:
    """Return log p (n_splits, D) of the second half of each document given the first.

    `counts` (D, V) are from `checked_counts`. Of a document's n tokens ⌊n/2⌋ are seen and the
    others scored. Raises TypeError if the family has no model of half of a document.
    """
    half = topics.half
    if half is None:
        raise TypeError(f"{type(topics).__name__} is no model of half of a document")
    model_of_half, word_topic = half
    result = np.empty((n_splits, counts.shape[0]))
    for split in range(n_splits):
        seen, scored = split_tokens(counts, split_rng(seed, split, n_tokens_before))
        proportions = model_of_half.proportions(seen, n_jobs=n_jobs)
        result[split] = log_word_probability(scored, proportions, word_topic, n_jobs)
    return result


def score_per_word(
    topics: TopicWords, counts: sparse.csr_array, n_jobs: int | None = None
) -> float:
    """Return log p of a scored token of documents (D, V), in nats; higher is better.

    The splits are always the same: it is the mean of 4, by seed 0. A word that no topic has gets a
    millionth of the even distribution, so that the score is finite and comparisons of numbers of
    topics are as without the word. Raises ValueError if `counts` has no tokens or a value that is
    no whole number, TypeError as `log_completions`.
    """
    counts = checked_counts(counts, topics.n_words)
    n_tokens = np.asarray(counts.sum(axis=1), dtype=np.int64).ravel()
    n_scored = int((n_tokens - n_tokens // 2).sum())
    if not n_scored:
        raise ValueError("no document has a token: there is nothing to score")
    if (topics.topic_word.max(axis=0)[counts.indices] == 0).any():
        topics = topics.smoothed(SHARE_OF_UNSEEN)
    completions = log_completions(topics, counts, DEFAULT_SPLITS, n_jobs=n_jobs)
    return float(mean_of_splits(completions).sum() / n_scored)


def mean_of_splits(values: Floats) -> Floats:
    """Return the mean (D,) of splits (n_splits, D), summed in the order of splits.

    NumPy's order differs for one document.
    """
    total: Floats = sum(values, start=np.zeros(values.shape[1]))
    return total / len(values)


def split_rng(seed: int, split: int, n_tokens_before: int = 0) -> np.random.Generator:
    """Return the generator for `split_tokens`, advanced by one number for each earlier token."""
    bits = np.random.PCG64([seed, split])
    return np.random.Generator(bits.advance(n_tokens_before) if n_tokens_before else bits)


def split_tokens(
    counts: sparse.csr_array, rng: np.random.Generator
) -> tuple[sparse.csr_array, sparse.csr_array]:
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
