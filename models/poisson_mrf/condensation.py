"""Condensed documents, which consist of a few mutually dependent words, and damping of them.

x·Φx grows with the square of the number of tokens, θ·x linearly. Where ω(L) L Φ_st is large,
documents of s and t alone, or of a clique of words, outweigh all others together, however rare the
words are: the distribution has condensed. Chains that start at typical documents never reach them,
and estimate a partition function without that part. The published fields condense. For any x with
L tokens,

    log(L! / ∏ x_s!) + θ·x + ω(L) x·Φx  ≤  A_L + log L!        (θ normalised)

is a lower bound. This module searches for the best such x, starting from the best pair of each
word, and damps the interactions that make them outweigh typical documents.
"""

from typing import Any

import numpy as np
from scipy import sparse

from models.arrays import Bools, Floats, Ints
from models.kernel import kernel
from models.poisson_mrf.distribution import FixedLengthPoissonMRF
from models.poisson_mrf.partition_table import mean_interaction

MARGIN = 5.0
"""Nats by which damped condensed documents are less probable than all documents together."""
CRITICAL = (0.5, 0.7, 1.0, 1.4, 2.0)
"""Lengths to check, in half lengths: documents condense first where ω(L) L is largest, at 1."""
MAX_PASSES = 50
MAX_WORDS = 10.0  # Maximum number of words of a condensed document that the search assumes


def condensed_floor(mrf: FixedLengthPoissonMRF, lengths: Ints) -> Floats:
    """Return lower bounds (n_lengths,) of A_L + log L! - L logsumexp θ from the best documents."""
    rows = _rows_of(mrf)
    found = np.full(len(lengths), -np.inf)
    for i, length in enumerate(lengths):
        found[i] = best_document(*rows, float(mrf.weight(length)), int(length), np.inf)
    return found


def damp_condensing_interactions(mrf: FixedLengthPoissonMRF, longest: int) -> FixedLengthPoissonMRF:
    """Return the field with weaker interactions among words on which documents would condense.

    For lengths up to `longest`, the interactions among the words of a condensed document are scaled
    so that it is `MARGIN` nats less probable than all documents together, until none is found.
    Other interactions stay, as do those that raise a document by less than `MARGIN`. By Jensen's
    inequality for documents of the multinomial, all documents together are at least A_L + log L! ≥
    ω(L) L (L - 1) p·Φp, p = exp θ, normalised.
    """
    start, word, weight, node = _rows_of(mrf)
    lengths = critical_lengths(mrf.half_length, longest)
    pairs = max(0.0, mean_interaction(mrf))
    for _ in range(MAX_PASSES):
        condensed = []
        for length in lengths:
            omega = float(mrf.weight(length))
            threshold = omega * length * (length - 1) * pairs - MARGIN
            before = weight.copy()
            best_document(start, word, weight, node, omega, length, threshold)
            if not np.array_equal(weight, before):
                condensed.append(length)
        lengths = condensed  # at other lengths documents only became less probable
        if not lengths:
            break
    phi = sparse.csr_array((weight, word.copy(), start.copy()), shape=mrf.interactions.shape)
    even: Any = (phi + phi.T) / 2.0  # removes rounding
    return FixedLengthPoissonMRF(mrf.node, even, mrf.half_length)


def critical_lengths(half_length: float, longest: int) -> list[int]:
    """Return numbers of tokens, from 2 to `longest`, at which documents condense most easily."""
    near = np.minimum(half_length * np.array(CRITICAL), float(longest))
    return sorted({max(2, round(float(length))) for length in near})


def _rows_of(mrf: FixedLengthPoissonMRF) -> tuple[Ints, Ints, Floats, Floats]:
    """Return row starts, words and values (a copy) of Φ, and normalised θ."""
    phi = mrf.interactions
    start, word = phi.indptr.astype(np.int64), phi.indices.astype(np.int64)
    return start, word, phi.data.copy(), np.log(mrf.word_probability)


