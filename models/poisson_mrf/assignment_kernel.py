"""Gibbs sweeps over the topics of a document's tokens, at any temperature.

Let tokens j_1..j_L of a document be in topics t_1..t_L; topic k has m_k tokens with counts z_k, and
Q_k = z_k·Φ^k z_k. From Inouye et al. (2015, Sec. 3), with the proportions of topics integrated out,
as in LDA, and divided by the number of arrangements of tokens and topics,

    p(j, t | L) = ∏_k (alpha_k)_{m_k} / (Σalpha)_L · ∏_l φ[t_l, j_l]
                  · exp Σ_k [ω_k(m_k) Q_k - Ã^k_{m_k}]

where (a)_n = a (a + 1) ... (a + n - 1), φ = exp θ in rows that sum to 1, and Ã_m = A_m + log m! is
the table `log_partition` (the m! of arrangements cancels that of the field). With t from 0 to 1

    f_t(topics) = ∏_l φ[t_l, j_l] · ∏_k ∏_{i<m_k} (alpha_k + t i)
                  · exp(t Σ_k [ω_k(m_k) Q_k - Ã^k_{m_k}])

goes from independent tokens, k in proportion to φ[k, j_l] alpha_k, to p(j, t) (Σalpha)_L. A token
of word w, removed from m and z, gets topic k in proportion to

    φ[k, w] (alpha_k + t m_k) exp(t [ω_k(m_k+1) (Q_k + 2 (Φ^k z_k)_w) - ω_k(m_k) Q_k
                                     - Ã^k_{m_k+1} + Ã^k_{m_k}])

All but φ and (Φ^k z_k)_w is the same for every word and changes with m_k and Q_k only. So a token
takes one or two exponentials, and a polynomial over many topics at once for the word's part. A word
is no neighbour of itself: removing a token does not change its own (Φ^k z_k)_w.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.arrays import Floats, Ints, Ints32
from models.kernel import kernel, read_only
from models.poisson_mrf.document_edges import DocumentEdges, edges_within
from models.poisson_mrf.edges import Neighbours
from models.poisson_mrf.topics import LPMRFTopics

STEEP = 16.0  # Maximum exponent for the polynomial
MIN_PRODUCT, MAX_PRODUCT = 1e-200, 1e200
"""Range of sums of products; outside of it they are recomputed from logarithms."""
LARGE = 1e100  # Maximum product before it moves into a sum of logarithms


class FieldArrays(NamedTuple):
    """A topic model as kernels read it, for documents of up to M tokens."""

    word_topic: Floats  # (V, K), φ
    alpha: Floats  # (K,)
    neighbours: Neighbours
    log_partition: Floats  # (K, M + 2), Ã: one length more, for the weight of a further token
    weight: Floats  # (K, M + 2), ω of each number of tokens


class Document(NamedTuple):
    """A document of L tokens and U different words."""

    share: Floats  # (U, K), φ of each word, divided by the largest over topics
    word_of: Ints32  # (L,), row of each token's word
    edges: DocumentEdges
    alpha: Floats  # (K,)
    log_partition: Floats  # (K, L + 2 or more)
    weight: Floats  # (K, L + 2 or more)


class State(NamedTuple):
    """Topics of a document's tokens and their statistics, updated in place."""

    topic_of: NDArray[np.integer[Any]]  # (L,), -1 for a token without a topic yet
    n: Ints  # (K,), m_k
    pairs: Floats  # (K,), Q_k
    inner: Floats  # (U, K), (Φ^k z_k)_u
    gain: Floats  # (K,), log of the factor of a further token, without its word's part
    factor: Floats  # (K,), (alpha_k + t m_k) exp(gain)
    slope: Floats  # (K,), 2 t ω_k(m_k + 1)
    product: Floats  # (K,), scratch for a token's probabilities


def field_arrays(topics: LPMRFTopics, longest: int) -> FieldArrays:
    """Return the arrays of a model for documents of up to `longest` tokens."""
    lengths = np.arange(longest + 2, dtype=np.float64)
    weight = 1.0 / (1.0 + (lengths / topics.half_length[:, None]) ** 2)
    return FieldArrays(
        read_only(topics.topic_word.T),
        topics.alpha.copy(),  # copies: kernels are recompiled for read-only arrays
        topics.neighbours,
        topics.log_partition_to(longest + 1).copy(),
        weight,
    )


