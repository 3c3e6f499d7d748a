"""Gibbs steps: tokens of a cell are given joint values anew, given all other tokens.

Tokens of a cell are exchangeable: the chain is one of their numbers at each joint value. Which of
them has which value is arbitrary, so that a token must be drawn with equal probabilities.
"""

import math

import numpy as np

from models.allocation.annealing.urn import Urn, count, factor, factors
from models.arrays import Floats, Ints32
from models.kernel import kernel

LEAST = 1e-250  # Factor below which a value is as good as impossible


@kernel
def draw(weights: Floats, n_values: int, total: float, rng: np.random.Generator) -> int:
    """Draw h with probability weights[h] / total, never one of weight 0."""
    left = rng.random() * total
    h = 0
    left -= weights[0]
    while left >= 0.0 and h < n_values - 1:
        h += 1
        left -= weights[h]
    while weights[h] <= 0.0 and h > 0:  # rounding must not draw what is impossible
        h -= 1
    while weights[h] <= 0.0 and h < n_values - 1:
        h += 1
    return h


@kernel
def sum_of(weights: Floats, n_values: int) -> float:
    """Equivalent to `weights[:n_values].sum()`."""
    total = 0.0
    for h in range(n_values):
        total += weights[h]
    return total


@kernel
def log_ratio(up: float, down: float) -> float:
    """Return log(up / down), finite also where one is 0."""
    return math.log(max(up, LEAST) / max(down, LEAST))


@kernel
def exponentiate(weights: Floats, n_values: int) -> None:
    """Replace the logs in `weights[:n_values]` by weights, the largest 1."""
    top = weights[:n_values].max()
    for h in range(n_values):
        weights[h] = math.exp(weights[h] - top)


@kernel
def resample_tokens(
    urn: Urn,
    counts: Floats,
    values: Ints32,
    rho: float,
    cell: int,
    n_visits: int,
    weights: Floats,
    rng: np.random.Generator,
) -> None:
    """Resample tokens of a cell, drawn with replacement. Changes `counts` and `values`.

    Where a joint value depends on its own tokens only, one token changes two weights.
    """
    pattern = urn.pattern_of[cell]
    n_values, first = urn.n_values[pattern], urn.cell_start[cell]
    n_tokens = urn.cell_start[cell + 1] - first
    new = -1
    for _ in range(n_visits):
        token = first + int(rng.random() * n_tokens) if n_tokens > 1 else first
        old = values[token]
        count(urn, counts, cell, old, -1.0)
        if new >= 0 and urn.is_own[pattern]:
            weights[old] = factor(urn, counts, rho, cell, old)
            weights[new] = factor(urn, counts, rho, cell, new)
        else:
            factors(urn, counts, rho, cell, weights)
        new = draw(weights, n_values, sum_of(weights, n_values), rng)
        count(urn, counts, cell, new, 1.0)
        values[token] = new


@kernel
def split_cell(
    urn: Urn,
    counts: Floats,
    values: Ints32,
    rho: float,
    cell: int,
    weights: Floats,
    later: Floats,
    rng: np.random.Generator,
) -> None:
    """Divide the tokens that have one of two joint values between these anew, in one step.

    A token of the cell, drawn at random, has the first; the second is any other. Of m tokens, s
    have the first value with a probability proportional to

        m! / (s! (m - s)!) ∏_{i<s} u_a(i) ∏_{i<m-s} u_b(i),

    where u(i) is the factor of a token that joins i others. Changes `counts` and `values`;
    `weights` and `later` (most tokens of a cell + 1,) are scratch.
    """
    pattern = urn.pattern_of[cell]
    n_values, first, last = urn.n_values[pattern], urn.cell_start[cell], urn.cell_start[cell + 1]
    if n_values < 2 or not urn.is_own[pattern]:
        return
    a = values[first + int(rng.random() * (last - first))]
    b = int(rng.random() * (n_values - 1))
    b = b + 1 if b >= a else b
    n_a, n_b = 0, 0
    for token in range(first, last):
        n_a += values[token] == a
        n_b += values[token] == b
    m = n_a + n_b
    count(urn, counts, cell, a, -float(n_a))
    count(urn, counts, cell, b, -float(n_b))
    for i in range(m):
        later[i] = factor(urn, counts, rho, cell, b)
        count(urn, counts, cell, b, 1.0)
    count(urn, counts, cell, b, -float(m))
    weights[0] = 0.0
    for s in range(m):
        up, down = factor(urn, counts, rho, cell, a), later[m - s - 1]
        weights[s + 1] = weights[s] + log_ratio(up * (m - s), down * (s + 1))
        count(urn, counts, cell, a, 1.0)
    exponentiate(weights, m + 1)
    count(urn, counts, cell, a, -float(m))
    n_a = draw(weights, m + 1, sum_of(weights, m + 1), rng)
    count(urn, counts, cell, a, float(n_a))
    count(urn, counts, cell, b, float(m - n_a))
    for token in range(first, last):
        if values[token] == a or values[token] == b:
            values[token] = a if n_a > 0 else b
            n_a -= 1


@kernel
def draw_independent(
    urn: Urn, counts: Floats, values: Ints32, weights: Floats, rng: np.random.Generator
) -> None:
    """Draw all tokens without reinforcement, into `values`, and add them to `counts`, all 0."""
    for cell in range(urn.pattern_of.shape[0]):
        n_values = urn.n_values[urn.pattern_of[cell]]
        factors(urn, counts, 0.0, cell, weights)
        total = sum_of(weights, n_values)
        for token in range(urn.cell_start[cell], urn.cell_start[cell + 1]):
            values[token] = draw(weights, n_values, total, rng)
            count(urn, counts, cell, values[token], 1.0)


@kernel
def log_probability_independent(urn: Urn, weights: Floats) -> float:
    """Return the log-probability of all tokens' visible values without reinforcement."""
    nothing = np.zeros(urn.alpha.shape[0])
    total = 0.0
    for cell in range(urn.pattern_of.shape[0]):
        factors(urn, nothing, 0.0, cell, weights)
        sum_here = sum_of(weights, urn.n_values[urn.pattern_of[cell]])
        total += (urn.cell_start[cell + 1] - urn.cell_start[cell]) * np.log(sum_here)
    return total
