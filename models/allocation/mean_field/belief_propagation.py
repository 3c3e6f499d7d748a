"""Belief propagation: sums over the hidden indices of each cell, and expected counts.

The probability of the hidden values of a cell is a product of fixed numbers over the tables, with
given logs. Cliques pass messages up to their roots and beliefs back down.
"""

import math
from typing import NamedTuple

import numpy as np

from models.arrays import Bools, Floats, Ints, Ints32
from models.kernel import kernel

_LOG2_E = 1.0 / math.log(2.0)
_LN2_HIGH = 0.693145751953125  # 15 bits of ln 2: a product with a small integer is exact
_LN2_LOW = math.log(2.0) - _LN2_HIGH
_LARGEST_EXPONENT = 700.0  # exp(-700) ≈ 1e-304 is a normal number; smaller ones become 0


class Cliques(NamedTuple):
    """Cliques and their messages; fields as in `models.allocation.inference_plan.PlanArrays`."""

    clique_start: Ints
    n_separator: Ints
    n_rest: Ints
    parent: Ints
    product_at: Ints
    message_at: Ints
    parent_map_at: Ints
    maps: Ints32
    pattern_of: Ints


class Reading(NamedTuple):
    """Positions of the table entries that a clique's combinations of values read, for each cell.

    Combination c of the clique reads, or counts in, `address[cell, f] + c` where the factor is
    straight, else `address[cell, f] + maps[map_at + c]`, for each of the clique's factors f.
    """

    factor_start: Ints
    factor: Ints
    map_at: Ints
    is_straight: Bools
    maps: Ints32
    address: Ints  # (n_cells, n_factors)


@kernel
def exp_of_differences(values: Floats, top: float) -> tuple[float, float]:
    """Replace values v by e = exp(v - top), top their largest; return Σ e and Σ e (v - top).
    Without branches and calls, so that it vectorises. Relative error: 3e-15 for e > 1e-30, 4e-14
    below, where products with n are rounded after reassociation.
    """
    total, weighted = 0.0, 0.0
    for i in range(values.shape[0]):
        t = top - values[i]
        t = t if t < _LARGEST_EXPONENT else _LARGEST_EXPONENT
        # exp(-t) = 2^n exp(r), |r| <= ln(2)/2, by the Taylor polynomial of degree 13
        n = np.floor(0.5 - t * _LOG2_E)
        r = (-t - n * _LN2_HIGH) - n * _LN2_LOW
        e = 1 / 39916800 + r * (1 / 479001600 + r * (1 / 6227020800))
        e = 1 / 40320 + r * (1 / 362880 + r * (1 / 3628800 + r * e))
        e = 1 / 120 + r * (1 / 720 + r * (1 / 5040 + r * e))
        e = 1.0 + r * (1.0 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * e))))
        e *= np.int64((np.int64(np.int32(n)) + 1023) << 52).view(np.float64)
        e = e if t < _LARGEST_EXPONENT else 0.0
        values[i] = e
        total += e
        weighted -= e * t
    return total, weighted


@kernel
def gather(source: Floats, column: Ints32, target: Floats) -> None:
    """Equivalent to `target += source[column]`, of the target's length."""
    for c in range(target.shape[0]):
        target[c] += source[column[c]]


@kernel
def scatter(source: Floats, column: Ints32, target: Floats) -> None:
    """Equivalent to `np.add.at(target, column, source)`, of the source's length."""
    for c in range(source.shape[0]):
        target[column[c]] += source[c]


@kernel
def normalise(product: Floats, n_rest: int, message: Floats, entropy: Floats) -> None:
    """Turn logs (n_separator · n_rest,) into probabilities that sum to 1 over each n_rest.
    `message` receives the logs of their sums and `entropy` their entropies, 0 where no probability
    is positive.
    """
    for s in range(message.shape[0]):
        given = product[s * n_rest : (s + 1) * n_rest]
        top = -np.inf
        for r in range(n_rest):
            top = given[r] if given[r] > top else top
        if top == -np.inf:
            given[:] = 0.0
            message[s], entropy[s] = -np.inf, 0.0
            continue
        total, weighted = exp_of_differences(given, top)
        share = 1.0 / total
        for r in range(n_rest):
            given[r] *= share
        log_total = math.log(total)
        message[s] = top + log_total
        entropy[s] = log_total - weighted * share