@kernel
def document_of(words: Ints32, n: Ints, fields: FieldArrays, place_of: Ints32) -> Document:
    """Return the document with `n` (U,) tokens of each of `words` (U,), tokens of a word adjacent.
    `place_of` (V,) holds -1, before and after.
    """
    n_topics = len(fields.alpha)
    share = np.empty((len(words), n_topics))
    word_of = np.empty(n.sum(), dtype=np.int32)
    end = 0
    for u in range(len(words)):
        of_word = fields.word_topic[words[u]]
        largest = of_word.max()
        for k in range(n_topics):
            share[u, k] = of_word[k] / largest
        for _ in range(n[u]):
            word_of[end] = u
            end += 1
    edges = edges_within(words, n_topics, fields.neighbours, place_of)
    return Document(share, word_of, edges, fields.alpha, fields.log_partition, fields.weight)


@kernel
def state_of(document: Document, topic_of: NDArray[np.integer[Any]]) -> State:
    """Return the state for topics `topic_of` (L,); the array is shared, not copied."""
    edges, (n_unique, n_topics) = document.edges, document.share.shape
    state = State(
        topic_of,
        np.zeros(n_topics, dtype=np.int64),
        np.zeros(n_topics),
        np.zeros((n_unique, n_topics)),
        np.zeros(n_topics),
        np.zeros(n_topics),
        np.zeros(n_topics),
        np.zeros(n_topics),
    )
    for token in range(len(topic_of)):
        k, u = topic_of[token], document.word_of[token]
        if k >= 0:
            state.n[k] += 1
            state.pairs[k] += 2.0 * state.inner[u, k]
            row = k * n_unique + u
            for entry in range(edges.start[row], edges.start[row + 1]):
                state.inner[edges.place[entry], k] += edges.weight[entry]
    return state


@kernel
def sweep(  # noqa: C901, PLR0912, PLR0915
    document: Document, state: State, t: float, rng: np.random.Generator
) -> None:
    """Resample the topic of each token given all others at temperature t; mutates `state`.
    One function: a call per token would take longer than its work.
    """
    share, word_of, alpha = document.share, document.word_of, document.alpha
    log_partition, weight = document.log_partition, document.weight
    start, place, phi = document.edges.start, document.edges.place, document.edges.weight
    topic_of, n, pairs, inner = state.topic_of, state.n, state.pairs, state.inner
    gain, factor, slope, product = state.gain, state.factor, state.slope, state.product
    n_unique, n_topics = share.shape
    for k in range(n_topics):
        m = n[k]
        faded = (weight[k, m + 1] - weight[k, m]) * pairs[k]
        gain[k] = t * (faded - log_partition[k, m + 1] + log_partition[k, m])
        factor[k] = (alpha[k] + t * m) * math.exp(gain[k])
        slope[k] = 2.0 * t * weight[k, m + 1]
    for token in range(len(topic_of)):
        u, before = word_of[token], topic_of[token]
        was_pairs = was_gain = was_factor = was_slope = 0.0
        if before >= 0:
            was_pairs, was_gain = pairs[before], gain[before]
            was_factor, was_slope = factor[before], slope[before]
            n[before] -= 1
            m = n[before]
            pairs[before] -= 2.0 * inner[u, before]
            if m == 0:  # no rounding error remains
                pairs[before] = 0.0
            faded = (weight[before, m + 1] - weight[before, m]) * pairs[before]
            gain[before] = t * (faded - log_partition[before, m + 1] + log_partition[before, m])
            factor[before] = (alpha[before] + t * m) * math.exp(gain[before])
            slope[before] = 2.0 * t * weight[before, m + 1]
        squares, total = 0.0, 0.0
        for k in range(n_topics):
            product[k] = slope[k] * inner[u, k]
        for k in range(n_topics):
            squares += product[k] * product[k]
        if squares < STEEP * STEEP:
            for k in range(n_topics):
                product[k] = share[u, k] * factor[k] * _exponential(product[k])
            for k in range(n_topics):
                total += product[k]
        if not MIN_PRODUCT < total < MAX_PRODUCT:
            total = _products_by_logarithms(document, state, u, t)
        rest, k = rng.random() * total, 0
        while k < n_topics - 1 and rest >= product[k]:
            rest -= product[k]
            k += 1
        while product[k] == 0.0:  # rounding made the rest exceed their sum
            k -= 1
        n[k] += 1
        if k == before:
            pairs[k], gain[k], factor[k], slope[k] = was_pairs, was_gain, was_factor, was_slope
            continue
        if before >= 0:
            for entry in range(start[before * n_unique + u], start[before * n_unique + u + 1]):
                inner[place[entry], before] -= phi[entry]
        for entry in range(start[k * n_unique + u], start[k * n_unique + u + 1]):
            inner[place[entry], k] += phi[entry]
        topic_of[token] = k
        m = n[k]
        pairs[k] += 2.0 * inner[u, k]
        faded = (weight[k, m + 1] - weight[k, m]) * pairs[k]
        gain[k] = t * (faded - log_partition[k, m + 1] + log_partition[k, m])
        factor[k] = (alpha[k] + t * m) * math.exp(gain[k])
        slope[k] = 2.0 * t * weight[k, m + 1]


