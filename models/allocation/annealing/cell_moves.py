"""Gibbs steps: all tokens of a cell are given joint values anew, in one exact step.

Tokens of a cell are exchangeable, and where a joint value's factors depend on its own tokens of the
cell only (`Urn.is_own`), the numbers s_h of its m tokens with the values h have a probability
proportional to

    ∏_h ∏_{i<s_h} u_h(i) / s_h!,

where u_h(i) is the factor of a token that joins i others. Sums over values are polynomial products.
They are kept for each value, and the s_h are drawn backwards: an exact draw, in time proportional
to the number of values and the squared number of tokens. Factors are divided by a number of their
size; numbers of tokens whose weight underflows all the same are as good as impossible. Where all of
them do, under extreme priors, tokens are resampled one by one, which other cells alone decide.
"""

import math
from typing import NamedTuple

import numpy as np

from models.allocation.annealing.token_moves import draw, resample_tokens, sum_of
from models.allocation.annealing.urn import Urn, count, multiply
from models.arrays import Bools, Floats, Ints, Ints32
from models.kernel import kernel

MAX_CELL = 64  # Tokens of a cell that is resampled in one step at most
MAX_WEIGHTS = 1 << 16  # Joint values times numbers of tokens of such a cell at most


class CellScratch(NamedTuple):
    """Scratch for the largest cell that is resampled in one step."""

    numbers: Ints32  # (most joint values,)
    weights: Floats  # (most joint values · (most tokens + 1),), numbers by values
    sums: Floats  # As many, values by numbers


def whole_cells(urn: Urn) -> Bools:
    """Return which cells are resampled in one step: (n_cells,)."""
    n_tokens = np.diff(urn.cell_start)
    is_small = (n_tokens <= MAX_CELL) & (_n_weights(urn) <= MAX_WEIGHTS)
    whole: Bools = is_small & (n_tokens > 1) & urn.is_own[urn.pattern_of]
    return whole


def cell_scratch(urn: Urn, is_whole: Bools) -> CellScratch:
    """Return scratch for all cells that are resampled in one step."""
    n_weights = int(_n_weights(urn)[is_whole].max(initial=0))
    n_values = int(urn.n_values[urn.pattern_of][is_whole].max(initial=0))
    return CellScratch(
        numbers=np.zeros(n_values, dtype=np.int32),
        weights=np.zeros(n_weights),
        sums=np.zeros(n_weights),
    )


def scratch_bytes() -> int:
    """Return the memory that scratch takes, at most."""
    return 16 * MAX_WEIGHTS


def _n_weights(urn: Urn) -> Ints:
    n_weights: Ints = urn.n_values[urn.pattern_of] * (np.diff(urn.cell_start) + 1)
    return n_weights


@kernel
def resample_cell(
    urn: Urn,
    counts: Floats,
    values: Ints32,
    rho: float,
    cell: int,
    scratch: CellScratch,
    rng: np.random.Generator,
) -> None:
    """Resample all tokens of a cell of `whole_cells`. Changes `counts` and `values`."""
    n_values, first = urn.n_values[urn.pattern_of[cell]], urn.cell_start[cell]
    m, numbers, weights = urn.cell_start[cell + 1] - first, scratch.numbers, scratch.weights
    for token in range(first, first + m):
        count(urn, counts, cell, values[token], -1.0)
    _own_factors(urn, counts, rho, cell, m, weights)
    scale = _scale(weights, n_values, m)
    for s in range(1, m + 1):
        inverse = 1.0 / (scale * s)
        for h in range(s * n_values, (s + 1) * n_values):
            weights[h] *= weights[h - n_values] * inverse
    _multiply_all(weights, n_values, m + 1, scratch.sums)
    if not _draw_numbers(weights, n_values, m, scratch.sums, numbers, rng):
        for token in range(first, first + m):
            count(urn, counts, cell, values[token], 1.0)
        resample_tokens(urn, counts, values, rho, cell, m, weights, rng)
        return
    token = first
    for h in range(n_values):
        if numbers[h] > 0:
            count(urn, counts, cell, h, float(numbers[h]))
        for _ in range(numbers[h]):
            values[token] = h
            token += 1


