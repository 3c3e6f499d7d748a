"""Accelerated fixed point of γ of one document under topics that are fixed.

1. First passes over all topics read weights of 9 bits (`models.variational.first_passes`). They
   start from responsibilities in proportion to the weights, γ_k = α_k + Σ_w n_w b_kw / Σ_j b_jw. A
   topic whose share has become small is left out.
2. The others, a few dozen even of 1,000, are iterated on a copy of their weights, in cycles of
   SQUAREM (Varadhan & Roland 2008, scheme S3), a third of the iterations of the plain fixed point.
   The copy is of float32, or of the 9 bits where these change γ by less than the tolerance.
   Topics are left out as before.
3. One more pass tells what the topics left out would get. Those that would hold more than
   `_FAINT` times the tolerance wake: steps 2 and 3 are repeated with them. The 9 bits then change
   γ of no topic by more than a tenth of the tolerance.

The fixed point is that of `models.variational.fixed_point`. Where a document has several, the start
decides which is found. That of step 1 does not depend on α. The even start, α_k + n/K, gives a
document with fewer tokens than topics to the topics of large α, as exp ψ(x) falls like exp(-1/x).
"""

import numpy as np
from numpy.typing import NDArray

from models.arrays import Floats
from models.kernel import kernel
from models.variational.digamma import exp_digamma
from models.variational.first_passes import (
    LEAST_NORM,
    Floats32,
    Ints,
    add_rows,
    mix_rows,
    pass_over_all,
)
from models.variational.fixed_point import sum_by_topic, sum_over_topics
from models.variational.halved_weights import HalvedWeights, from_halves, from_high

_BLOCK = 32  # words: copies have a multiple of them, as loops over the rest would be slow
_COARSE = 2.0**-13  # of a document's tokens: what 9 bits change in γ
_FADING = 0.05  # tokens: may be left out within step 2
_FAINT = 25.0  # times the tolerance: what a topic that is left out may hold in the end
_AT_REST = 0.1  # of the tolerance
_LEAST_SHARE = 0.1  # of what an iteration gives a topic, that an extrapolation leaves it
_ROUNDS = 10
_SUSTAINED = 0.5  # α_k: up to it a topic needs a total of more than 1 to hold tokens
_SURPLUS = 0.01  # of a document's tokens: what γ may hold beyond them
_SETTLING = 20  # iterations of a topic that is left out, at most


@kernel
def infer_accelerated(
    words: Ints,
    counts: Floats,
    weights: HalvedWeights,
    alpha: Floats,
    faint: Floats,
    max_iterations: int,
    tolerance: float,
    gamma: Floats,
) -> int:
    """Fill `gamma` (K,) with the fixed point of a document: entries `counts` (n,) of `words` (n,).

    `faint` (K,) is exp ψ(α). Done when an iteration changes γ by less than `tolerance` on average
    over topics, or after `max_iterations`. Returns their number, or 0 if float32 does not suffice,
    as for words that only topics of hardly any share have, or if γ does not hold as much as there
    are tokens; it is of no use then.
    """
    n_topics, n_words = alpha.shape[0], words.shape[0]
    n_padded = (n_words + _BLOCK - 1) // _BLOCK * _BLOCK
    n = np.zeros(n_padded, dtype=np.float32)
    for j in range(n_words):
        n[j] = counts[j]
    out, theta = np.empty(n_topics, dtype=np.bool_), np.empty(n_topics)
    norm, ratio = np.empty(n_padded, dtype=np.float32), np.empty(n_padded, dtype=np.float32)
    total = np.empty(n_topics, dtype=np.float32)
    iterations = pass_over_all(
        words, n, weights.high, alpha, max_iterations, gamma, out, theta, total, norm, ratio
    )
    active, n_active = np.empty(n_topics, dtype=np.int64), 0
    for k in range(n_topics):
        if not out[k]:
            active[n_active] = k
            n_active += 1
    norm[:n_words] = np.float32(0.0)  # those left out hold nothing at first
    norm[n_words:] = np.float32(1.0)
    rest = np.zeros(n_topics)
    suffices = iterations > 0
    for _ in range(_ROUNDS):
        if not suffices or iterations >= max_iterations:
            break
        before = iterations
        n_active, iterations = iterate_copies(
            active, n_active, words, n, weights, alpha, norm, iterations, max_iterations,
            tolerance, gamma, ratio,
        )  # fmt: skip
        if iterations == before:
            return 0
        add_rows(words, ratio, weights.high, total)
        flag(active, n_active, True, out)
        n_woken, change = settle(out, total, alpha, faint, tolerance, gamma, rest, active, n_active)
        if not n_woken and change < tolerance * n_topics:
            break
        n_active += n_woken
        flag(active, n_active, False, out)
        suffices = mix_rows(words, weights.high, gamma, out, theta, total, norm, False)
    # A word of hardly any share in the topics kept wakes others with too much, up to an overflow.
    n_tokens = np.float64(counts.sum())
    surplus = abs(gamma.sum() - alpha.sum() - n_tokens)
    suffices &= surplus < _SURPLUS * n_tokens + 2.0 * tolerance * n_topics
    return iterations if suffices else 0