@kernel
def _exponential(x: float) -> float:
    """Return e^x within 1e-11 relative up to |x| = 16: (e^(x / 64))^64, e^(x / 64) by a polynomial.
    Without branches, so that it vectorises over topics.
    """
    x *= 1.0 / 64.0
    power = 1.0 + x * (1.0 / 8.0) * (1.0 + x * (1.0 / 9.0))
    power = 1.0 + x * (1.0 / 6.0) * (1.0 + x * (1.0 / 7.0) * power)
    power = 1.0 + x * (1.0 / 4.0) * (1.0 + x * (1.0 / 5.0) * power)
    power = 1.0 + x * (1.0 / 2.0) * (1.0 + x * (1.0 / 3.0) * power)
    power = 1.0 + x * power
    for _ in range(6):
        power *= power
    return power


@kernel
def _products_by_logarithms(document: Document, state: State, u: int, t: float) -> float:
    """Fill `product` with the weights of topics for word u over the largest; return their sum.
    The gain and the word's part share one exponent: each alone may overflow.
    """
    product = state.product
    for k in range(len(product)):
        product[k] = np.log(document.share[u, k] * (document.alpha[k] + t * state.n[k]))
        product[k] += state.gain[k] + state.slope[k] * state.inner[u, k]
    largest = product.max()
    for k in range(len(product)):
        product[k] = np.exp(product[k] - largest)
    return float(product.sum())


@kernel
def log_ratio(document: Document, state: State, below: float, above: float) -> float:
    """Return log f_above - log f_below of the state, which is not changed. The prior's part is a
    product of ratios, not a difference of two sums: accurate for steps of any size.
    """
    total, product, exponent = 0.0, 1.0, 0.0
    for k in range(len(document.alpha)):
        alpha, m = document.alpha[k], state.n[k]
        for i in range(1, m):
            product *= (alpha + above * i) / (alpha + below * i)
            if product > LARGE:
                total += math.log(product)
                product = 1.0
        exponent += document.weight[k, m] * state.pairs[k] - document.log_partition[k, m]
    return total + math.log(product) + (above - below) * exponent


class Documents(NamedTuple):
    """Counts (D, V) of all documents by rows, and the places of their tokens."""

    start: Ints  # (D + 1,), first entry of each document
    word: Ints32  # (E,)
    n: Ints  # (E,), counts of the words, none 0
    first_token: Ints  # (D + 1,), first token of each document


def documents_of(counts: Any) -> Documents:
    """Return the arrays of canonical CSR counts (D, V)."""
    start = counts.indptr.astype(np.int64)
    n = counts.data.astype(np.int64)
    first_token = np.concatenate([[0], np.cumsum(n)])[start].astype(np.int64)
    return Documents(start, counts.indices.astype(np.int32), n, first_token)


@kernel
def sweep_documents(
    documents: Documents,
    topic_of: NDArray[np.integer[Any]],
    fields: FieldArrays,
    n_sweeps: int,
    rng: np.random.Generator,
    start: int,
    stop: int,
) -> None:
    """Sweep the documents `start <= d < stop` at temperature 1, `n_sweeps` times each.
    Mutates `topic_of` (n_tokens,): tokens in the order of `documents`; -1 for one without topic.
    `fields` must cover the longest of these documents; this is not checked.
    """
    place_of = np.full(len(fields.word_topic), -1, dtype=np.int32)
    for d in range(start, stop):
        entries = slice(documents.start[d], documents.start[d + 1])
        document = document_of(documents.word[entries], documents.n[entries], fields, place_of)
        tokens = slice(documents.first_token[d], documents.first_token[d + 1])
        state = state_of(document, topic_of[tokens])
        for _ in range(n_sweeps):
            sweep(document, state, 1.0, rng)
