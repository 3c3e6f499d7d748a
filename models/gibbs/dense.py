"""Collapsed Gibbs sampling that computes all K probabilities of each token, for few topics.

    p(z_t = k | all others) ∝ p_k (n_dk + alpha_k) (n_kw + eta_w) / (n_k + Σ_v eta_v)

(Griffiths & Steyvers 2004, eq. 5, where all p_k are 1; in Gamma-Poisson models alpha is r, and p_k
the probability of the topic's negative binomial), with counts that exclude token t. Probabilities
are float32: their relative error of about 1e-7 changes the topic of about 1 token in a million.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.arrays import Ints, Ints32
from models.gibbs.tokens import Tokens
from models.kernel import kernel, prefetch
from models.lanes import LANES

Topics = NDArray[np.uint16]
Floats32 = NDArray[np.float32]
AHEAD = 4  # Tokens by which counts of documents, that lie anywhere, are fetched before their turn


class Priors(NamedTuple):
    """Priors in the form that kernels take."""

    alpha: Floats32  # (K,), padded with zeros
    eta: Floats32  # (V,)
    eta_sum: float
    topic_weight: Floats32  # (K,), p_k up to a factor: all 1 in LDA
    counted: Ints32
    """(V,), 1, or 0 for frozen words: their tokens have topics, but are in no topic's counts."""


def padded(n_topics: int, lanes: int = LANES) -> int:
    """Return the smallest multiple of `lanes` that is at least `n_topics`."""
    return -(-n_topics // lanes) * lanes


@kernel
def count_doc_topics(tokens: Tokens, first: int, last: int, topic_of: Topics, n_dk: Ints32) -> None:
    """Count the tokens `first <= t < last` in `n_dk` (D, K), in place."""
    for t in range(first, last):
        n_dk[tokens.doc_of[t], topic_of[t]] += 1


@kernel
def sum_of(p: NDArray[np.float32]) -> np.float32:
    """Equivalent to `p.sum()`, with sums over lanes."""
    total = np.float32(0.0)
    for j in range(len(p)):
        total += p[j]
    return np.float32(total)


@kernel
def _fetch_row(rows: Ints32, row: int, width: int) -> None:
    """Fetch a row of `width` counts into the cache, or all but its last ones. `rows` are flat."""
    for place in range(row * width, (row + 1) * width, LANES):
        prefetch(rows, place)


@kernel
def resample_dense(
    tokens: Tokens,
    first_run: int,
    last_run: int,
    topic_of: Topics,
    n_wk: Ints32,
    n_k: Ints,
    n_dk: Ints32,
    priors: Priors,
    uniforms: Floats32,
) -> None:
    """Resample the topic of each token of the runs `first_run <= i < last_run`, in order.
    Mutates `topic_of` (n_tokens,) and its counts `n_wk` (V, K), `n_k` (K,) and `n_dk` (D, K
    padded). `uniforms` holds a number in [0, 1) for each of the runs' tokens.
    """
    n_topics, n_padded = n_wk.shape[1], n_dk.shape[1]
    n_blocks = n_padded // LANES
    alpha, eta_sum, factor = priors.alpha, np.float32(priors.eta_sum), priors.topic_weight
    inverse = np.zeros(n_topics, dtype=np.float32)  # p_k / (n_k + Σ eta)
    weight = np.zeros(n_padded, dtype=np.float32)  # (n_kw + eta_w) times that, of one word
    p = np.zeros(n_padded, dtype=np.float32)
    p_block = p.reshape((n_blocks, LANES))  # indexed so, sums over lanes vectorise
    for k in range(n_topics):
        inverse[k] = factor[k] / (np.float32(n_k[k]) + eta_sum)
    every_n_dk = n_dk.reshape(-1)
    first_token, last_token = tokens.run_start[first_run], tokens.run_start[last_run] - 1
    for run in range(first_run, last_run):
        w = tokens.word_of_run[run]
        row, eta, counted = n_wk[w], priors.eta[w], priors.counted[w]
        for k in range(n_topics):
            weight[k] = (np.float32(row[k]) + eta) * inverse[k]
        for t in range(tokens.run_start[run], tokens.run_start[run + 1]):
            _fetch_row(every_n_dk, tokens.doc_of[min(t + AHEAD, last_token)], n_padded)
            doc = n_dk[tokens.doc_of[t]]
            k = int(topic_of[t])
            row[k] -= counted
            n_k[k] -= counted
            doc[k] -= 1
            inverse[k] = factor[k] / (np.float32(n_k[k]) + eta_sum)
            weight[k] = (np.float32(row[k]) + eta) * inverse[k]
            for j in range(n_padded):
                p[j] = (np.float32(doc[j]) + alpha[j]) * weight[j]
            total = sum_of(p)
            # Find the block, then the topic in it; a rest that rounding leaves is the last one's.
            rest = uniforms[t - first_token] * total
            block = 0
            while block < n_blocks - 1:
                block_sum = np.float32(0.0)
                for lane in range(LANES):
                    block_sum += p_block[block, lane]
                if rest < block_sum:
                    break
                rest -= block_sum
                block += 1
            lane = 0
            while lane < LANES - 1 and rest >= p_block[block, lane]:
                rest -= p_block[block, lane]
                lane += 1
            k = min(block * LANES + lane, n_topics - 1)
            topic_of[t] = k
            row[k] += counted
            n_k[k] += counted
            doc[k] += 1
            inverse[k] = factor[k] / (np.float32(n_k[k]) + eta_sum)
            weight[k] = (np.float32(row[k]) + eta) * inverse[k]


@kernel
def add_topic_words(n_wk: Ints32, eta: Floats32, inverse: Floats32, total: Floats32) -> None:
    """Add the posterior mean topics of one assignment, (n_wk + eta) · inverse, to `total` (n, K).
    Equivalent to `total += (n_wk + eta[:, None]) * inverse`, in place.
    """
    for w in range(n_wk.shape[0]):
        for k in range(n_wk.shape[1]):
            total[w, k] += (np.float32(n_wk[w, k]) + eta[w]) * inverse[k]
