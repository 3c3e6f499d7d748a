"""Kernels of mean field: logs of tables given their counts, and the tables' part of objectives."""

import math
from typing import NamedTuple

import numpy as np

from models.arrays import Floats, Ints
from models.kernel import kernel

_HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)


class Rows(NamedTuple):
    """Rows of all tables, with their counts in one flat array."""

    row_at: Ints  # (n_rows,), first number of each row
    n_columns: Ints  # (n_rows,)
    power: Ints  # (n_rows,), exponent of α + S
    alpha: Floats
    alpha_at: Ints  # (n_rows,), first pseudo-count of each row
    alpha_step: Ints  # (n_rows,), 1, or 0 where all columns share one pseudo-count
    log_gamma_alpha: Floats


@kernel
def log_gamma_and_digamma(x: float) -> tuple[float, float]:
    """Return log Γ(x) and ψ(x) for x > 0, which share a logarithm: Stirling's series from x = 8 on.
    Below, Γ(x) = Γ(x+8) / (x ⋯ (x+7)); with u = x(x+7) the factors pair up to u, u+6, u+10, u+12.
    """
    log_product, fractions, y = 0.0, 0.0, x
    if x < 8.0:
        u = x * (x + 7.0)
        p, q, r = u + 6.0, u + 10.0, u + 12.0
        log_product = math.log(u * p * (q * r))
        fractions = (2.0 * x + 7.0) * ((u + p) / (u * p) + (q + r) / (q * r))
        y = x + 8.0
    z = 1.0 / y
    v = z * z
    log_y = math.log(y)
    series = 1 / 1680 - v * (1 / 1188 - v * (691 / 360360 - v * (1 / 156)))
    series = z * (1 / 12 - v * (1 / 360 - v * (1 / 1260 - v * series)))
    log_gamma = (y - 0.5) * log_y - y + _HALF_LOG_2_PI + series - log_product
    series = 1 / 240 - v * (1 / 132 - v * (691 / 32760 - v * (1 / 12)))
    series = v * (1 / 12 - v * (1 / 120 - v * (1 / 252 - v * series)))
    return log_gamma, log_y - 0.5 * z - series - fractions


@kernel
def log_rising(alpha: float, count: float, log_gamma: float, log_gamma_alpha: float) -> float:
    """Return log Γ(α + S) - log Γ(α), given both; for large α without cancellation.
    Large α: the two Stirling series are subtracted term by term.
    """
    if alpha < 1000.0:
        return log_gamma - log_gamma_alpha
    both = alpha + count
    leading = (alpha - 0.5) * math.log1p(count / alpha) + count * (math.log(both) - 1.0)
    return leading + (1 / both - 1 / alpha) / 12 - (1 / both**3 - 1 / alpha**3) / 360


@kernel
def mean_logs(rows: Rows, counts: Floats, log_factor: Floats) -> float:
    """Fill `log_factor` with power · ψ(α + S); return Σ power · (log Γ(α + S) - log Γ(α)).
    Equivalent to `scipy.special.psi` and `gammaln`. Where α + S = 0 the factor is 0, its log -inf.
    """
    rising = 0.0
    for row in range(rows.row_at.shape[0]):
        at, power, step = rows.row_at[row], rows.power[row], rows.alpha_step[row]
        one = rows.alpha[rows.alpha_at[row]]
        log_of_none = power * log_gamma_and_digamma(one)[1] if step == 0 else 0.0
        for c in range(rows.n_columns[row]):
            n = rows.alpha_at[row] + c * step
            count = counts[at + c]
            if count == 0.0 and step == 0:
                log_factor[at + c] = log_of_none
            elif rows.alpha[n] + count > 0.0:
                log_gamma, digamma = log_gamma_and_digamma(rows.alpha[n] + count)
                log_factor[at + c] = power * digamma
                if count > 0.0:
                    rising += power * log_rising(
                        rows.alpha[n], count, log_gamma, rows.log_gamma_alpha[n]
                    )
            else:
                log_factor[at + c] = -np.inf
    return rising


@kernel
def mode_logs(rows: Rows, counts: Floats, log_factor: Floats) -> tuple[float, float]:
    """Fill `log_factor` with power · log(α + S).
    Returns Σ power · α (log(α + S) - log α) and Σ power · S log(α + S).
    """
    of_prior, of_counts = 0.0, 0.0
    for row in range(rows.row_at.shape[0]):
        at, power, step = rows.row_at[row], rows.power[row], rows.alpha_step[row]
        log_of_none = power * math.log(rows.alpha[rows.alpha_at[row]]) if step == 0 else 0.0
        for c in range(rows.n_columns[row]):
            alpha = rows.alpha[rows.alpha_at[row] + c * step]
            count = counts[at + c]
            if count == 0.0 and step == 0:
                log_factor[at + c] = log_of_none
                continue
            log_sum = math.log(alpha + count) if alpha + count > 0.0 else -np.inf
            log_factor[at + c] = power * log_sum
            if count > 0.0:
                of_counts += power * count * log_sum
                of_prior += power * alpha * math.log1p(count / alpha) if alpha > 0.0 else 0.0
    return of_prior, of_counts
