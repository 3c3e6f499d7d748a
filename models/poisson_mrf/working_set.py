"""Kernels of one word's l1 regression within a working set of words.

Proximal Newton steps (Lee, Sun & Saunders 2014), whose quadratic models are solved by coordinate
descent; see `lasso_kernel` for the objective.
"""

import math
from typing import NamedTuple

import numpy as np

from models.arrays import Floats, Ints, Ints32
from models.kernel import kernel

MODEL_LOOSENESS = 0.05  # Share of its initial violation to which a quadratic model is solved
PATIENCE = 100  # Maximum number of consecutive Newton steps without a smaller violation
MAX_SWEEPS = 2000  # Maximum number of coordinate descent sweeps a step
MAX_HALVINGS = 60  # Maximum number of halvings of a step
LARGEST_RISE = 3.0
"""Maximum increase of the log of a rate by a step, to first order: quadratic models underestimate
how steeply rates rise, and a step that overshoots in one document drives all other rates, and so
the curvature of the next model, to zero."""
DAMPING = 1e-6  # Initial ridge after a failed step, as a share of the largest second derivative
MAX_DAMPINGS = 12  # Maximum number of retries, each with ten times that ridge
MIN_DECREASE = 1e-3  # Minimum decrease by a step, as a share of that of the model (Armijo)
RIDGE = 1e-13  # Ridge on second derivatives, as a share of the minuend of their difference
LOG2_E = 1.0 / math.log(2.0)
LN2 = math.log(2.0)
MIN_EXPONENT = -700.0  # exp(-700) is still a normal number
ROUNDING = 1e-15  # Changes of the objective due to rounding, as a share of its terms


class Table(NamedTuple):
    """Counts (n, V) by document and by word, as kernels read them."""

    doc_start: Ints  # (n + 1,)
    word_of: Ints32  # (nnz,), by document
    doc_count: Floats  # (nnz,), by document
    word_start: Ints  # (V + 1,)
    doc_of: Ints32  # (nnz,), by word
    word_count: Floats  # (nnz,), by word
    total: Floats  # (V,), Σ_i x_ij
    spread: Floats  # (V,), |x_j - mean x_j|


class Selected(NamedTuple):
    """The W words of a working set in the m documents that have any of them."""

    docs: Ints  # (m,)
    word_start: Ints  # (W + 1,), first entry of each word
    place: Ints32  # Number of the document, 0..m - 1, by word
    word_count: Floats  # x, by word
    doc_start: Ints  # (m + 1,), first entry of each document, shorter documents first
    doc_place: Ints32  # (m,), number of that document
    word: Ints32  # Number of the word, 0..W - 1, by document, ascending in each
    doc_count: Floats  # x, by document
    product: Floats  # (W,), Xᵀy
    n_docs: int  # n, including documents without these words
    total: float  # Y


class Exponentials(NamedTuple):
    """exp(φ·x_i - shift) of the documents of a working set, and the sum over all documents."""

    value: Floats  # (m,)
    other: float  # exp(-shift), for documents without these words
    total: float
    shift: float


@kernel
def select(table: Table, words: Ints, product: Floats, total: float, place_of: Ints32) -> Selected:
    """Return the entries of ascending `words` (W,); `place_of` (n,) holds -1, before and after."""
    n_words, n_docs = len(words), len(place_of)
    word_start = np.zeros(n_words + 1, dtype=np.int64)
    for k in range(n_words):
        n_entries = table.word_start[words[k] + 1] - table.word_start[words[k]]
        word_start[k + 1] = word_start[k] + n_entries
    n_entries = word_start[-1]
    place, count = np.empty(n_entries, dtype=np.int32), np.empty(n_entries)
    docs = np.empty(min(n_docs, n_entries), dtype=np.int64)
    length = np.zeros(len(docs), dtype=np.int64)
    m = 0
    for k in range(n_words):
        first = table.word_start[words[k]]
        for entry in range(word_start[k], word_start[k + 1]):
            source = first + entry - word_start[k]
            d = table.doc_of[source]
            i = place_of[d]
            if i < 0:
                i = m
                place_of[d], docs[m] = i, d
                m += 1
            length[i] += 1
            place[entry], count[entry] = i, table.word_count[source]
    # Documents of one length are adjacent, so that branches of loops over pairs are predictable.
    of_length = np.zeros(n_words + 2, dtype=np.int64)
    for i in range(m):
        of_length[length[i] + 1] += 1
        place_of[docs[i]] = -1
    of_length = np.cumsum(of_length)
    doc_start, doc_place = np.zeros(m + 1, dtype=np.int64), np.empty(m, dtype=np.int32)
    end = np.empty(m, dtype=np.int64)
    for i in range(m):
        row = of_length[length[i]]
        of_length[length[i]] += 1
        doc_place[row] = i
    for row in range(m):
        end[doc_place[row]] = doc_start[row]
        doc_start[row + 1] = doc_start[row] + length[doc_place[row]]
    word, doc_count = np.empty(n_entries, dtype=np.int32), np.empty(n_entries)
    for k in range(n_words):
        for entry in range(word_start[k], word_start[k + 1]):
            to = end[place[entry]]
            end[place[entry]] = to + 1
            word[to], doc_count[to] = k, count[entry]
    return Selected(
        docs[:m],
        word_start,
        place,
        count,
        doc_start,
        doc_place,
        word,
        doc_count,
        product[words],
        n_docs,
        total,
    )


