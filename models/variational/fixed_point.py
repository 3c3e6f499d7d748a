"""Fixed point of γ of one document, iterated over the topics that still change.

After a few iterations most topics of a document have converged. The others, the active ones, are
then iterated alone, on a small copy of their weights, while the share of the converged topics in
the norm Σ_j t_j b_jw of each word is kept constant. Iterations over all topics follow until one
changes γ by less than the tolerance, or the cap is reached; each can make any topic active again.
With caps of 5 or less every iteration is that of Hoffman, Blei & Bach 2010, Algorithm 2.
"""

import numpy as np
from numpy.typing import NDArray

from models.arrays import Floats, Ints32
from models.kernel import kernel
from models.variational.digamma import exp_digamma, exp_digamma_up_to_factor

Ints = Ints32 | NDArray[np.int64]
AnyFloats = Floats | NDArray[np.float32]
TINY = 1e-100
"""Added to norms: a word is skipped if no topic has it, or only topics with t far below this."""
_AT_REST = 0.1  # of the tolerance: a topic whose γ changes by less is not active
_WORTH_A_COPY = 5  # iterations: with fewer left, copying the weights of active topics takes longer
_AT_A_TIME = 50  # iterations of active topics before one of all: others may change slowly


@kernel
def infer_document(
    words: Ints,
    counts: Floats,
    word_topic_weight: Floats,
    alpha: Floats,
    max_iterations: int,
    tolerance: float,
    gamma: Floats,
    theta: Floats,
) -> int:
    """Iterate γ of one document to its fixed point, from the starting value in `gamma` (K,).

    Fills `theta` (K,) with exp ψ(γ) up to a factor. The document's entries are `counts` (n,) of
    `words` (n,), rows of `word_topic_weight` (V, K). Stops when an iteration over all topics
    changes γ by less than `tolerance`, on average over topics, or after `max_iterations`, of active
    topics or of all. Returns their number.
    """
    n_topics = gamma.shape[0]
    total = np.empty(n_topics)
    change = np.empty(n_topics)
    norm = np.empty(words.shape[0])
    factor_is_one = exp_digamma_up_to_factor(gamma, theta)
    iterations = 0
    converged = False
    while iterations < max_iterations and not converged:
        iterations += 1
        sum_over_words(words, counts, word_topic_weight, theta, norm, total)
        change_in_all = 0.0
        n_active = 0
        for k in range(n_topics):
            updated = alpha[k] + theta[k] * total[k]
            change[k] = abs(updated - gamma[k])
            gamma[k] = updated
        for k in range(n_topics):
            change_in_all += change[k]
            n_active += change[k] >= _AT_REST * tolerance
        converged = change_in_all < tolerance * n_topics
        left = max_iterations - iterations
        few = n_active <= n_topics // 2 and left >= _WORTH_A_COPY
        if few and factor_is_one and not converged:
            active, n_listed = np.empty(n_active, dtype=np.int64), 0
            for k in range(n_topics):
                if change[k] >= _AT_REST * tolerance:
                    active[n_listed] = k
                    n_listed += 1
            iterations += iterate_active_topics(
                active,
                words,
                counts,
                word_topic_weight,
                alpha,
                min(left, _AT_A_TIME),
                tolerance,
                norm,
                gamma,
                theta,
            )
        factor_is_one = exp_digamma_up_to_factor(gamma, theta)
    return iterations


