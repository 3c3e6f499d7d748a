"""Coordinate ascent on a document's topic matrix: moves of one word's tokens between two topics.

The objective of a document whose tokens are assigned to topics as Z (U, K) is

    Σ_k [θ^k·z_k + ω_k(m_k) Q_k - Σ_u log z_uk! - A^k(m_k)],   Q_k = z_k·Φ^k z_k,  m_k = Σ_u z_uk

(Inouye, Ravikumar & Dhillon 2015, Sec. 3, "Estimating Topic Matrices", without a prior of m). Let
h_k = (Φ^k z_k)_u. Let word u have n tokens in topics l and q, and let M, R be m and Q without them
(R_k = Q_k - 2 z_uk h_k; the diagonal of Φ is zero). With b of the n tokens in l, the terms in b are

    b (θ^l_u - θ^q_u) - log b! - log (n - b)!
    + ω_l(M_l + b) (R_l + 2 b h_l) - A^l(M_l + b)
    + ω_q(M_q + n - b) (R_q + 2 (n - b) h_q) - A^q(M_q + n - b)

which is the paper's univariate problem at a = b - z_ul, with ω at the new lengths (the last index
there should read m_q - a).
"""

from typing import NamedTuple

import numpy as np

from models.arrays import Floats, Ints, Ints32
from models.kernel import kernel
from models.poisson_mrf.document_edges import DocumentEdges, edges_within
from models.poisson_mrf.edges import Neighbours


class DocumentWords(NamedTuple):
    """Words of documents; the entries of document d are `start[d]:start[d + 1]`."""

    start: Ints  # (D + 1,)
    word: Ints32  # (nnz,), no word twice in a document


class FieldTables(NamedTuple):
    """K fields as functions of words and lengths; M is the length of the longest document."""

    node: Floats  # (V, K), θ, normalised
    weight: Floats  # (K, M + 1), ω_k(L)
    log_partition: Floats  # (K, M + 1), A^k(L), without log L!
    log_factorial: Floats  # (M + 1,), log n!


class TopicSums(NamedTuple):
    """Statistics of a document's topic matrix, updated with every move."""

    length: Ints  # (K,), m_k
    pairs: Floats  # (K,), Q_k
    inner: Floats  # (K, U), (Φ^k z_k)_u


@kernel
def improve_splits(
    first: int,
    last: int,
    documents: DocumentWords,
    fields: FieldTables,
    neighbours: Neighbours,
    max_sweeps: int,
    tolerance: float,
    split: Ints32,
    objective: Floats,
) -> None:
    """Sweep over each document `first <= d < last` until no move gains more than `tolerance`.
    Mutates `split` (nnz, K), whose row sums do not change, and fills `objective[first:last]`,
    recomputed from the final split.
    """
    n_topics = split.shape[1]
    place_of = np.full(fields.node.shape[0], -1, dtype=np.int32)
    for d in range(first, last):
        start, stop = documents.start[d], documents.start[d + 1]
        words, shares = documents.word[start:stop], split[start:stop]
        edges = edges_within(words, n_topics, neighbours, place_of)
        sums = TopicSums(
            np.empty(n_topics, dtype=np.int64), np.empty(n_topics), np.empty((n_topics, len(words)))
        )
        sum_topics(shares, edges, sums)
        n_sweeps, n_moves = 0, 1
        while n_sweeps < max_sweeps and n_moves > 0:
            n_moves = sweep_moves(words, edges, fields, tolerance, shares, sums)
            n_sweeps += 1
        if n_sweeps > 0:
            sum_topics(shares, edges, sums)
        objective[d] = log_probability(words, shares, fields, sums)


