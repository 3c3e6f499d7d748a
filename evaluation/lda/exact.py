"""Exact log-probability of documents under fixed topics, by the filter over topic counts.

It is the reference for all estimators where it is affordable: few topics with documents of a
hundred tokens, or ten topics with short ones. Other cases are refused before any computation.
"""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import betaln

from evaluation.arrays import Floats, Ints, Ints32
from evaluation.document_blocks import DocumentBlock
from evaluation.estimate import LikelihoodEstimate
from evaluation.exact_cost import MAX_MEMORY, Costs, check_costs, readable_bytes
from evaluation.lda.count_filter import SMALLEST, filter_counts
from evaluation.monte_carlo.by_document import for_documents
from models.checks import check_whole
from models.parallel import effective_n_jobs
from models.topics import WeightedTopics

SECONDS_AN_UPDATE, SECONDS_A_STATE = 1e-9, 10e-9
"""Seconds for each topic, measured, within a factor of about 3; they only serve to refuse."""
TOLERANCE = 1e-13  # maximal share of a probability that may be lost to underflow


def exact(
    topics: WeightedTopics,
    documents: DocumentBlock,
    *,
    n_jobs: int | None = None,
    max_memory: int = MAX_MEMORY,
    **_: Any,
) -> LikelihoodEstimate:
    """Return log p of each document's tokens in order, θ integrated out, without sampling.

    A document of L tokens, with K topics that have any of its words, takes 8 binom(L+K-1, K-1)
    bytes and time in proportion to K binom(L+K, K). Documents that are computed at the same time
    take at most `max_memory` bytes; those too large for one on each thread are computed one after
    the other. Raises ExactCostError if one document needs more, or an estimated time above an hour.
    """
    cost = checked_costs(topics, documents, max_memory)
    log_likelihood = np.zeros(documents.n_documents)
    is_large = cost.n_bytes > max_memory / effective_n_jobs(n_jobs)

    def compute(large: bool, n_jobs: int | None) -> None:
        def work(d: int, words: Ints32, n: Ints, _: Any) -> None:
            if is_large[d] == large:
                log_likelihood[d] = _log_probability(topics, words, n)

        for_documents(documents, 0, n_jobs, work)

    compute(False, n_jobs)
    if is_large.any():
        compute(True, 1)
    return LikelihoodEstimate.deterministic(log_likelihood, cost.n_tokens, "exact", "exact")


def _log_probability(topics: WeightedTopics, words: Ints32, n: Ints) -> float:
    """Return log p of one document with `n` (U,) tokens of each of the `words` (U,)."""
    if topics.n_topics == 1:  # any number of tokens
        return float(n @ np.log(topics.word_topic[words, 0]))
    # All orders are equally probable. With each word spread evenly over the document, counts that
    # matter at the end are not improbable before.
    position = np.arange(n.sum()) * ((np.sqrt(5) - 1) / 2) % 1
    word_of = np.repeat(np.arange(len(n)), n)[np.argsort(position, kind="stable")]
    return log_probability_in_order(topics, words, word_of)


def log_probability_in_order(topics: WeightedTopics, words: Ints32, word_of: Ints) -> float:
    """Return log p of a document with the tokens words[word_of] (L,), taken in this order."""
    word_topic = topics.word_topic[words]
    is_used = word_topic.max(axis=0) > 0
    word_topic, alpha = np.ascontiguousarray(word_topic[:, is_used]), topics.alpha[is_used]
    alpha_sum = topics.alpha.sum()
    largest = word_topic.max(axis=1)
    in_largest = np.log(largest)[word_of]
    if len(alpha) == 1:
        n_before = np.arange(len(word_of))
        only: Floats = in_largest + np.log((n_before + alpha[0]) / (n_before + alpha_sum))
        return float(only.sum())
    word_topic /= largest[:, None]
    result: Floats = np.empty(len(word_of))
    filter_counts(word_of, word_topic, alpha, alpha_sum, False, result)
    if not _nothing_is_lost(word_topic[word_of], result):
        with np.errstate(divide="ignore"):
            filter_counts(word_of, np.log(word_topic), alpha, alpha_sum, True, result)
    return float((result + in_largest).sum())


