"""Kernels of the l1-penalised Poisson regression of one word's counts on those of all others.

    min over θ, φ of  (1/n) Σ_i [exp η_i - y_i η_i] + λ |φ|_1,    η_i = θ + φ·x_i,  y_i = x_is + β

(Inouye et al. 2015, Sec. 2, after Inouye et al. 2014). The best θ for a given φ is known: the rates
μ_i = exp η_i then sum to Y = Σ_i y_i, so that μ = Y softmax(Xφ), whatever the size of counts. The
profiled objective is convex in φ,

    f(φ) = (Y/n) log Σ_i exp(φ·x_i) - (1/n) Σ_i y_i φ·x_i,
    ∇f = (Xᵀμ - Xᵀy) / n,    ∇²f = (Xᵀ diag(μ) X - Xᵀμ (Xᵀμ)ᵀ / Y) / n.

It is solved by proximal Newton steps (Lee, Sun & Saunders 2014) over a working set of words, whose
quadratic models are solved by coordinate descent. A word outside the working set is screened by a
bound of its slope, which must stay below λ: since both μ sum to Y,

    |∇f(φ)_j - ∇f(φ')_j| ≤ |x_j - mean x_j| |μ - μ'| / n,

and most slopes are never recomputed.
"""

from typing import NamedTuple

import numpy as np

from models.arrays import Floats, Ints, Ints32
from models.kernel import kernel
from models.order import select_smallest
from models.poisson_mrf.working_set import Exponentials, Selected, Table, fit_selected, select

MARGIN = 0.9  # Share of the tolerance to aim at, as a margin for rounding
FIRST_WORDS = 20  # Minimum number of words to add to the working set
LOOSENESS = 0.1  # Share of its initial violation to which a working set is solved
MAX_ROUNDS = 500  # Maximum number of working sets


class Setting(NamedTuple):
    """Settings of all nodes."""

    penalty: float
    smoothing: float
    tolerance: float


class Scratch(NamedTuple):
    """Arrays that the nodes of a block use in turn."""

    coefficient: Floats  # (V,), φ; zeros between nodes
    product: Floats  # (V,), Xᵀy
    slope: Floats  # (V,), ∇f as last computed
    seen: Floats  # (V,), path length of μ when the slope was computed
    rate: Floats  # (n,), μ
    last_rate: Floats  # (n,), μ of the round before
    place_of: Ints32
    """(n,), place of each document among those of the working set; -1 between rounds."""


@kernel
def working_set(s: int, scratch: Scratch, penalty: float, slack: float) -> Ints:
    """Return words with a coefficient, and as many (or `FIRST_WORDS`) of largest violation."""
    n_words = len(scratch.slope)
    excess = np.empty(n_words)
    n_kept, n_wanting = 0, 0
    for j in range(n_words):
        if scratch.coefficient[j] != 0.0:
            n_kept += 1
        elif j != s and abs(scratch.slope[j]) > penalty + slack:
            excess[n_wanting] = abs(scratch.slope[j])
            n_wanting += 1
    room, least = max(FIRST_WORDS, n_kept), penalty + slack
    if n_wanting > room:
        least = select_smallest(excess[:n_wanting], n_wanting - room)
    chosen = np.empty(n_kept + n_wanting, dtype=np.int64)
    n_chosen = 0
    for j in range(n_words):
        wanting = j != s and abs(scratch.slope[j]) > penalty + slack
        if scratch.coefficient[j] != 0.0 or (wanting and abs(scratch.slope[j]) >= least):
            chosen[n_chosen] = j
            n_chosen += 1
    return chosen[:n_chosen]


@kernel
def screen_inactive_words(
    table: Table, s: int, words: Ints, scratch: Scratch, travelled: float, penalty: float
) -> float:
    """Recompute slopes outside of `words` (W,) that may have reached λ; return the worst violation.
    Mutates `slope` and `seen` of `scratch`.
    """
    n_docs, n_words = len(scratch.rate), len(scratch.slope)
    worst, next_ = 0.0, 0
    for j in range(n_words):
        if next_ < len(words) and words[next_] == j:
            next_ += 1
            continue
        if j == s:
            continue
        # NaN, 0 · inf, for an unseen word with the same count in all documents: not above the
        # penalty, which is right, since the slope of such a word is 0.
        drift = table.spread[j] / n_docs * (travelled - scratch.seen[j])
        if abs(scratch.slope[j]) + drift > penalty:
            sum_ = 0.0
            for entry in range(table.word_start[j], table.word_start[j + 1]):
                sum_ += table.word_count[entry] * scratch.rate[table.doc_of[entry]]
            scratch.slope[j] = (sum_ - scratch.product[j]) / n_docs
            scratch.seen[j] = travelled
            worst = max(worst, abs(scratch.slope[j]) - penalty)
    return worst


