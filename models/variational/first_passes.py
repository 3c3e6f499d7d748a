"""Passes over all topics of one document, on weights of 9 bits.

They are the first of an inference, and tell which topics need no more of them.
"""

import numpy as np
from numpy.typing import NDArray

from models.arrays import Floats, Ints32
from models.kernel import kernel
from models.variational.digamma import exp_digamma_up_to_factor
from models.variational.halved_weights import Halves, from_high

Ints = Ints32 | NDArray[np.int64]
Floats32 = NDArray[np.float32]
_MANY = 512  # topics: from here on a pass takes longer than more topics to iterate
_LONG = 1000  # tokens: a longer document finds poorer fixed points after fewer passes
_PASSES, _PASSES_OF_MANY = 4, 3  # of many topics where the document is not long
_SMALL, _SMALL_OF_MANY = 0.3, 1.0  # of a topic's even share n / K: may be left out
_FEW = 0.5  # tokens: a topic with a small share and fewer is left out
LEAST_NORM = np.float32(1e-25)  # below it float32 has lost a word: float64 is needed


@kernel
def pass_over_all(
    words: Ints,
    counts: Floats32,
    high: Halves,
    alpha: Floats,
    max_iterations: int,
    gamma: Floats,
    out: NDArray[np.bool_],
    theta: Floats,
    total: Floats32,
    norm: Floats32,
    ratio: Floats32,
) -> int:
    """Fill `gamma` (K,) from responsibilities in proportion to the weights, and a few iterations.

    `out` (K,) is filled with the topics that are left out. The other arrays, two of K and two of n,
    are room to work. Returns the number of iterations, or 0 if float32 does not suffice.
    """
    n_topics, n_words = alpha.shape[0], words.shape[0]
    n_tokens = 0.0
    for j in range(n_words):
        n_tokens += counts[j]
    is_many = n_topics >= _MANY and n_tokens < _LONG
    n_passes = min(max_iterations, _PASSES_OF_MANY if is_many else _PASSES)
    small = (_SMALL_OF_MANY if is_many else _SMALL) * n_tokens / n_topics
    share = np.zeros(n_topics)
    theta[:] = 1.0
    norm[:] = np.float32(1.0)
    out[:] = False
    iterations = 0
    while iterations < n_passes:  # the first has no norms yet
        if iterations > 0 and not mix_rows(words, high, gamma, out, theta, total, norm, True):
            return 0
        for j in range(n_words):
            ratio[j] = counts[j] / norm[j]
        add_rows(words, ratio, high, total)
        for k in range(n_topics):
            found = theta[k] * total[k]
            is_fading = found < 0.5 * share[k] or (iterations > 0 and found < _FEW)
            out[k] |= found < small and is_fading
            share[k] = found
            gamma[k] = alpha[k] + found
        iterations += 1
    return iterations


@kernel
def add_rows(words: Ints, factor: Floats32, high: Halves, total: Floats32) -> None:
    """Fill `total` (K,) with Σ_w factor_w b_kw. Equivalent to `total[:] = factor @ b[words]`."""
    n_topics = total.shape[0]
    total[:] = np.float32(0.0)
    in_fours = words.shape[0] // 4 * 4
    for j in range(0, in_fours, 4):
        b0, b1, b2, b3 = high[words[j]], high[words[j + 1]], high[words[j + 2]], high[words[j + 3]]
        f0, f1, f2, f3 = factor[j], factor[j + 1], factor[j + 2], factor[j + 3]
        for k in range(n_topics):
            total[k] += (
                f0 * from_high(b0[k])
                + f1 * from_high(b1[k])
                + f2 * from_high(b2[k])
                + f3 * from_high(b3[k])
            )
    for j in range(in_fours, words.shape[0]):
        b, f = high[words[j]], factor[j]
        for k in range(n_topics):
            total[k] += f * from_high(b[k])


@kernel
def mix_rows(
    words: Ints,
    high: Halves,
    gamma: Floats,
    out: NDArray[np.bool_],
    theta: Floats,
    room: Floats32,
    norm: Floats32,
    is_complete: bool,
) -> bool:
    """Fill `norm` (n,) with Σ_k t_k b_kw over the topics that are not `out` (K,).

    Fills `theta` (K,) with exp ψ(γ), 0 for those that are. `room` (K,) is changed. Returns whether
    float32 suffices; if the sum is not complete a norm may be 0.
    """
    n_topics = gamma.shape[0]
    suffices = exp_digamma_up_to_factor(gamma, theta)
    for k in range(n_topics):
        theta[k] = 0.0 if out[k] else theta[k]
        room[k] = np.float32(theta[k])
    in_fours = words.shape[0] // 4 * 4
    for j in range(0, in_fours, 4):
        b0, b1, b2, b3 = high[words[j]], high[words[j + 1]], high[words[j + 2]], high[words[j + 3]]
        norm0 = norm1 = norm2 = norm3 = np.float32(0.0)
        for k in range(n_topics):
            norm0 += room[k] * from_high(b0[k])
            norm1 += room[k] * from_high(b1[k])
            norm2 += room[k] * from_high(b2[k])
            norm3 += room[k] * from_high(b3[k])
        norm[j], norm[j + 1], norm[j + 2], norm[j + 3] = norm0, norm1, norm2, norm3
    for j in range(in_fours, words.shape[0]):
        b = high[words[j]]
        norm_j = np.float32(0.0)
        for k in range(n_topics):
            norm_j += room[k] * from_high(b[k])
        norm[j] = norm_j
    if is_complete:
        for j in range(words.shape[0]):
            suffices &= norm[j] >= LEAST_NORM
    return suffices