@kernel
def iterate_active_topics(
    active: NDArray[np.int64],
    words: Ints,
    counts: Floats,
    word_topic_weight: Floats,
    alpha: Floats,
    max_iterations: int,
    tolerance: float,
    norm: Floats,
    gamma: Floats,
    theta: Floats,
) -> int:
    """Iterate γ of the topics `active` until it changes by less than `tolerance` times all K.

    Topics that converge are left out from then on, and their share in norms is kept. Mutates these
    entries of `gamma` (K,), and `active` itself. `norm` (n,) is Σ_k t_k b_kw of each word, t being
    `theta` (K,). Returns the number of iterations, `max_iterations` at most.
    """
    n_words, n_active = words.shape[0], active.shape[0]
    topic_word = np.empty((n_active, n_words))
    held = np.empty(n_words)
    part_topics(active, words, word_topic_weight, theta, norm, topic_word, held)
    active_gamma, active_alpha, active_theta = gamma[active], alpha[active], np.empty(n_active)
    total = np.empty(n_active)
    ratio = np.empty(n_words)
    for iteration in range(max_iterations):
        exp_digamma(active_gamma[:n_active], active_theta[:n_active])
        sum_over_topics(topic_word[:n_active], active_theta, held, ratio)
        for j in range(n_words):
            ratio[j] = counts[j] / ratio[j]
        sum_by_topic(topic_word[:n_active], ratio, total)
        change_in_all = 0.0
        n_kept = 0
        for i in range(n_active):
            updated = active_alpha[i] + active_theta[i] * total[i]
            change = abs(updated - active_gamma[i])
            change_in_all += change
            gamma[active[i]] = updated
            if change >= _AT_REST * tolerance:
                active[n_kept], active_alpha[n_kept] = active[i], active_alpha[i]
                active_gamma[n_kept] = updated
                if n_kept < i:
                    for j in range(n_words):
                        topic_word[n_kept, j] = topic_word[i, j]
                n_kept += 1
            else:
                for j in range(n_words):
                    held[j] += active_theta[i] * topic_word[i, j]
        n_active = n_kept
        if change_in_all < tolerance * gamma.shape[0]:
            return iteration + 1
    return max_iterations


@kernel
def part_topics(
    active: NDArray[np.int64],
    words: Ints,
    word_topic_weight: Floats,
    theta: Floats,
    norm: Floats,
    topic_word: Floats,
    held: Floats,
) -> None:
    """Fill `topic_word` (A, n) with the weights of the topics `active`, `held` (n,) with the rest.
    The rest is the share of all other topics in `norm` (n,), Σ_k t_k b_kw with t in `theta` (K,).
    The copy is by topic, as there are few topics and the sums that follow are over words.
    """
    for j in range(words.shape[0]):
        weight = word_topic_weight[words[j]]
        for i in range(active.shape[0]):
            topic_word[i, j] = weight[active[i]]
    sum_over_topics(topic_word, -theta[active], norm, held)
    for j in range(words.shape[0]):
        held[j] = held[j] if held[j] > TINY else TINY  # where the rest is only rounding


@kernel
def sum_over_words(
    words: Ints,
    counts: Floats,
    word_topic_weight: Floats,
    theta: Floats,
    norm: Floats,
    total: Floats,
) -> None:
    """Fill `norm` (n,) with Σ_k t_k b_kw, and `total` (K,) with Σ_w n_dw b_kw / norm_w.
    Equivalent to `norm[:] = weight @ theta; total[:] = (counts / norm) @ weight`, where `weight` is
    `word_topic_weight[words]`. Four words at a time, so that `theta` and `total` are read and
    written a quarter as often.
    """
    n_topics = theta.shape[0]
    total[:] = 0.0
    in_fours = words.shape[0] // 4 * 4
    for j in range(0, in_fours, 4):
        b0, b1 = word_topic_weight[words[j]], word_topic_weight[words[j + 1]]
        b2, b3 = word_topic_weight[words[j + 2]], word_topic_weight[words[j + 3]]
        norm0 = norm1 = norm2 = norm3 = TINY
        for k in range(n_topics):
            norm0 += theta[k] * b0[k]
            norm1 += theta[k] * b1[k]
            norm2 += theta[k] * b2[k]
            norm3 += theta[k] * b3[k]
        norm[j], norm[j + 1], norm[j + 2], norm[j + 3] = norm0, norm1, norm2, norm3
        ratio0, ratio1 = counts[j] / norm0, counts[j + 1] / norm1
        ratio2, ratio3 = counts[j + 2] / norm2, counts[j + 3] / norm3
        for k in range(n_topics):
            total[k] += ratio0 * b0[k] + ratio1 * b1[k] + ratio2 * b2[k] + ratio3 * b3[k]
    for j in range(in_fours, words.shape[0]):
        b = word_topic_weight[words[j]]
        norm_j = TINY
        for k in range(n_topics):
            norm_j += theta[k] * b[k]
        norm[j] = norm_j
        ratio = counts[j] / norm_j
        for k in range(n_topics):
            total[k] += ratio * b[k]