@kernel
def begin(table: Table, s: int, mean: float, smoothing: float, scratch: Scratch) -> None:
    """Fill `product`, `slope`, `seen` and `last_rate` of `scratch` for word s.
    Without coefficients all slopes are known; else none is.
    """
    n_docs, n_words = len(scratch.rate), len(scratch.slope)
    cold = True
    for j in range(n_words):
        scratch.product[j] = smoothing * table.total[j]
        cold &= scratch.coefficient[j] == 0.0
    for entry in range(table.word_start[s], table.word_start[s + 1]):
        d, count = table.doc_of[entry], table.word_count[entry]
        for other in range(table.doc_start[d], table.doc_start[d + 1]):
            scratch.product[table.word_of[other]] += count * table.doc_count[other]
    for j in range(n_words):
        slope = (mean * table.total[j] - scratch.product[j]) / n_docs  # every rate is the mean
        scratch.slope[j] = slope if cold and j != s else 0.0
        scratch.seen[j] = 0.0 if cold else -np.inf
    scratch.last_rate[:] = mean


@kernel
def move_rates(part: Selected, now: Exponentials, scratch: Scratch) -> float:
    """Set `rate` and `last_rate` of `scratch` to μ; return the distance it moved."""
    scale = part.total / now.total
    scratch.rate[:] = scale * now.other
    for i in range(len(part.docs)):
        scratch.rate[part.docs[i]] = scale * now.value[i]
    square = 0.0
    for d in range(part.n_docs):
        square += (scratch.rate[d] - scratch.last_rate[d]) ** 2
    for d in range(part.n_docs):
        scratch.last_rate[d] = scratch.rate[d]
    return float(np.sqrt(square))


@kernel
def fit_node(table: Table, s: int, setting: Setting, scratch: Scratch) -> tuple[float, float, Ints]:
    """Fit word s from `coefficient` of `scratch`, in place.
    Returns θ, the largest violation, and the working set, which contains all coefficients.
    """
    n_docs = len(scratch.rate)
    penalty, tolerance = setting.penalty, MARGIN * setting.tolerance
    mean = table.total[s] / n_docs + setting.smoothing
    begin(table, s, mean, setting.smoothing, scratch)
    intercept, travelled = np.log(mean), 0.0
    worst = max(0.0, np.abs(scratch.slope).max() - penalty)
    words = working_set(s, scratch, penalty, 0.5 * tolerance)
    for _ in range(MAX_ROUNDS):
        if len(words) == 0:
            break
        part = select(table, words, scratch.product, mean * n_docs, scratch.place_of)
        coefficient = scratch.coefficient[words]
        now, slope, inside, settled = fit_selected(part, coefficient, penalty, LOOSENESS, tolerance)
        intercept = np.log(part.total / now.total) - now.shift
        travelled += move_rates(part, now, scratch)
        for k in range(len(words)):
            scratch.coefficient[words[k]] = coefficient[k]
            scratch.slope[words[k]] = slope[k]
            scratch.seen[words[k]] = travelled
        outside = screen_inactive_words(table, s, words, scratch, travelled, penalty)
        worst = max(inside, outside)
        if worst <= tolerance or (not settled and inside >= outside):
            break
        words = working_set(s, scratch, penalty, 0.5 * tolerance)
    return intercept, worst, words


@kernel
def new_scratch(n_docs: int, n_words: int) -> Scratch:
    """Return the arrays for a block of nodes."""
    return Scratch(
        np.zeros(n_words),
        np.empty(n_words),
        np.empty(n_words),
        np.empty(n_words),
        np.empty(n_docs),
        np.empty(n_docs),
        np.full(n_docs, -1, dtype=np.int32),
    )


@kernel
def fit_block(
    table: Table,
    first: int,
    last: int,
    setting: Setting,
    start: tuple[Ints, Ints32, Floats],
    intercept: Floats,
    residual: Floats,
    n_found: Ints,
) -> tuple[Ints32, Floats]:
    """Fit the words `first <= s < last`, from the coefficients `start` (a CSR matrix's arrays).
    Fills these entries of `intercept`, `residual` and `n_found`, the numbers of coefficients (all
    (V,)). Returns words and values of the coefficients of all nodes, in order.
    """
    n_docs, n_words = len(table.doc_start) - 1, len(table.total)
    scratch = new_scratch(n_docs, n_words)
    row_start, start_word, start_value = start
    found_word, found_value = np.empty(64, dtype=np.int32), np.empty(64)
    end = 0
    for s in range(first, last):
        for entry in range(row_start[s], row_start[s + 1]):
            scratch.coefficient[start_word[entry]] = start_value[entry]
        intercept[s], residual[s], words = fit_node(table, s, setting, scratch)
        if end + len(words) > len(found_word):
            size = 2 * (end + len(words))
            longer_word, longer_value = np.empty(size, dtype=np.int32), np.empty(size)
            for i in range(end):
                longer_word[i], longer_value[i] = found_word[i], found_value[i]
            found_word, found_value = longer_word, longer_value
        n_found[s] = 0
        for j in words:
            if scratch.coefficient[j] != 0.0:
                found_word[end], found_value[end] = j, scratch.coefficient[j]
                n_found[s] += 1
                end += 1
                scratch.coefficient[j] = 0.0
    return found_word[:end], found_value[:end]