def _nothing_is_lost(token_topic: Floats, log_conditional: Floats) -> bool:
    """Whether the numbers that the filter set to 0 are provably less than TOLERANCE of the sum.

    With P_l = log p(j_<l), a token loses less than SMALLEST exp(P_l) at each of S counts, and later
    tokens have at most the probability exp(B_{l+1}). So it holds if, for all l,
    L S SMALLEST exp(P_l + B_{l+1} - P_L) <= TOLERANCE. B = 0 is a valid bound for each P_l.
    """
    n_tokens, n_topics = token_topic.shape
    log_states = -np.log(n_tokens + n_topics) - betaln(n_tokens + 1, n_topics)
    least = np.log(SMALLEST) + log_states + np.log(n_tokens) - np.log(TOLERANCE)
    log_p = np.concatenate(([0.0], np.cumsum(log_conditional)))
    if log_p[-1] >= least:
        return True
    if not np.isfinite(log_p[-1]):
        return False
    return bool((log_p[:-1] + _future_bound(token_topic)[1:] + least <= log_p[-1]).all())


def _future_bound(token_topic: Floats) -> Floats:
    """Return an upper bound (L + 1,) of max_θ log ∏_{m >= l} Σ_k θ_k φ_k,j_m, for each l.

    `token_topic` (L, K) is φ_k,j_l, at most 1. Let φ_m = Σ_k q_k φ_k,j_m for any q that sums to 1;
    then for n tokens, as the logarithm is concave (Jensen's inequality),

        Σ_m log Σ_k θ_k φ_k,j_m <= Σ_m log φ_m + n log max_k (1/n) Σ_m φ_k,j_m / φ_m

    The best q for all tokens is near the best for the last n where words are spread evenly.
    """
    n_tokens, n_topics = token_topic.shape
    q = np.full(n_topics, 1 / n_topics)
    for _ in range(50):  # expectation-maximisation
        q *= (token_topic / (token_topic @ q)[:, None]).mean(axis=0)
    mixed = token_topic @ q
    n_after = np.arange(n_tokens, 0, -1)
    ratio = (token_topic / mixed[:, None])[::-1].cumsum(axis=0)[::-1] / n_after[:, None]
    bound = np.log(mixed)[::-1].cumsum()[::-1] + n_after * np.log(ratio.max(axis=1))
    return np.append(np.minimum(bound, 0.0), 0.0)


def checked_costs(
    topics: WeightedTopics,
    documents: DocumentBlock,
    max_memory: int,
    n_jobs: int | None = None,  # noqa: ARG001 - part of the protocol of `Method.check_cost`
) -> Costs:
    """Return the costs of `exact`; raise its ExactCostError."""
    check_whole("max_memory", max_memory, 1)
    cost = _costs(documents.n_tokens, _topics_of(topics, documents.counts), topics.n_topics)
    instead = "use a left-to-right method, which samples"
    too_large = f"max_memory is {readable_bytes(max_memory)}: {instead}"
    too_large += ", or give a higher max_memory"
    check_costs(cost, max_memory, too_large, instead, documents.first_document)
    return cost


def _topics_of(topics: WeightedTopics, counts: sparse.csr_array) -> Ints:
    """Return the numbers (D,) of topics that have any of a document's words."""
    n_docs = counts.shape[0]
    if (topics.topic_word > 0).all():
        return np.full(n_docs, topics.n_topics)
    is_possible = topics.word_topic > 0
    rows = (counts.indices[a:b] for a, b in zip(counts.indptr, counts.indptr[1:], strict=False))
    return np.array([is_possible[words].any(axis=0).sum() for words in rows], dtype=np.int64)


def _costs(n_tokens: Ints, n_topics: Ints, all_topics: int) -> Costs:
    """Estimate the costs of each document; 0 under one topic."""
    L, K = n_tokens.astype(np.float64), np.maximum(n_topics, 1).astype(np.float64)
    with np.errstate(over="ignore"):
        # binom(n, k) = 1 / ((n + 1) B(n - k + 1, k + 1))
        log_states = -np.log(L + K) - betaln(L + 1, K)  # binom(L + K - 1, K - 1)
        states = np.exp(log_states)
        updates = np.exp(log_states + np.log((L + K) / K))  # binom(L + K, K)
        n_bytes = 8 * (states + (6 * K + 10) * (L + 2))
        seconds = K * (SECONDS_AN_UPDATE * updates + SECONDS_A_STATE * states)
    is_free = (n_tokens == 0) | (all_topics == 1)
    return Costs(
        n_tokens, n_topics, np.where(is_free, 0.0, n_bytes), np.where(is_free, 0.0, seconds)
    )