@kernel
def add_up(part: Selected, weight: Floats) -> Floats:
    """Return Σ_k x_ik weight_k (m,)."""
    found = np.zeros(len(part.docs))
    for k in range(len(weight)):
        if weight[k] != 0.0:
            for entry in range(part.word_start[k], part.word_start[k + 1]):
                found[part.place[entry]] += weight[k] * part.word_count[entry]
    return found


@kernel
def fill_exp(x: Floats) -> None:
    """Replace x (m,), none above 0, by exp(max(x, -700)). Without branches and calls, so that it
    vectorises: exp x = 2^e exp r with |r| <= ln(2)/2, and the Taylor polynomial of degree 13. The
    relative error is about |x| 1e-16, as that of rounding x.
    """
    for i in range(len(x)):
        t = x[i]
        t = t if t > MIN_EXPONENT else MIN_EXPONENT
        e = np.floor(t * LOG2_E + 0.5)
        r = t - e * LN2
        p = 1 / 3628800 + r * (1 / 39916800 + r * (1 / 479001600 + r / 6227020800))
        p = 1 / 720 + r * (1 / 5040 + r * (1 / 40320 + r * (1 / 362880 + r * p)))
        p = 1.0 + r * (1.0 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r * p)))))
        x[i] = p * np.int64((np.int64(np.int32(e)) + 1023) << 52).view(np.float64)


@kernel
def exponentials(part: Selected, base: Floats, direction: Floats, step: float) -> Exponentials:
    """Return the exponentials of φ·x = base + step direction (m,)."""
    value = base + step * direction
    shift = 0.0
    for i in range(len(value)):
        shift = value[i] if value[i] > shift else shift
    for i in range(len(value)):
        value[i] -= shift
    fill_exp(value)
    other, total = np.exp(max(-shift, MIN_EXPONENT)), 0.0
    for i in range(len(value)):
        total += value[i]
    return Exponentials(value, other, total + (part.n_docs - len(value)) * other, shift)


@kernel
def first_moments(part: Selected, now: Exponentials) -> Floats:
    """Return Xᵀμ (W,)."""
    moment = np.empty(len(part.product))
    for k in range(len(moment)):
        sum_ = 0.0
        for entry in range(part.word_start[k], part.word_start[k + 1]):
            sum_ += part.word_count[entry] * now.value[part.place[entry]]
        moment[k] = sum_ * (part.total / now.total)
    return moment


@kernel
def second_derivatives(part: Selected, now: Exponentials, moment: Floats) -> Floats:
    """Return ∇²f (W, W)."""
    n_words = len(moment)
    found = np.zeros((n_words, n_words))
    scale = part.total / now.total
    for i in range(len(part.docs)):
        rate = scale * now.value[part.doc_place[i]]
        for entry in range(part.doc_start[i], part.doc_start[i + 1]):
            weight, row = rate * part.doc_count[entry], found[part.word[entry]]
            for other in range(part.doc_start[i], entry + 1):
                row[part.word[other]] += weight * part.doc_count[other]
    for j in range(n_words):
        square = found[j, j]
        for k in range(j + 1):
            value = (found[j, k] - moment[j] * (moment[k] / part.total)) / part.n_docs
            found[j, k], found[k, j] = value, value
        found[j, j] = max(found[j, j], 0.0) + RIDGE * square / part.n_docs
    return found


@kernel
def violation(slope: float, coefficient: float, penalty: float) -> float:
    """Return the violation of a coefficient's optimality condition."""
    if coefficient > 0.0:
        return abs(slope + penalty)
    if coefficient < 0.0:
        return abs(slope - penalty)
    return max(0.0, abs(slope) - penalty)


@kernel
def largest_violation(slope: Floats, coefficient: Floats, penalty: float) -> float:
    """Return the largest violation over a working set."""
    worst = 0.0
    for j in range(len(slope)):
        worst = max(worst, violation(slope[j], coefficient[j], penalty))
    return worst