@kernel
def sum_topics(shares: Ints32, edges: DocumentEdges, sums: TopicSums) -> None:
    """Fill `sums` from the topic matrix `shares` (U, K)."""
    n_unique, n_topics = shares.shape
    sums.inner[:] = 0.0
    for k in range(n_topics):
        length = 0
        for u in range(n_unique):
            n = shares[u, k]
            if n > 0:
                length += n
                row = k * n_unique + u
                for entry in range(edges.start[row], edges.start[row + 1]):
                    sums.inner[k, edges.place[entry]] += n * edges.weight[entry]
        pairs = 0.0
        for u in range(n_unique):
            pairs += shares[u, k] * sums.inner[k, u]
        sums.length[k], sums.pairs[k] = length, pairs


@kernel
def log_probability(words: Ints32, shares: Ints32, fields: FieldTables, sums: TopicSums) -> float:
    """Return Σ_k log p(z_k | m_k) of a topic matrix `shares` (U, K)."""
    n_unique, n_topics = shares.shape
    total = 0.0
    for k in range(n_topics):
        length = sums.length[k]
        total += fields.weight[k, length] * sums.pairs[k] - fields.log_partition[k, length]
    for u in range(n_unique):
        for k in range(n_topics):
            n = shares[u, k]
            total += n * fields.node[words[u], k] - fields.log_factorial[n]
    return total


@kernel
def sweep_moves(
    words: Ints32,
    edges: DocumentEdges,
    fields: FieldTables,
    tolerance: float,
    shares: Ints32,
    sums: TopicSums,
) -> int:
    """Split each word's tokens optimally between each pair of topics; return the number of moves.
    Mutates `shares` (U, K) and `sums`.
    """
    n_unique, n_topics = shares.shape
    n_moves = 0
    for u in range(n_unique):
        for l in range(n_topics - 1):  # noqa: E741
            for q in range(l + 1, n_topics):
                n = shares[u, l] + shares[u, q]
                if n == 0:
                    continue
                now = shares[u, l]
                best = best_share(l, q, n, u, words[u], now, tolerance, fields, sums)
                if best != now:
                    n_moves += 1
                    shares[u, l], shares[u, q] = best, n - best
                    add_tokens(l, u, best - now, n_unique, edges, sums)
                    add_tokens(q, u, now - best, n_unique, edges, sums)
    return n_moves


@kernel
def best_share(
    l: int,  # noqa: E741
    q: int,
    n: int,
    u: int,
    word: int,
    now: int,
    tolerance: float,
    fields: FieldTables,
    sums: TopicSums,
) -> int:
    """Return the best number of the n tokens in topic l; `now` are there, the rest are in q.
    The result is `now` unless another number is better by more than `tolerance`.
    """
    h_l, h_q = sums.inner[l, u], sums.inner[q, u]
    m_l, m_q = sums.length[l] - now, sums.length[q] - (n - now)
    rest_l = sums.pairs[l] - 2.0 * now * h_l
    rest_q = sums.pairs[q] - 2.0 * (n - now) * h_q
    node = fields.node[word, l] - fields.node[word, q]
    best, best_value, value_now = now, -np.inf, 0.0
    for b in range(n + 1):
        c = n - b
        value = (
            b * node
            - fields.log_factorial[b]
            - fields.log_factorial[c]
            + fields.weight[l, m_l + b] * (rest_l + 2.0 * b * h_l)
            - fields.log_partition[l, m_l + b]
            + fields.weight[q, m_q + c] * (rest_q + 2.0 * c * h_q)
            - fields.log_partition[q, m_q + c]
        )
        if value > best_value:
            best, best_value = b, value
        if b == now:
            value_now = value
    return best if best_value > value_now + tolerance else now


@kernel
def add_tokens(
    k: int, u: int, n: int, n_unique: int, edges: DocumentEdges, sums: TopicSums
) -> None:
    """Update `sums`, in place, for n more tokens of word u in topic k; n may be negative."""
    sums.length[k] += n
    sums.pairs[k] += 2.0 * n * sums.inner[k, u]
    row = k * n_unique + u
    for entry in range(edges.start[row], edges.start[row + 1]):
        sums.inner[k, edges.place[entry]] += n * edges.weight[entry]