@kernel
def flag(active: NDArray[np.int64], n_active: int, others: bool, out: NDArray[np.bool_]) -> None:
    """Set `out` (K,) to `others`, but the first `n_active` of `active` to the contrary."""
    out[:] = others
    for i in range(n_active):
        out[active[i]] = not others


@kernel
def settle(
    out: NDArray[np.bool_],
    total: Floats32,
    alpha: Floats,
    faint: Floats,
    tolerance: float,
    gamma: Floats,
    rest: Floats,
    active: NDArray[np.int64],
    n_active: int,
) -> tuple[int, float]:
    """Iterate γ_k = α_k + t_k total_k of the topics that are `out`, each on its own.

    Mutates their γ, and `rest` (K,), what each holds. Those that would hold more than `_FAINT`
    times the tolerance are appended to `active`. Returns their number, and the sum of changes of
    `rest`.
    """
    n_topics = gamma.shape[0]
    waiting, x, t = np.empty(n_topics, dtype=np.int64), np.empty(n_topics), np.empty(n_topics)
    holds, n_woken = np.zeros(n_topics), 0
    n_waiting = start_from_below(out, total, alpha, faint, tolerance, gamma, holds, waiting)
    for _ in range(_SETTLING):
        if not n_waiting:
            break
        for i in range(n_waiting):
            x[i] = gamma[waiting[i]]
        exp_digamma(x[:n_waiting], t[:n_waiting])
        n_left = 0
        for i in range(n_waiting):
            k = waiting[i]
            holds[k] = t[i] * total[k]
            if holds[k] > _AT_REST * tolerance and holds[k] < 0.9 * (x[i] - alpha[k]):
                waiting[n_left] = k
                n_left += 1
            gamma[k] = alpha[k] + holds[k]
        n_waiting = n_left
    for k in range(n_topics):
        if holds[k] > _FAINT * tolerance:
            active[n_active + n_woken] = k
            n_woken += 1
            holds[k] = 0.0
    change = distance(holds, rest)
    rest[:] = holds
    return n_woken, change


@kernel
def start_from_below(
    out: NDArray[np.bool_],
    total: Floats32,
    alpha: Floats,
    faint: Floats,
    tolerance: float,
    gamma: Floats,
    holds: Floats,
    waiting: NDArray[np.int64],
) -> int:
    """Fill `gamma` (K,) and `holds` (K,) of the topics that are `out` and hold hardly anything.

    With a total of 1 or less there is no fixed point but the one next to α_k, as exp ψ(x) is below
    x - 1/2 + 1/(24 x); the first iteration from α_k is all that most of them need. Fills `waiting`
    with the others, and returns their number.
    """
    n_waiting = 0
    for k in range(out.shape[0]):
        if out[k]:
            may_hold = total[k] > 1.0 or alpha[k] > _SUSTAINED
            if not may_hold:
                holds[k] = faint[k] * total[k]
                gamma[k] = alpha[k] + holds[k]
            if may_hold or holds[k] > _AT_REST * tolerance:
                waiting[n_waiting] = k
                n_waiting += 1
    return n_waiting


