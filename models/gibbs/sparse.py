"""Collapsed Gibbs sampling whose cost depends on the topics of a document and of a word, not on K.

    p(z_t = k | all others) ∝ n_dk φ_kw + alpha_k n_kw i_k + alpha_k eta_w i_k
    φ_kw = (n_kw + eta_w) i_k,    i_k = p_k / (n_k + Σ_v eta_v)

The first part is a sum over the document's own topics, the second one over the word's own topics,
and the third one is eta_w times a sum that is the same for all words (Yao, Mimno & McCallum 2009).
As tokens are visited word by word, φ_kw of a word's topics and the second part are filled in once
in a run of its tokens, and each token that moves changes those of two topics. The first part is
computed for each token, by blocks of its document's topics (see `models.gibbs.lanes`). The present
topic comes first in the draw, as most tokens keep theirs. The conditional is that of
`models.gibbs.dense`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.arrays import Floats, Ints, Ints32
from models.gibbs.dense import AHEAD, Priors
from models.gibbs.lanes import weigh
from models.gibbs.tokens import Tokens
from models.gibbs.topic_lists import TopicLists, Topics, move_token, place_of
from models.kernel import exact_kernel, kernel, prefetch
from models.lanes import LANES

Floats32 = NDArray[np.float32]
BLOCK = 64  # Topics in a block of the third part


class Weights(NamedTuple):
    """Parts of the conditional of one word, for all topics or by place in the word's list."""

    inverse: Floats32  # (K,), i_k
    phi: Floats32  # (K,), φ_kw; eta_w i_k where the word has no tokens
    smooth: Floats  # (K / BLOCK,), Σ alpha_k i_k of each block
    place: Ints32  # (K,), place in the list, -1 for topics that are not in it
    topic: Topics  # (K,), by place
    n_kw: Floats32  # (K,), by place
    of_word: Floats32  # (K,), alpha_k n_kw i_k, by place; 0 up to the end of the last block
    sums: Floats  # (2,), Σ alpha_k n_kw i_k and Σ alpha_k i_k