@kernel
def _own_factors(urn: Urn, counts: Floats, rho: float, cell: int, m: int, weights: Floats) -> None:
    """Fill row 0 of `weights` (m + 1, n_values) with 1, row i + 1 with u_h(i) of all values h."""
    pattern = urn.pattern_of[cell]
    n_values, at = urn.n_values[pattern], urn.columns_at[pattern]
    for h in range((m + 1) * n_values):
        weights[h] = 1.0
    for f in range(urn.power.shape[0]):
        n_uses, earlier = _uses(urn, cell, f)
        base, power, is_straight = urn.address[cell, f], urn.power[f], urn.is_straight[pattern, f]
        columns = urn.columns[at + f * n_values : at + (f + 1) * n_values]
        for i in range(m):
            of_all = weights[(i + 1) * n_values : (i + 2) * n_values]
            more = rho * (earlier + i * n_uses)
            if is_straight:
                multiply(urn.alpha[base:], counts[base:], rho, more, power, n_values, of_all)
                continue
            for h in range(n_values):
                entry = base + columns[h]
                value = urn.alpha[entry] + rho * counts[entry] + more
                for _ in range(abs(power)):
                    of_all[h] *= value if power > 0 else 1.0 / value


@kernel
def _uses(urn: Urn, cell: int, f: int) -> tuple[int, int]:
    """Return how many factors read the entries that f reads, and how many of them come before."""
    n_uses, earlier = 0, 0
    for g in range(urn.first_use[f], urn.power.shape[0]):
        is_same = urn.first_use[g] == urn.first_use[f]
        if is_same and urn.address[cell, g] == urn.address[cell, f]:
            n_uses += 1
            earlier += g < f
    return n_uses, earlier


@kernel
def _scale(factors: Floats, n_values: int, m: int) -> float:
    """Return about the geometric mean of the factors of the value that is largest at the end.

    Factors grow at most like a power of i, whose geometric mean is that of i = m / e.
    """
    best, top = 0, 0.0
    for h in range(n_values):
        if factors[n_values + h] > 0.0 and factors[m * n_values + h] > top:
            best, top = h, factors[m * n_values + h]
    scale: float = factors[(1 + int(m / math.e)) * n_values + best]
    return scale


@kernel
def _multiply_all(weights: Floats, n_values: int, width: int, sums: Floats) -> None:
    """Fill row h of `sums` with the product of the polynomials in columns 0 to h of `weights`, but
    for the last.
    """
    for s in range(width):
        sums[s] = weights[s * n_values]
    for h in range(1, n_values - 1):
        before, after = sums[(h - 1) * width : h * width], sums[h * width : (h + 1) * width]
        after[:] = before  # by the weight of no token, 1
        for s in range(1, width):
            by, longer = weights[s * n_values + h], after[s:]
            for n in range(width - s):
                longer[n] += by * before[n]


@kernel
def _draw_numbers(
    weights: Floats, n_values: int, m: int, sums: Floats, numbers: Ints32, rng: np.random.Generator
) -> bool:
    """Draw how many of m tokens have each value, the last value first. Overwrites `sums`.

    Returns False if the weights are beyond the range of floating-point numbers.
    """
    left, width = m, m + 1
    for h in range(n_values - 1, 0, -1):
        numbers[h] = 0
        if left > 0:
            chances = sums[h * width : (h + 1) * width]
            for s in range(left + 1):
                chances[s] = weights[s * n_values + h] * sums[(h - 1) * width + left - s]
            total = sum_of(chances, left + 1)
            if not 0.0 < total < np.inf:
                return False
            numbers[h] = draw(chances, left + 1, total, rng)
        left -= numbers[h]
    numbers[0] = left
    return True