@kernel
def iterate_copies(
    active: NDArray[np.int64],
    n_active: int,
    words: Ints,
    counts: Floats32,
    weights: HalvedWeights,
    alpha: Floats,
    held: Floats32,
    iterations: int,
    max_iterations: int,
    tolerance: float,
    gamma: Floats,
    ratio: Floats32,
) -> tuple[int, int]:
    """Iterate γ of the first `n_active` topics of `active` until it changes by less than the
    tolerance times all K.

    `held` (n,) is the share of all others in the norms; it is changed. Topics that fade are taken
    out of `active`. Fills `ratio` (n,) with n_w / norm_w. Returns the number of topics left and of
    iterations; this is the one given if float32 does not suffice.
    """
    limit = tolerance * alpha.shape[0]
    topic_word = np.zeros((n_active, held.shape[0]), dtype=np.float32)
    is_exact = counts.sum() * _COARSE > limit
    copy_topics(active, words, weights, is_exact, topic_word)
    x = np.empty((3, n_active))  # two iterations, and what is extrapolated from them
    x[0] = gamma[active[:n_active]]
    prior, theta = alpha[active[:n_active]], np.empty(n_active)
    total = np.empty(n_active, dtype=np.float32)
    started, n, step = iterations, n_active, 0
    while iterations < max_iterations:
        source, target = x[step, :n], x[step + 1 if step < 2 else 0, :n]
        if step == 2:
            extrapolate(prior, x[0, :n], x[1, :n], x[2, :n])
            source = x[1, :n]
        if not iterate_once(
            topic_word[:n], held, counts, prior, source, theta, ratio, total, target
        ):
            return n, started
        iterations += 1
        if step < 2 and (distance(source, target) < limit or iterations == max_iterations):
            x[0, :n] = target
            break
        if step == 2:
            n = leave_out(
                active, prior, x[0, :n], x[1], x[2], theta, tolerance, topic_word, held, gamma
            )
        step = (step + 1) % 3
    for i in range(n):
        gamma[active[i]] = x[0, i]
    return n, iterations


@kernel
def leave_out(
    active: NDArray[np.int64],
    alpha: Floats,
    x0: Floats,
    x1: Floats,
    x2: Floats,
    theta: Floats,
    tolerance: float,
    topic_word: Floats32,
    held: Floats32,
    gamma: Floats,
) -> int:
    """Take topics that are faint and at rest, or fade, out of the first n of the arrays.

    `x0` (n,) is γ now, `x1` before the last iteration and `x2` before an extrapolation. What faint
    topics hold is added to `held`. Returns the number of topics left.
    """
    n_kept, n_words = 0, held.shape[0]
    for i in range(x0.shape[0]):
        share = x0[i] - alpha[i]
        is_faint = share < _FAINT * tolerance and abs(x0[i] - x1[i]) < _AT_REST * tolerance
        is_fading = share < _FADING and share < 0.5 * (x2[i] - alpha[i])
        if is_faint or is_fading:
            gamma[active[i]] = x0[i]
            if not is_fading:
                for j in range(n_words):
                    held[j] += np.float32(theta[i]) * topic_word[i, j]
            continue
        if n_kept < i:
            active[n_kept], alpha[n_kept], x0[n_kept] = active[i], alpha[i], x0[i]
            for j in range(n_words):
                topic_word[n_kept, j] = topic_word[i, j]
        n_kept += 1
    return n_kept