@kernel
def best_document(  # noqa: C901, PLR0912, PLR0915 - a call takes longer than a move
    start: Ints,
    word: Ints,
    weight: Floats,
    node: Floats,
    omega: float,
    length: int,
    threshold: float,
) -> float:
    """Return the largest log(L! / ∏ x_s!) + θ·x + ω x·Φx found from the best pair of each word.
    Interactions of a document above `threshold` are scaled in place to bring it down to that, if
    they contribute more than `MARGIN` nats.
    """
    n_words = len(node)
    n = np.zeros(n_words, dtype=np.int64)
    inner = np.zeros(n_words)  # Φx
    touched = np.zeros(n_words, dtype=np.int64)
    is_touched = np.zeros(n_words, dtype=np.bool_)
    log_factorial = 0.0
    for i in range(2, length + 1):
        log_factorial += np.log(i)
    best = -np.inf
    for s in range(n_words):
        other = _best_partner(start, word, weight, node, omega, length, s)
        if other < 0:
            continue
        n_touched = 0
        for u, some in ((s, length - length // 2), (other, length // 2)):
            if not is_touched[u]:
                is_touched[u], touched[n_touched] = True, u
                n_touched += 1
            n_touched = _add(start, word, weight, u, some, n, inner, touched, is_touched, n_touched)
        is_climbing = True
        while is_climbing:  # move a token from the word that loses least to the one that gains most
            giver, taker, lost, gained = -1, -1, np.inf, -np.inf
            for i in range(n_touched):
                u = touched[i]
                gain = node[u] - np.log(n[u] + 1.0) + 2.0 * omega * inner[u]
                if gain > gained:
                    gained, taker = gain, u
                if n[u] > 0:
                    loss = node[u] - np.log(float(n[u])) + 2.0 * omega * inner[u]
                    if loss < lost:
                        lost, giver = loss, u
            is_climbing = False
            if giver != taker and giver >= 0:
                change = gained - lost
                for e in range(start[giver], start[giver + 1]):
                    if word[e] == taker:
                        change -= 2.0 * omega * weight[e]
                if change > 1e-9:
                    n_touched = _add(
                        start, word, weight, giver, -1, n, inner, touched, is_touched, n_touched
                    )
                    n_touched = _add(
                        start, word, weight, taker, 1, n, inner, touched, is_touched, n_touched
                    )
                    is_climbing = True
        base, pairs = log_factorial, 0.0
        for i in range(n_touched):
            u = touched[i]
            base += n[u] * node[u]
            pairs += n[u] * inner[u] * omega
            for j in range(2, n[u] + 1):
                base -= np.log(j)
        best = max(best, base + pairs)
        limit = max(threshold - base, MARGIN)
        if pairs > limit:
            factor = limit / pairs * (1.0 - 1e-9)
            for i in range(n_touched):
                u = touched[i]
                if n[u] == 0:
                    continue
                for e in range(start[u], start[u + 1]):
                    if n[word[e]] > 0 and weight[e] > 0.0:
                        weight[e] *= factor
        for i in range(n_touched):
            u = touched[i]
            n[u], inner[u], is_touched[u] = 0, 0.0, False
    return best


@kernel
def _best_partner(
    start: Ints, word: Ints, weight: Floats, node: Floats, omega: float, length: int, s: int
) -> int:
    """Return the best partner of s in a document of two words; -1 if s cannot condense.
    In a condensed document all tokens have the same gain, at least 0. So its most frequent word s
    has -θ_s + log u_s ≤ 2 ω L max_t Φ_st, with a share u_s of at least a tenth for up to ten words.
    """
    half = length // 2
    best, found, strongest = -np.inf, -1, 0.0
    for e in range(start[s], start[s + 1]):
        if weight[e] > 0.0:
            strongest = max(strongest, weight[e])
            value = 2.0 * omega * weight[e] * half * (length - half) + half * node[word[e]]
            if value > best:
                best, found = value, word[e]
    if 2.0 * omega * length * strongest + np.log(MAX_WORDS) < -node[s]:
        return -1
    return found


@kernel
def _add(
    start: Ints,
    word: Ints,
    weight: Floats,
    u: int,
    some: int,
    n: Ints,
    inner: Floats,
    touched: Ints,
    is_touched: Bools,
    n_touched: int,
) -> int:
    """Add `some` tokens of word u; return the new number of touched words."""
    n[u] += some
    for e in range(start[u], start[u + 1]):
        t = word[e]
        inner[t] += some * weight[e]
        if not is_touched[t]:
            is_touched[t], touched[n_touched] = True, t
            n_touched += 1
    return n_touched