@kernel
def resample_sparse(
    tokens: Tokens,
    first_run: int,
    last_run: int,
    topic_of: Topics,
    word_topics: TopicLists,
    n_k: Ints,
    doc_topics: TopicLists,
    priors: Priors,
    uniforms: Floats32,
) -> None:
    """Resample the topic of each token of the runs `first_run <= i < last_run`, in order.
    Mutates `topic_of` (n_tokens,) and its counts `word_topics`, `n_k` (K,) and `doc_topics`.
    `uniforms` holds a number in [0, 1) for each of the runs' tokens.
    """
    weights, n_topics = _weights_of(n_k, priors), n_k.shape[0]
    phi, topic, n_dk = weights.phi, doc_topics.topic, doc_topics.n_tokens
    p = np.zeros(phi.shape[0], dtype=np.float32)  # n_dk φ_kw
    of_block = np.zeros(phi.shape[0] // LANES, dtype=np.float32)  # its sums
    eta = np.float32(-1.0)
    first_token, last_token = tokens.run_start[first_run], tokens.run_start[last_run] - 1
    for run in range(first_run, last_run):
        w = tokens.word_of_run[run]
        counted = priors.counted[w] != 0
        if priors.eta[w] != eta:
            eta = priors.eta[w]
            np.multiply(weights.inverse, eta, phi)
        m = _load_word(word_topics, w, eta, priors.alpha, weights)
        for t in range(tokens.run_start[run], tokens.run_start[run + 1]):
            ahead = doc_topics.start[tokens.doc_of[min(t + AHEAD, last_token)]]
            prefetch(topic, ahead)
            prefetch(topic, ahead + 2 * LANES)
            prefetch(n_dk, ahead)
            prefetch(n_dk, ahead + LANES)
            prefetch(n_dk, ahead + 2 * LANES)
            d, old = tokens.doc_of[t], int(topic_of[t])
            start, n = doc_topics.start[d], int(doc_topics.n_distinct[d])
            place = place_of(topic, start, n, old)
            if counted:
                phi_old, of_prior = _without_token(old, n_k[old] - 1, eta, priors, weights)
            else:
                phi_old, of_prior = phi[old], weights.sums[0] + eta * weights.sums[1]
            of_old = np.float32(n_dk[start + place] - 1) * phi_old
            of_others = _weigh_document(n_dk, topic, start, n, place, phi, p, of_block)
            rest = uniforms[t - first_token] * (of_old + of_others + of_prior) - of_old
            if rest < 0.0:
                continue  # the topic stays
            if counted:
                n_k[old] -= 1
                _recount(old, np.float32(-1.0), n_k[old], eta, priors, weights)
            if rest < of_others:
                to = _find_place(p, of_block, n, np.float32(rest))
                k = int(topic[start + to])
            else:
                k = _find_topic(weights, m, priors.alpha, eta, n_topics, rest - of_others)
                to = place_of(topic, start, n, k)
            doc_topics.n_distinct[d] = move_token(topic, n_dk, start, n, place, k, to, n_topics)
            topic_of[t] = k
            if counted:
                if weights.place[k] < 0:
                    m = _append(weights, m, k)
                n_k[k] += 1
                _recount(k, np.float32(1.0), n_k[k], eta, priors, weights)
        _store_word(word_topics, w, m, eta, weights)


@kernel
def _weights_of(n_k: Ints, priors: Priors) -> Weights:
    """Return the parts that are the same for all words; the others are empty."""
    n_topics = n_k.shape[0]
    n_padded = (n_topics // BLOCK + 1) * BLOCK
    weights = Weights(
        np.zeros(n_padded, dtype=np.float32),
        np.zeros(n_padded, dtype=np.float32),
        np.zeros(n_padded // BLOCK, dtype=np.float64),
        np.full(n_padded, -1, dtype=np.int32),
        np.zeros(n_padded, dtype=np.uint16),
        np.zeros(n_padded, dtype=np.float32),
        np.zeros(n_padded, dtype=np.float32),
        np.zeros(2, dtype=np.float64),
    )
    eta_sum = np.float32(priors.eta_sum)
    for k in range(n_topics):
        weights.inverse[k] = priors.topic_weight[k] / (np.float32(n_k[k]) + eta_sum)
    for k in range(n_topics):
        weights.smooth[k // BLOCK] += priors.alpha[k] * weights.inverse[k]
    for block in range(weights.smooth.shape[0]):
        weights.sums[1] += weights.smooth[block]
    return weights


@kernel
def _load_word(
    word_topics: TopicLists, w: int, eta: np.float32, alpha: Floats32, weights: Weights
) -> int:
    """Fill `weights` by place, and φ of the word's topics; return the number of places."""
    start, m = word_topics.start[w], int(word_topics.n_distinct[w])
    for i in range(m):
        k = int(word_topics.topic[start + i])
        count = np.float32(word_topics.n_tokens[start + i])
        weights.topic[i] = k
        weights.place[k] = i
        weights.n_kw[i] = count
        weights.phi[k] = (count + eta) * weights.inverse[k]
        weights.of_word[i] = alpha[k] * count * weights.inverse[k]
    n_blocks = (m + LANES - 1) // LANES
    for i in range(m, n_blocks * LANES):
        weights.of_word[i] = np.float32(0.0)
    weights.sums[0] = 0.0
    for block in range(n_blocks):
        weights.sums[0] += _sum_of(weights.of_word, block * LANES)
    return m


@kernel
def _store_word(word_topics: TopicLists, w: int, m: int, eta: np.float32, weights: Weights) -> None:
    """Write the places with tokens back to the word's list, by topic, and clear those of `weights`.
    The order then depends on the counts alone.
    """
    start, left = word_topics.start[w], 0
    n_before = int(word_topics.n_distinct[w])
    for i in range(m):
        k = int(weights.topic[i])
        weights.place[k] = -1
        weights.phi[k] = eta * weights.inverse[k]
    for i in range(n_before):
        if weights.n_kw[i] > 0:
            weights.topic[left] = weights.topic[i]
            weights.n_kw[left] = weights.n_kw[i]
            left += 1
    for i in range(n_before, m):  # topics that are new, by insertion
        topic, count, place = weights.topic[i], weights.n_kw[i], left
        if count > 0:
            while place > 0 and weights.topic[place - 1] > topic:
                weights.topic[place] = weights.topic[place - 1]
                weights.n_kw[place] = weights.n_kw[place - 1]
                place -= 1
            weights.topic[place], weights.n_kw[place] = topic, count
            left += 1
    for i in range(left):
        word_topics.topic[start + i] = weights.topic[i]
        word_topics.n_tokens[start + i] = np.int32(weights.n_kw[i])
    word_topics.n_distinct[w] = left


@kernel
def _append(weights: Weights, m: int, k: int) -> int:
    """Add topic `k`, without tokens, behind the word's `m` places; return their number then."""
    weights.place[k] = m
    weights.topic[m] = k
    weights.n_kw[m] = np.float32(0.0)
    if m % LANES == 0:
        for lane in range(LANES):
            weights.of_word[m + lane] = np.float32(0.0)
    return m + 1


@exact_kernel  # (n_kw - 1) + eta must not become n_kw + (eta - 1), which loses a small eta
def _without_token(
    k: int, n: int, eta: np.float32, priors: Priors, weights: Weights
) -> tuple[np.float32, float]:
    """Return φ of topic `k` and the sum of the second and third part of all topics, as they are
    if the word has a token of `k` less, which then has `n` of all words.
    """
    i, alpha = weights.place[k], priors.alpha[k]
    count = weights.n_kw[i] - np.float32(1.0)
    inverse = priors.topic_weight[k] / (np.float32(n) + np.float32(priors.eta_sum))
    of_word = weights.sums[0] + (alpha * count * inverse - weights.of_word[i])
    of_all = weights.sums[1] + alpha * (inverse - weights.inverse[k])
    return (count + eta) * inverse, of_word + eta * of_all


@exact_kernel
def _recount(
    k: int, by: np.float32, n: int, eta: np.float32, priors: Priors, weights: Weights
) -> None:
    """Change n_kw of topic `k` by `by`, in `weights`; the topic then has `n` tokens."""
    i, alpha = weights.place[k], priors.alpha[k]
    count = weights.n_kw[i] + by
    inverse = priors.topic_weight[k] / (np.float32(n) + np.float32(priors.eta_sum))
    change = alpha * (inverse - weights.inverse[k])
    product = alpha * count * inverse
    weights.sums[0] += product - weights.of_word[i]
    weights.sums[1] += change
    weights.smooth[k // BLOCK] += change
    weights.n_kw[i] = count
    weights.inverse[k] = inverse
    weights.phi[k] = (count + eta) * inverse
    weights.of_word[i] = product


@kernel
def _sum_of(values: Floats32, first: int) -> np.float32:
    """Return the sum of `LANES` values."""
    total = np.float32(0.0)
    for lane in range(LANES):
        total += values[first + lane]
    return total


@kernel
def _weigh_document(
    n_dk: Ints32,
    topic: Topics,
    start: int,
    n: int,
    without: int,
    phi: Floats32,
    p: Floats32,
    of_block: Floats32,
) -> np.float32:
    """Fill `p` with n_dk φ_kw of the document's `n` topics, and 0 at the place `without`, and
    `of_block` with the sums of its blocks; return the sum of all.
    """
    total = np.float32(0.0)
    for block in range((n + LANES - 1) // LANES):
        at = block * LANES
        of_block[block] = weigh(n_dk, topic, start + at, without - at, phi, p, at)
        total += of_block[block]
    return total


@kernel
def _find_place(p: Floats32, of_block: Floats32, n: int, rest: np.float32) -> int:
    """Return the first i < n where the sum of `p` exceeds `rest`; the last, whatever its `p`, if
    rounding leaves a rest. `of_block` holds the sums of blocks of `p`.
    """
    i = 0
    while i + LANES < n and rest >= of_block[i // LANES]:
        rest -= of_block[i // LANES]
        i += LANES
    while i < n - 1 and rest >= p[i]:
        rest -= p[i]
        i += 1
    return i


@kernel
def _find_topic(
    weights: Weights, m: int, alpha: Floats32, eta: np.float32, n_topics: int, rest: float
) -> int:
    """Return the topic at which the sum of alpha_k n_kw i_k, over the word's `m` topics, and then
    of alpha_k eta_w i_k, over all, exceeds `rest`; the last topic if rounding leaves a rest.
    """
    if m > 0 and rest < weights.sums[0]:
        block = 0
        of_block = float(_sum_of(weights.of_word, 0))
        while (block + 1) * LANES < m and rest >= of_block:
            rest -= of_block
            block += 1
            of_block = float(_sum_of(weights.of_word, block * LANES))
        i = block * LANES
        last = min(i + LANES, m) - 1
        while i < last and rest >= weights.of_word[i]:
            rest -= weights.of_word[i]
            i += 1
        return int(weights.topic[i])
    rest = (rest - weights.sums[0]) / eta
    block = 0
    while (block + 1) * BLOCK < n_topics and rest >= weights.smooth[block]:
        rest -= weights.smooth[block]
        block += 1
    k = block * BLOCK
    last = min(k + BLOCK, n_topics) - 1
    while k < last and rest >= alpha[k] * weights.inverse[k]:
        rest -= alpha[k] * weights.inverse[k]
        k += 1
    return k
