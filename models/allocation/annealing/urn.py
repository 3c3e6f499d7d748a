"""Pólya urn of whole allocations, with reinforcement from none to full.

A token that takes a joint value h of its hidden indices does so with the factor (eqs. 4.1 to 4.3)

    u_h = ∏_tables (α + ρ S)^power,

where S are the counts of the other tokens and ρ is the *reinforcement*. At ρ = 1 the product over
tokens is the model's probability; at ρ = 0 tokens are independent, and their sums over hidden
values are known. Any ρ is the urn of the same graph with pseudo-counts α / ρ, so that tokens are
exchangeable for all of them, and the probability of an allocation depends on its counts only.
"""

import math
from typing import NamedTuple

import numpy as np

from models.allocation.inference_plan import InferencePlan
from models.allocation.joint_values import JointValues
from models.arrays import Bools, Floats, Ints, Ints32
from models.kernel import kernel

_HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)
FEW = 8  # Counts up to which rising factorials are multiplied
LARGE = 1000.0  # Pseudo-counts from which two log Γ are subtracted term by term


class Urn(NamedTuple):
    """Arrays that never change. Counts are flat: rows times columns of the dynamic tables."""

    cell_start: Ints  # (n_cells + 1,), first token of each cell; tokens of a cell are consecutive
    pattern_of: Ints  # (n_cells,), pattern of unknown indices
    n_values: Ints  # (n_patterns,), joint values of the unknown indices
    columns_at: Ints  # (n_patterns,), first entry in `columns`: (n_factors, n_values)
    columns: Ints32
    is_straight: Bools  # (n_patterns, n_factors), whether joint value h reads column h
    is_own: Bools
    """(n_patterns,), whether a joint value's factors depend on its own tokens of the cell only.
    Not where a factor is the same for all joint values, and so depends on all tokens."""
    address: Ints  # (n_cells, n_factors), counts that column 0 reads
    first_use: Ints  # (n_factors,), first factor that uses the same table
    power: Ints  # (n_factors,)
    alpha: Floats  # (n_state,), pseudo-count of each count
    entry_power: Ints  # (n_state,)


def urn_of(plan: InferencePlan) -> Urn:
    """Return the urn. Raises TableMemoryError if hidden indices have too many joint values."""
    arrays = plan.arrays
    joint = JointValues.of(plan)
    columns_of_row = np.repeat(
        np.array([table.n_columns for table in plan.dynamic], dtype=np.int64),
        np.array([table.n_rows for table in plan.dynamic], dtype=np.int64),
    )
    row_at = np.concatenate([[0], np.cumsum(columns_of_row)]).astype(np.int64)
    state = np.arange(row_at[-1])
    row = np.repeat(np.arange(len(columns_of_row)), columns_of_row)
    alpha_at = arrays.alpha_at[row] + (state - row_at[row]) * arrays.alpha_step[row]
    n_patterns, n_factors = len(joint.n_values), plan.n_factors
    is_straight = np.zeros((n_patterns, n_factors), dtype=np.bool_)
    is_own = np.ones(n_patterns, dtype=np.bool_)
    for pattern, n in enumerate(joint.n_values):
        at = int(joint.columns_at[pattern])
        read = joint.columns[at : at + n_factors * n].reshape(n_factors, n)
        is_straight[pattern] = (read == np.arange(n)).all(axis=1)
        is_own[pattern] = all(_is_own(read[arrays.table_of == t]) for t in set(arrays.table_of))
    of_row = [np.full(table.n_rows, table.power) for table in plan.dynamic]
    powers = np.concatenate([np.zeros(0, dtype=np.int64), *of_row]).astype(np.int64)
    address = row_at[arrays.row_of] + arrays.offset_of if n_factors else arrays.row_of
    return Urn(
        cell_start=np.concatenate([[0], np.cumsum(plan.observed.counts)]).astype(np.int64),
        pattern_of=arrays.pattern_of,
        n_values=joint.n_values.astype(np.int64),
        columns_at=joint.columns_at.astype(np.int64),
        columns=joint.columns,
        is_straight=is_straight,
        is_own=is_own,
        address=address,
        first_use=arrays.first_use,
        power=arrays.power,
        alpha=arrays.alpha[alpha_at].astype(np.float64),
        entry_power=powers[row],
    )


def _is_own(read: Ints32) -> bool:
    """Whether columns (n_uses, n_values) of a table are other ones for each joint value, whichever
    use reads them.
    """
    return len(np.unique(read[0])) == read.shape[1] and bool((read == read[0]).all())