@kernel
def sum_over_topics(topic_word: AnyFloats, theta: Floats, held: AnyFloats, norm: AnyFloats) -> None:
    """Fill `norm` (n,) with held_w + Σ_i t_i b_iw, for `topic_word` b (A, n), in steps of four.
    Sums are of the type of `norm`, float64 or float32.
    """
    n_topics, n_words = topic_word.shape
    in_fours = n_topics // 4 * 4
    number = norm.dtype.type
    for j in range(n_words):
        norm[j] = held[j]
    for i in range(0, in_fours, 4):
        b0, b1, b2, b3 = topic_word[i], topic_word[i + 1], topic_word[i + 2], topic_word[i + 3]
        t0, t1 = number(theta[i]), number(theta[i + 1])
        t2, t3 = number(theta[i + 2]), number(theta[i + 3])
        for j in range(n_words):
            norm[j] += t0 * b0[j] + t1 * b1[j] + t2 * b2[j] + t3 * b3[j]
    for i in range(in_fours, n_topics):
        b, t = topic_word[i], number(theta[i])
        for j in range(n_words):
            norm[j] += t * b[j]


@kernel
def sum_by_topic(topic_word: AnyFloats, ratio: AnyFloats, total: AnyFloats) -> None:
    """Fill `total` (A,) with Σ_w ratio_w b_iw, for `topic_word` b (A, n), in steps of four.
    Sums are of the type of `total`, float64 or float32.
    """
    n_topics, n_words = topic_word.shape
    in_fours = n_topics // 4 * 4
    nothing = total.dtype.type(0.0)
    for i in range(0, in_fours, 4):
        b0, b1, b2, b3 = topic_word[i], topic_word[i + 1], topic_word[i + 2], topic_word[i + 3]
        total0 = total1 = total2 = total3 = nothing
        for j in range(n_words):
            total0 += ratio[j] * b0[j]
            total1 += ratio[j] * b1[j]
            total2 += ratio[j] * b2[j]
            total3 += ratio[j] * b3[j]
        total[i], total[i + 1], total[i + 2], total[i + 3] = total0, total1, total2, total3
    for i in range(in_fours, n_topics):
        b = topic_word[i]
        total_i = nothing
        for j in range(n_words):
            total_i += ratio[j] * b[j]
        total[i] = total_i


@kernel
def mix_topics(words: Ints, word_topic_weight: Floats, theta: Floats, mixed: Floats) -> None:
    """Fill `mixed` (n,) with Σ_k t_k b_kw of each of `words` (n,), four at a time.
    Equivalent to `mixed[:] = word_topic_weight[words] @ theta`.
    """
    in_fours = words.shape[0] // 4 * 4
    for j in range(0, in_fours, 4):
        b0, b1 = word_topic_weight[words[j]], word_topic_weight[words[j + 1]]
        b2, b3 = word_topic_weight[words[j + 2]], word_topic_weight[words[j + 3]]
        mixed0 = mixed1 = mixed2 = mixed3 = 0.0
        for k in range(theta.shape[0]):
            mixed0 += theta[k] * b0[k]
            mixed1 += theta[k] * b1[k]
            mixed2 += theta[k] * b2[k]
            mixed3 += theta[k] * b3[k]
        mixed[j], mixed[j + 1], mixed[j + 2], mixed[j + 3] = mixed0, mixed1, mixed2, mixed3
    for j in range(in_fours, words.shape[0]):
        b = word_topic_weight[words[j]]
        mixed_j = 0.0
        for k in range(theta.shape[0]):
            mixed_j += theta[k] * b[k]
        mixed[j] = mixed_j