@kernel
def minimise_model(
    hessian: Floats, slope: Floats, coefficient: Floats, penalty: float, tolerance: float
) -> None:
    """Coordinate descent on slope·δ + δ·Hδ/2 + λ |φ + δ|_1; adds δ to φ and Hδ to `slope`.
    Sweeps alternate between all words and, until convergence, those with a coefficient.
    """
    everyone = True
    for _ in range(MAX_SWEEPS):
        worst = 0.0
        for j in range(len(slope)):
            old, curvature = coefficient[j], hessian[j, j]
            if (old == 0.0 and not everyone) or curvature <= 0.0:
                continue
            free = curvature * old - slope[j]
            new = 0.0
            if free > penalty:
                new = (free - penalty) / curvature
            elif free < -penalty:
                new = (free + penalty) / curvature
            change = new - old
            if change != 0.0:
                coefficient[j] = new
                worst = max(worst, curvature * abs(change))
                row = hessian[j]
                for k in range(len(slope)):
                    slope[k] += change * row[k]
        if worst <= tolerance:
            if everyone:
                return
            everyone = True
        else:
            everyone = False


@kernel
def longest_step(now: Exponentials, direction: Floats) -> float:
    """Return the largest step, at most 1, that raises no log rate by more than `LARGEST_RISE`.
    To first order, a log rate changes by the change of its predictor, an entry of `direction` (m,),
    less the mean of all changes weighted by the rates.
    """
    highest, mean = 0.0, 0.0
    for i in range(len(direction)):
        highest = direction[i] if direction[i] > highest else highest
        mean += now.value[i] * direction[i]
    rise = highest - mean / now.total
    return LARGEST_RISE / rise if rise > LARGEST_RISE else 1.0


@kernel
def take_step(
    part: Selected,
    predictor: Floats,
    now: Exponentials,
    coefficient: Floats,
    target: Floats,
    promised: float,
    penalty: float,
) -> tuple[Exponentials, bool]:
    """Line search from `coefficient` to `target` until the objective falls enough.
    Mutates `coefficient` (W,) and `predictor` (m,), Xφ. `promised` is the change of the linear
    model, negative. The second result says whether a step was made.
    """
    change = target - coefficient
    direction = add_up(part, change)
    mean, linear = part.total / part.n_docs, 0.0
    step = longest_step(now, direction)
    for k in range(len(change)):
        linear += part.product[k] * change[k] / part.n_docs
    for _ in range(MAX_HALVINGS):
        then = exponentials(part, predictor, direction, step)
        growth = (np.log(then.total) - np.log(now.total)) + (then.shift - now.shift)
        penalised = 0.0
        terms = mean * (np.abs(np.log(now.total)) + now.shift) + step * abs(linear)
        for k in range(len(change)):
            old = abs(coefficient[k])
            penalised += abs(coefficient[k] + step * change[k]) - old
            terms += penalty * old
        difference = mean * growth - step * linear + penalty * penalised
        if difference <= MIN_DECREASE * step * promised or (
            difference <= ROUNDING * terms and -step * promised <= ROUNDING * terms
        ):
            for k in range(len(change)):
                coefficient[k] = target[k] if step == 1.0 else coefficient[k] + step * change[k]
            for i in range(len(direction)):
                predictor[i] += step * direction[i]
            return then, True
        step *= 0.5
    return now, False


@kernel
def fit_selected(
    part: Selected, coefficient: Floats, penalty: float, looseness: float, tolerance: float
) -> tuple[Exponentials, Floats, float, bool]:
    """Proximal Newton steps for φ (W,), in place; return μ's exponentials, ∇f (W,), its violation.
    Stops when the violation is below `tolerance` or below `looseness` times the initial one; the
    last result says whether it got there.
    """
    predictor = add_up(part, coefficient)
    now = exponentials(part, predictor, predictor, 0.0)
    moment = first_moments(part, now)
    slope = (moment - part.product) / part.n_docs
    worst = largest_violation(slope, coefficient, penalty)
    goal = max(tolerance, looseness * worst)
    least, patience = worst, PATIENCE
    while worst > goal and patience > 0:
        hessian = second_derivatives(part, now, moment)
        moved, ridge = False, -np.inf
        for k in range(len(hessian)):
            ridge = max(ridge, DAMPING * hessian[k, k])
        for _ in range(1 + MAX_DAMPINGS):
            target, model_slope = coefficient.copy(), slope.copy()
            minimise_model(
                hessian, model_slope, target, penalty, max(MODEL_LOOSENESS * worst, 0.1 * tolerance)
            )
            promised = 0.0
            for k in range(len(target)):
                promised += slope[k] * (target[k] - coefficient[k])
                promised += penalty * (abs(target[k]) - abs(coefficient[k]))
            if not promised < 0.0:
                break
            now, moved = take_step(part, predictor, now, coefficient, target, promised, penalty)
            if moved:
                break
            for k in range(len(target)):
                hessian[k, k] += ridge
            ridge *= 10.0
        if not moved:
            break
        moment = first_moments(part, now)
        slope = (moment - part.product) / part.n_docs
        worst = largest_violation(slope, coefficient, penalty)
        if worst < least:
            least, patience = worst, PATIENCE
        patience -= 1
    return now, slope, worst, worst <= goal