@kernel
def factor(urn: Urn, counts: Floats, rho: float, cell: int, h: int) -> float:
    """Return u_h, given the counts of the other tokens."""
    pattern = urn.pattern_of[cell]
    n_values, at = urn.n_values[pattern], urn.columns_at[pattern]
    product = 1.0
    for f in range(urn.power.shape[0]):
        entry = urn.address[cell, f] + urn.columns[at + f * n_values + h]
        value = urn.alpha[entry] + rho * counts[entry]
        for g in range(urn.first_use[f], f):  # a tied table sees its earlier uses by this token
            if urn.address[cell, g] + urn.columns[at + g * n_values + h] == entry:
                value += rho
        if urn.power[f] < 0:
            value = 1.0 / value
        product *= value
        for _ in range(abs(urn.power[f]) - 1):
            product *= value
    return product


@kernel
def count(urn: Urn, counts: Floats, cell: int, h: int, step: float) -> None:
    """Add `step` tokens of the joint value h to `counts`."""
    pattern = urn.pattern_of[cell]
    n_values, at = urn.n_values[pattern], urn.columns_at[pattern]
    for f in range(urn.power.shape[0]):
        counts[urn.address[cell, f] + urn.columns[at + f * n_values + h]] += step


@kernel
def count_some(urn: Urn, counts: Floats, values: Ints32, is_chosen: Bools) -> None:
    """Add the chosen tokens (n_tokens,), of these joint values, to `counts`."""
    for cell in range(urn.pattern_of.shape[0]):
        for token in range(urn.cell_start[cell], urn.cell_start[cell + 1]):
            if is_chosen[token]:
                count(urn, counts, cell, values[token], 1.0)


@kernel
def factors(urn: Urn, counts: Floats, rho: float, cell: int, weights: Floats) -> None:
    """Fill `weights` with u_h of all joint values, given the counts of the other tokens."""
    pattern = urn.pattern_of[cell]
    n_values = urn.n_values[pattern]
    for f in range(urn.power.shape[0]):
        if not urn.is_straight[pattern, f] or urn.first_use[f] < f:
            for h in range(n_values):
                weights[h] = factor(urn, counts, rho, cell, h)
            return
    for h in range(n_values):
        weights[h] = 1.0
    for f in range(urn.power.shape[0]):
        base = urn.address[cell, f]
        multiply(urn.alpha[base:], counts[base:], rho, 0.0, urn.power[f], n_values, weights)


@kernel
def multiply(
    alpha: Floats,
    counts: Floats,
    rho: float,
    more: float,
    power: int,
    n_values: int,
    weights: Floats,
) -> None:
    """Equivalent to `weights[:n_values] *= (alpha + rho * counts + more)[:n_values] ** power`."""
    if power == 1:
        for h in range(n_values):
            weights[h] *= alpha[h] + rho * counts[h] + more
        return
    if power == -1:
        for h in range(n_values):
            weights[h] /= alpha[h] + rho * counts[h] + more
        return
    for h in range(n_values):
        value = alpha[h] + rho * counts[h] + more
        product = value
        for _ in range(abs(power) - 1):
            product *= value
        weights[h] *= product if power > 0 else 1.0 / product


@kernel
def log_gamma(x: float) -> float:
    """Return log Γ(x) for x > 0: Stirling's series from 8 on, below by Γ(x+8) / (x ⋯ (x+7))."""
    log_product, y = 0.0, x
    if x < 8.0:
        u = x * (x + 7.0)
        log_product = math.log(u * (u + 6.0) * ((u + 10.0) * (u + 12.0)))
        y = x + 8.0
    z = 1.0 / y
    v = z * z
    series = 1 / 1680 - v * (1 / 1188 - v * (691 / 360360 - v * (1 / 156)))
    series = z * (1 / 12 - v * (1 / 360 - v * (1 / 1260 - v * series)))
    return (y - 0.5) * math.log(y) - y + _HALF_LOG_2_PI + series - log_product


@kernel
def log_rising(alpha: float, n: float, rho: float) -> float:
    """Return Σ_{m<n} log(α + ρ m) for n > 0."""
    if n <= FEW:
        product = 1.0
        for m in range(int(n)):
            product *= alpha + rho * m
        return math.log(product)
    if alpha >= 1e9 * rho * n:
        return n * math.log(alpha) + 0.5 * n * (n - 1.0) * rho / alpha
    x = alpha / rho
    if x >= LARGE:
        both = x + n
        log_ratio = (x - 0.5) * math.log1p(n / x) + n * (math.log(both) - 1.0)
        log_ratio += (1 / both - 1 / x) / 12 - (1 / both**3 - 1 / x**3) / 360
    else:
        log_ratio = log_gamma(x + n) - log_gamma(x)
    return n * math.log(rho) + log_ratio


@kernel
def log_probability(urn: Urn, counts: Floats, rho: float) -> float:
    """Return the log-probability of an allocation, token by token, with its visible values."""
    total = 0.0
    for entry in range(counts.shape[0]):
        if counts[entry] > 0.0:
            total += urn.entry_power[entry] * log_rising(urn.alpha[entry], counts[entry], rho)
    return total
