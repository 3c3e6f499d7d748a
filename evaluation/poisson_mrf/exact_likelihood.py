"""Exact log-probability of documents under Poisson MRFs: a sum over topic matrices, or components.

Tokens of one word are exchangeable, so the sum is over topic matrices Z (U, K), the number of the
x_s tokens of each word s in each topic, not over the topic of each token. Divided by the number of
arrangements of the document (see `models.poisson_mrf.assignment_kernel`),

    p(j | L) = Σ_Z ∏_s x_s! ∏_k φ[k, s]^z_sk / z_sk! · ∏_k (alpha_k)_{m_k} / (Σalpha)_L
               · exp Σ_k [ω_k(m_k) z_k·Φ^k z_k - Ã^k_{m_k}]

A word is *tied* if it has an edge to another word of the document in some topic. Untied words count
by their topics' totals c only: their part of the sum is the coefficients of ∏_l Σ_k φ[k, j_l] y_k,
one for each c (K,). The rows of tied words are enumerated, and each of these matrices is combined
with all c.

Under a mixture the sum is over its components, with weights π (Inouye et al. 2015, eq. 1, Sec. 3):

    p(j | L) = Σ_k π_k exp(θ^k·x + ω_k(L) x·Φ^k x - Ã^k_L)

Both are of tokens in order: the bag probability of x over L! / ∏ x_s!, with the model's table Ã_L =
A_L + log L!. They are exact given this table, an estimate itself.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import betaln, comb, gammaln, logsumexp

from evaluation.arrays import Bools, Floats, Ints, Ints32
from evaluation.document_blocks import DocumentBlock
from evaluation.estimate import LikelihoodEstimate
from evaluation.exact_cost import MAX_MEMORY, Costs, check_costs
from evaluation.monte_carlo.by_document import for_documents
from models.checks import check_whole
from models.kernel import kernel
from models.parallel import effective_n_jobs
from models.poisson_mrf.topics import LPMRFClusters, LPMRFTopics

SECONDS_A_TERM = 10e-9
"""Estimated time for a topic, matrix of the tied words and totals c; used for refusals only."""


def exact(
    topics: LPMRFTopics,
    documents: DocumentBlock,
    *,
    n_jobs: int | None = None,
    max_memory: int = MAX_MEMORY,
    **_: Any,
) -> LikelihoodEstimate:
    """Return the log-probability of each document's tokens in order, under a topic model.

    For K topics and a document with l tokens of untied words, time is in proportion to
    ∏_s binom(x_s+K-1, K-1) over the tied words, times K binom(l+K-1, K-1); memory is 24 (K + 2)
    bytes times the last binomial coefficient. Raises ExactCostError if documents that are computed
    at the same time need more than `max_memory` bytes, or one an estimated time above an hour.
    """
    edges = check_affordable(topics, documents, max_memory, n_jobs)
    n_tokens = documents.n_tokens
    log_partition = topics.log_partition_to(int(n_tokens.max(initial=1)))
    log_likelihood = np.zeros(len(n_tokens))

    def work(d: int, words: Ints32, n: Ints, _: Any) -> None:
        tied = _is_tied(edges, words)
        log_likelihood[d] = _log_probability(topics, log_partition, words, n, tied)

    for_documents(documents, 0, n_jobs, work)
    return LikelihoodEstimate.deterministic(log_likelihood, n_tokens, "exact", "exact")


def mixture_exact(topics: LPMRFClusters, documents: DocumentBlock, **_: Any) -> LikelihoodEstimate:
    """Return the log-probability of each document's tokens in order; settings change nothing."""
    n_tokens = documents.n_tokens
    log_p = np.where(n_tokens > 0, logsumexp(topics.log_joint(documents.counts), axis=1), 0.0)
    return LikelihoodEstimate.deterministic(log_p, n_tokens, "exact", "exact")