@kernel
def copy_topics(
    active: NDArray[np.int64],
    words: Ints,
    weights: HalvedWeights,
    is_exact: bool,
    topic_word: Floats32,
) -> None:
    """Fill `topic_word` (A, n) with the weights of the first A topics of `active`, by topic.

    If it is not to be exact, all but the last one to three words are read from the high halves
    alone. Columns beyond those of `words` are left as they are.
    """
    n_active, n_words = topic_word.shape[0], words.shape[0]
    in_fours = n_words // 4 * 4
    high, low = weights
    for j in range(0, in_fours, 4):
        w0, w1, w2, w3 = words[j], words[j + 1], words[j + 2], words[j + 3]
        for i in range(n_active):
            k = active[i]
            row = topic_word[i]
            if is_exact:
                row[j] = from_halves(high[w0, k], low[w0, k])
                row[j + 1] = from_halves(high[w1, k], low[w1, k])
                row[j + 2] = from_halves(high[w2, k], low[w2, k])
                row[j + 3] = from_halves(high[w3, k], low[w3, k])
            else:
                row[j] = from_high(high[w0, k])
                row[j + 1] = from_high(high[w1, k])
                row[j + 2] = from_high(high[w2, k])
                row[j + 3] = from_high(high[w3, k])
    for j in range(in_fours, n_words):
        for i in range(n_active):
            topic_word[i, j] = from_halves(high[words[j], active[i]], low[words[j], active[i]])


@kernel
def iterate_once(
    topic_word: Floats32,
    held: Floats32,
    counts: Floats32,
    alpha: Floats,
    gamma: Floats,
    theta: Floats,
    ratio: Floats32,
    total: Floats32,
    updated: Floats,
) -> bool:
    """Fill `updated` (A,) with α_k + t_k Σ_w n_w b_kw / norm_w, t = exp ψ(γ).
    `topic_word` b is (A, n), and norms include `held` (n,). Fills `theta`, `ratio` (n,) with
    n_w / norm_w and `total` as well. Returns whether float32 suffices.
    """
    n_topics, n_words = topic_word.shape
    exp_digamma(gamma, theta[:n_topics])
    sum_over_topics(topic_word, theta, held, ratio)
    least = np.float32(1.0)
    for j in range(n_words):
        least = min(least, ratio[j])
    if least < LEAST_NORM:
        return False
    for j in range(n_words):
        ratio[j] = counts[j] / ratio[j]
    sum_by_topic(topic_word, ratio, total)
    for i in range(n_topics):
        updated[i] = alpha[i] + theta[i] * total[i]
    return True


@kernel
def distance(a: Floats, b: Floats) -> float:
    """Return Σ |a - b|."""
    total = 0.0
    for i in range(a.shape[0]):
        total += abs(a[i] - b[i])
    return total


@kernel
def extrapolate(alpha: Floats, x0: Floats, x1: Floats, x2: Floats) -> None:
    """Overwrite `x1` (A,) with the extrapolation of x0, x1 and x2, each an iteration of the last.

    With r = x1 - x0 and v = (x2 - x1) - r that is x0 + 2 s r + s² v, s = |r| / |v| but at least 1
    (Varadhan & Roland 2008, eq. 9 and scheme S3). A topic keeps a tenth of its share of x2.
    """
    of_r = of_v = 0.0
    for i in range(x0.shape[0]):
        r = x1[i] - x0[i]
        v = (x2[i] - x1[i]) - r
        of_r += r * r
        of_v += v * v
    s = max(1.0, np.sqrt(of_r / of_v)) if of_v > 0.0 else 1.0
    for i in range(x0.shape[0]):
        r = x1[i] - x0[i]
        v = (x2[i] - x1[i]) - r
        lowest = alpha[i] + _LEAST_SHARE * (x2[i] - alpha[i])
        x1[i] = max(lowest, x0[i] + 2.0 * s * r + s * s * v)
