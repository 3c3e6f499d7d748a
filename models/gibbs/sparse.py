"""Collapsed Gibbs sampling whose cost depends on the topics of a document, for many topics.

    p(z_t = k | all others) ∝ n_dk φ_kw + alpha_k φ_kw
    φ_kw = p_k (n_kw + eta_w) / (n_k + Σ_v eta_v)

The first part is a sum over the document's own topics. Block sums of the second are kept for a word
and updated as counts change, so that a token costs its document's topics, two blocks and the K / 64
sums; φ_kw is computed for all K once in a run of a word's tokens. That is the decomposition of Yu,
Hsieh, Yun, Vishwanathan & Dhillon 2015 (F+LDA, word by word) with blocks that vectorise instead of
a tree. The conditional is that of `models.gibbs.dense`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.arrays import Ints, Ints32
from models.gibbs.dense import Priors
from models.gibbs.tokens import Tokens
from models.kernel import kernel

Topics = NDArray[np.uint16]
Floats32 = NDArray[np.float32]
BLOCK = 64  # Topics in a block of the second part
LANES = 16  # Topics of a document that are summed at a time in the search for one of them


class DocTopics(NamedTuple):
    """Topics of each document, with the number of its tokens in each.
    The topics of document d are the first `n_distinct[d]` places from `start[d]` on.
    """

    start: Ints  # (D + 1,), each document has as many places as it can have topics
    topic: Topics
    n_dk: Ints32  # Tokens of each place's topic; 0 for an empty place
    n_distinct: Ints32  # (D,)


def no_doc_topics(n_tokens: Ints, n_topics: int) -> DocTopics:
    """Return empty places for the topics of documents of `n_tokens` (D,)."""
    start = np.concatenate(([0], np.cumsum(np.minimum(n_tokens, n_topics)))).astype(np.int64)
    return DocTopics(
        start=start,
        topic=np.zeros(start[-1], dtype=np.uint16),
        n_dk=np.zeros(start[-1], dtype=np.int32),
        n_distinct=np.zeros(len(n_tokens), dtype=np.int32),
    )


@kernel
def list_doc_topics(
    tokens: Tokens, first: int, last: int, topic_of: Topics, doc_topics: DocTopics
) -> None:
    """Count the tokens `first <= t < last` in `doc_topics`, in place."""
    for t in range(first, last):
        d, k = tokens.doc_of[t], topic_of[t]
        place = doc_topics.start[d]
        stop = place + doc_topics.n_distinct[d]
        while place < stop and doc_topics.topic[place] != k:
            place += 1
        if place == stop:
            doc_topics.topic[place] = k
            doc_topics.n_dk[place] = 0
            doc_topics.n_distinct[d] += 1
        doc_topics.n_dk[place] += 1


@kernel
def sort_doc_topics(doc_topics: DocTopics, first: int, last: int) -> None:
    """Put each document's most frequent topics first, in place, for `first <= d < last`.
    The order then depends on the counts alone, not on earlier sweeps, and searches are shorter.
    """
    for d in range(first, last):
        start = doc_topics.start[d]
        n = doc_topics.n_distinct[d]
        keys = np.empty(n, dtype=np.int64)
        for i in range(n):
            count, topic = doc_topics.n_dk[start + i], doc_topics.topic[start + i]
            keys[i] = np.int64(topic) - np.int64(count) * 65536
        keys.sort()
        for i in range(n):
            topic = keys[i] & 0xFFFF
            doc_topics.topic[start + i] = topic
            doc_topics.n_dk[start + i] = (topic - keys[i]) // 65536


@kernel
def resample_sparse(
    tokens: Tokens,
    first_run: int,
    last_run: int,
    topic_of: Topics,
    n_wk: Ints32,
    n_k: Ints,
    doc_topics: DocTopics,
    priors: Priors,
    uniforms: Floats32,
) -> None:
    """Resample the topic of each token of the runs `first_run <= i < last_run`, in order.
    Mutates `topic_of` (n_tokens,) and its counts `n_wk` (V, K), `n_k` (K,) and `doc_topics`.
    `uniforms` holds a number in [0, 1) for each of the runs' tokens.
    """
    n_topics, n_padded = n_wk.shape[1], priors.alpha.shape[0]
    n_blocks = n_padded // BLOCK
    eta_sum, factor = np.float32(priors.eta_sum), priors.topic_weight
    inverse = np.zeros(n_topics, dtype=np.float32)  # p_k / (n_k + Σ eta)
    phi = np.zeros(n_padded, dtype=np.float32)  # φ_kw of one word
    phi_block, alpha = phi.reshape((n_blocks, BLOCK)), priors.alpha.reshape((n_blocks, BLOCK))
    prior_sum = np.zeros(n_blocks, dtype=np.float32)  # Σ alpha_k φ_kw of each block
    p = np.zeros((n_topics // LANES + 1) * LANES, dtype=np.float32)  # n_dk φ_kw
    for k in range(n_topics):
        inverse[k] = factor[k] / (np.float32(n_k[k]) + eta_sum)
    first_token = tokens.run_start[first_run]
    for run in range(first_run, last_run):
        w = tokens.word_of_run[run]
        row, eta, counted = n_wk[w], priors.eta[w], priors.counted[w]
        for k in range(n_topics):
            phi[k] = (np.float32(row[k]) + eta) * inverse[k]
        for block in range(n_blocks):
            prior_sum[block] = _product(alpha[block], phi_block[block])
        for t in range(tokens.run_start[run], tokens.run_start[run + 1]):
            d = tokens.doc_of[t]
            start, n = doc_topics.start[d], int(doc_topics.n_distinct[d])
            topic, n_dk = doc_topics.topic[start : start + n + 1], doc_topics.n_dk[start:]
            k = int(topic_of[t])
            n = _take_out(topic, n_dk, n, topic_of[t])
            row[k] -= counted
            n_k[k] -= counted
            inverse[k] = factor[k] / (np.float32(n_k[k]) + eta_sum)
            phi[k] = (np.float32(row[k]) + eta) * inverse[k]
            prior_sum[k // BLOCK] = _product(alpha[k // BLOCK], phi_block[k // BLOCK])
            of_document = np.float32(0.0)
            for i in range(n):
                p[i] = np.float32(n_dk[i]) * phi[topic[i]]
            for i in range(n):
                of_document += p[i]
            of_prior = np.float32(0.0)
            for block in range(n_blocks):
                of_prior += prior_sum[block]
            rest = uniforms[t - first_token] * (of_document + of_prior)
            if n > 0 and rest < of_document:
                i = _find_place(p, n, rest)
                k = int(topic[i])
                n_dk[i] += 1
            else:
                found = _find_topic(alpha, phi_block, prior_sum, rest - of_document)
                k = min(found, n_topics - 1)
                n = _put_in(topic, n_dk, n, k)
            doc_topics.n_distinct[d] = n
            topic_of[t] = k
            row[k] += counted
            n_k[k] += counted
            inverse[k] = factor[k] / (np.float32(n_k[k]) + eta_sum)
            phi[k] = (np.float32(row[k]) + eta) * inverse[k]
            prior_sum[k // BLOCK] = _product(alpha[k // BLOCK], phi_block[k // BLOCK])


@kernel
def _product(a: Floats32, b: Floats32) -> np.float32:
    """Return Σ a b of two blocks."""
    total = np.float32(0.0)
    for lane in range(BLOCK):
        total += a[lane] * b[lane]
    return total


@kernel
def _take_out(topic: Topics, n_dk: Ints32, n: int, k: int) -> int:
    """Remove one token of topic `k`, in place; return the number of topics left."""
    place = np.int32(0)
    for i in range(n):  # the one place that has k; a sum, so that it vectorises
        place += np.int32(i) if topic[i] == k else np.int32(0)
    n_dk[place] -= 1
    if n_dk[place] == 0:
        n -= 1
        topic[place] = topic[n]
        n_dk[place] = n_dk[n]
        n_dk[n] = 0
    return n


@kernel
def _put_in(topic: Topics, n_dk: Ints32, n: int, k: int) -> int:
    """Add one token of topic `k`, in place; return the number of topics then."""
    i = 0
    while i < n and topic[i] != k:
        i += 1
    if i == n:
        topic[n] = k
        n_dk[n] = 0
        n += 1
    n_dk[i] += 1
    return n


@kernel
def _find_place(p: Floats32, n: int, rest: np.float32) -> int:
    """Return the first i < n where the sum of `p` exceeds `rest`; the last if none does."""
    start = 0
    while start + LANES < n:
        part = np.float32(0.0)
        for lane in range(LANES):
            part += p[start + lane]
        if rest < part:
            break
        rest -= part
        start += LANES
    i = start
    while i < n - 1 and rest >= p[i]:
        rest -= p[i]
        i += 1
    return i


@kernel
def _find_topic(alpha: Floats32, phi: Floats32, prior_sum: Floats32, rest: np.float32) -> int:
    """Return the first k where the sum of alpha_k φ_kw exceeds `rest`; both are by block."""
    block, lane = 0, 0
    while block < prior_sum.shape[0] - 1 and rest >= prior_sum[block]:
        rest -= prior_sum[block]
        block += 1
    while lane < BLOCK - 1:
        value = alpha[block, lane] * phi[block, lane]
        if rest < value:
            break
        rest -= value
        lane += 1
    return block * BLOCK + lane