@kernel
def collect(
    cliques: Cliques,
    read: Reading,
    log_factor: Floats,
    start: int,
    stop: int,
    scratch: Floats,
    entropy: Floats,
    log_sums: Floats,
) -> None:
    """Pass messages towards the roots, as a log-sum-exp does: fill `log_sums` of cells `start` to
    `stop`.
    The cell's line of `scratch` receives the probability of each clique's values given those of its
    separator, and its line of `entropy`, at the place of the message, their entropies.
    """
    for cell in range(start, stop):
        line, disorder = scratch[cell - start], entropy[cell - start]
        pattern = cliques.pattern_of[cell]
        first = cliques.clique_start[pattern]
        log_sums[cell] = 0.0
        for n in range(first, cliques.clique_start[pattern + 1]):
            at, n_rest = cliques.product_at[n], cliques.n_rest[n]
            product = line[at : at + cliques.n_separator[n] * n_rest]
            product[:] = 0.0
            for g in range(read.factor_start[n], read.factor_start[n + 1]):
                numbers = log_factor[read.address[cell, read.factor[g]] :]
                if read.is_straight[g]:
                    for c in range(product.shape[0]):
                        product[c] += numbers[c]
                else:
                    gather(numbers, read.maps[read.map_at[g] :], product)
            for child in range(first, n):
                if cliques.parent[child] == n:
                    column = cliques.maps[cliques.parent_map_at[child] :]
                    gather(line[cliques.message_at[child] :], column, product)
            at, end = cliques.message_at[n], cliques.message_at[n] + cliques.n_separator[n]
            normalise(product, n_rest, line[at:end], disorder[at:end])
            if cliques.parent[n] < 0:
                log_sums[cell] += line[at]


@kernel
def distribute(
    cliques: Cliques, counts: Ints, start: int, stop: int, scratch: Floats, entropy: Floats
) -> float:
    """Turn conditional probabilities into expected counts; return the tokens' entropy.
    Goes from the roots down: a separator's expected counts are sums over its parent's combinations.
    """
    total = 0.0
    for cell in range(start, stop):
        line, disorder = scratch[cell - start], entropy[cell - start]
        pattern = cliques.pattern_of[cell]
        first, last = cliques.clique_start[pattern], cliques.clique_start[pattern + 1]
        for n in range(last - 1, first - 1, -1):
            n_separator, n_rest = cliques.n_separator[n], cliques.n_rest[n]
            at, parent = cliques.message_at[n], cliques.parent[n]
            message = line[at : at + n_separator]
            if parent < 0:
                message[0] = counts[cell]
            else:
                message[:] = 0.0
                above, size = cliques.product_at[parent], cliques.n_separator[parent]
                size *= cliques.n_rest[parent]
                column = cliques.maps[cliques.parent_map_at[n] :]
                scatter(line[above : above + size], column, message)
            for s in range(n_separator):
                total += message[s] * disorder[at + s]
                given = line[cliques.product_at[n] + s * n_rest :][:n_rest]
                for r in range(n_rest):
                    given[r] *= message[s]
    return total


@kernel
def tally(
    cliques: Cliques, count_in: Reading, start: int, stop: int, scratch: Floats, expected: Floats
) -> None:
    """Add the expected counts of cells `start` to `stop` to `expected`."""
    for cell in range(start, stop):
        line = scratch[cell - start]
        pattern = cliques.pattern_of[cell]
        for n in range(cliques.clique_start[pattern], cliques.clique_start[pattern + 1]):
            at = cliques.product_at[n]
            of_clique = line[at : at + cliques.n_separator[n] * cliques.n_rest[n]]
            for g in range(count_in.factor_start[n], count_in.factor_start[n + 1]):
                numbers = expected[count_in.address[cell, count_in.factor[g]] :]
                if count_in.is_straight[g]:
                    for c in range(of_clique.shape[0]):
                        numbers[c] += of_clique[c]
                else:
                    scatter(of_clique, count_in.maps[count_in.map_at[g] :], numbers)


@kernel
def expect(
    cliques: Cliques,
    read: Reading,
    count_in: Reading,
    log_factor: Floats,
    counts: Ints,
    start: int,
    stop: int,
    scratch: Floats,
    log_sums: Floats,
    expected: Floats,
) -> float:
    """Add the expected counts of cells `start` to `stop` to `expected`; return their entropy.
    `log_sums` (n_cells,) receives the log of the sum over hidden values of each cell. `scratch`
    (2, n, scratch_size) is overwritten; n is the number of cells processed together.
    """
    total = 0.0
    for first in range(start, stop, scratch.shape[1]):
        last = min(stop, first + scratch.shape[1])
        collect(cliques, read, log_factor, first, last, scratch[0], scratch[1], log_sums)
        total += distribute(cliques, counts, first, last, scratch[0], scratch[1])
        tally(cliques, count_in, first, last, scratch[0], expected)
    return total