def check_affordable(
    topics: LPMRFTopics, documents: DocumentBlock, max_memory: int, n_jobs: int | None
) -> sparse.csr_array:
    """Raise the ExactCostError that `exact` would; else return the edges (V, V) of any topic."""
    check_whole("max_memory", max_memory, 1)
    rows, columns = topics.edge_words.T
    both = (np.concatenate([rows, columns]), np.concatenate([columns, rows]))
    shape = (topics.n_words, topics.n_words)
    edges = sparse.csr_array((np.ones(len(both[0])), both), shape=shape)
    memory = max_memory // effective_n_jobs(n_jobs)
    K, counts = topics.n_topics, documents.counts
    n_bytes, seconds = np.zeros(counts.shape[0]), np.zeros(counts.shape[0])
    for d in range(counts.shape[0]):
        entries = slice(counts.indptr[d], counts.indptr[d + 1])
        n, tied = counts.data[entries], _is_tied(edges, counts.indices[entries])
        n_untied = int(n[~tied].sum())
        log_matrices = sum(_log_n_shares(m, K) for m in n[tied])
        with np.errstate(over="ignore"):
            matrices, totals = np.exp(log_matrices), np.exp(_log_n_shares(n_untied, K))
            n_bytes[d] = 24 * (K + 2) * totals + 8 * K * tied.sum() ** 2
            seconds[d] = K * SECONDS_A_TERM * matrices * (totals + n_untied + 1)
            seconds[d] += 10 * K * SECONDS_A_TERM * totals * n_untied  # the totals' own weights
    instead = "use annealed-importance-sampling"
    too_large = f"{memory} is what max_memory gives a thread, in bytes: {instead}"
    costs = Costs(documents.n_tokens, np.full(len(seconds), K), n_bytes, seconds)
    check_costs(costs, memory, too_large, instead, documents.first_document)
    return edges


def _is_tied(edges: sparse.csr_array, words: Ints32) -> Bools:
    """Return whether each word (U,) has an edge to another of `words`."""
    if not len(words):
        return np.zeros(0, dtype=bool)
    return np.asarray(edges[words][:, words].sum(axis=1)).ravel() > 0


def _log_n_shares(n: Any, n_topics: int) -> float:
    """Return log binom(n + K - 1, K - 1): the number of ways to divide n among K topics."""
    return float(-np.log(n + n_topics) - betaln(n + 1.0, n_topics))


class Shares(NamedTuple):
    """Ways to divide tokens among K topics, with their log-weights."""

    n: Ints  # (S, K)
    log_weight: Floats  # (S,)


def _shares_of_one(n: int, log_topic: Floats) -> Shares:
    """Divide n tokens of one word, with weights n! / ∏ z_k! · ∏ φ_k^z_k; `log_topic` is (K,)."""
    ways = np.zeros((1, 0), dtype=np.int64)
    left = np.array([n])
    for _ in range(len(log_topic) - 1):
        repeat = left + 1
        first = np.repeat(np.cumsum(repeat) - repeat, repeat)
        of_next = np.arange(repeat.sum()) - first
        ways = np.column_stack([np.repeat(ways, repeat, axis=0), of_next])
        left = np.repeat(left, repeat) - of_next
    ways = np.column_stack([ways, left])
    return Shares(ways, gammaln(n + 1.0) - gammaln(ways + 1.0).sum(axis=1) + ways @ log_topic)


def _shares_of_all(log_topic: Floats) -> Shares:
    """Divide L tokens, by totals: coefficients of ∏_l Σ_k φ_k,l y_k; `log_topic` is (L, K)."""
    n_tokens, n_topics = log_topic.shape
    choose = comb(np.arange(n_tokens + n_topics)[:, None], np.arange(n_topics))
    choose = np.minimum(choose, 2.0**62).astype(np.int64)  # those that are used are smaller

    def place(n: Ints) -> Ints:
        """Return colexicographic ranks (S,) of rows with one sum (stars and bars)."""
        bars = np.cumsum(n[:, :-1], axis=1) + np.arange(n_topics - 1)
        numbers: Ints = choose[bars, np.arange(1, n_topics)].sum(axis=1, dtype=np.int64)
        return numbers

    n, log_weight = np.zeros((1, n_topics), dtype=np.int64), np.zeros(1)
    for token in range(n_tokens):
        size = choose[token + n_topics, n_topics - 1]
        next_n = np.empty((size, n_topics), dtype=np.int64)
        next_weight = np.full(size, -np.inf)
        for k in range(n_topics):
            raised = n.copy()
            raised[:, k] += 1
            at = place(raised)
            next_n[at] = raised
            next_weight[at] = np.logaddexp(next_weight[at], log_weight + log_topic[token, k])
        n, log_weight = next_n, next_weight
    return Shares(n, log_weight)


def _log_probability(
    topics: LPMRFTopics, log_partition: Floats, words: Ints32, n: Ints, tied: Bools
) -> float:
    """Return log p of one document with `n` (U,) tokens of each of `words` (U,); `tied` is (U,)."""
    K, length = topics.n_topics, int(n.sum())
    log_topic = np.log(topics.topic_word[:, words].T)
    untied = _shares_of_all(np.repeat(log_topic[~tied], n[~tied], axis=0))
    rows = [_shares_of_one(int(m), row) for m, row in zip(n[tied], log_topic[tied], strict=True)]
    start = np.cumsum([0] + [len(row.n) for row in rows])
    of_rows = Shares(
        np.concatenate([np.zeros((0, K), dtype=np.int64)] + [row.n for row in rows]),
        np.concatenate([np.zeros(0)] + [row.log_weight for row in rows]),
    )
    phi = np.zeros((K, len(rows), len(rows)))
    for k in range(K):
        phi[k] = topics.fields[k].interactions[words[tied]][:, words[tied]].toarray()
    lengths = np.arange(length + 1)
    # log (alpha_k)_m / (Σalpha)^m - Ã_m; the rest of (Σalpha)_L is subtracted at the end.
    alpha, alpha_sum = topics.alpha[:, None], topics.alpha.sum()
    of_length = np.zeros((K, length + 1))
    of_length[:, 1:] = np.cumsum(np.log((alpha + lengths[:-1]) / alpha_sum), axis=1)
    of_length -= log_partition[:, : length + 1]
    weight = 1.0 / (1.0 + (lengths / topics.half_length[:, None]) ** 2)
    found = log_sum_of_matrices(start, of_rows, untied, phi, of_length, weight)
    return float(found - np.log1p(lengths[:-1] / alpha_sum).sum())


@kernel
def log_sum_of_matrices(
    start: Ints, rows: Shares, untied: Shares, phi: Floats, of_length: Floats, weight: Floats
) -> float:
    """Return the log of the sum over all ways to divide each of T rows, and over `untied`.

    Ways of row r are start[r] to start[r + 1] of `rows`; `phi` is (K, T, T), `of_length` and
    `weight`, ω, are (K, L + 1). A term is the product of the weights of the ways, and of
    exp(of_length_k(m_k) + ω_k(m_k) Q_k) over topics.
    """
    n_rows, n_topics = len(start) - 1, len(phi)
    way = np.empty(n_rows, dtype=np.int64)
    n = np.zeros((n_rows + 1, n_topics), dtype=np.int64)
    pairs = np.zeros((n_rows + 1, n_topics))
    log_weight = np.zeros(n_rows + 1)
    gain = np.empty((n_topics, of_length.shape[1]))
    term = np.empty(len(untied.log_weight))
    largest, total = -np.inf, 0.0
    depth = 0
    if n_rows > 0:
        way[0] = start[0] - 1
    while depth >= 0:
        if depth < n_rows:
            way[depth] += 1
            if way[depth] == start[depth + 1]:
                depth -= 1
                continue
            _take_row(depth, way, rows, phi, n, pairs)
            log_weight[depth + 1] = log_weight[depth] + rows.log_weight[way[depth]]
            depth += 1
            if depth < n_rows:
                way[depth] = start[depth] - 1
            continue
        _fill_terms(n[depth], pairs[depth], untied, of_length, weight, gain, term)
        term += log_weight[depth]
        highest = term.max()
        if highest > largest:
            total *= np.exp(largest - highest)
            largest = highest
        total += np.exp(term - largest).sum()
        depth -= 1
    return float(largest + np.log(total))


@kernel
def _take_row(r: int, way: Ints, rows: Shares, phi: Floats, n: Ints, pairs: Floats) -> None:
    """Set totals and Q of topics, n[r + 1] and pairs[r + 1], for the current way of row r."""
    for k in range(len(phi)):
        chosen, inner = rows.n[way[r], k], 0.0
        for before in range(r):
            inner += phi[k, r, before] * rows.n[way[before], k]
        n[r + 1, k] = n[r, k] + chosen
        pairs[r + 1, k] = pairs[r, k] + 2.0 * chosen * inner


@kernel
def _fill_terms(
    n: Ints,
    pairs: Floats,
    untied: Shares,
    of_length: Floats,
    weight: Floats,
    gain: Floats,
    term: Floats,
) -> None:
    """Fill `term` (S,) with logs of the terms of untied words, given n and Q (K,) of tied ones.

    `gain` (K, L + 1) is scratch.
    """
    n_left = untied.n[0].sum()
    for k in range(len(n)):
        for m in range(n[k], n[k] + n_left + 1):
            gain[k, m] = of_length[k, m] + weight[k, m] * pairs[k]
    for s in range(len(term)):
        value = untied.log_weight[s]
        for k in range(len(n)):
            value += gain[k, n[k] + untied.n[s, k]]
        term[s] = value
