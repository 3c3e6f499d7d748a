"""Poisson regression with an l1 penalty, slow and plain: a quasi-Newton method for φ = u - v.

min over θ, u >= 0, v >= 0 of  (1/n) Σ_i [exp η_i - y_i η_i] + λ Σ_j (u_j + v_j),
η = θ + X (u - v)
"""

import numpy as np
from scipy import sparse
from scipy.optimize import minimize


def objective(X, y, intercept, coefficients, penalty):
    """What is minimised, of the regression of y (n,) on X (n, p)."""
    eta = intercept + X @ coefficients
    return np.mean(np.exp(eta) - y * eta) + penalty * np.abs(coefficients).sum()


def fit(X, y, penalty):
    """θ and φ (p,) of the regression of y (n,) on X (n, p)."""
    n, p = X.shape

    def value_and_slope(point):
        eta = point[0] + X @ (point[1 : p + 1] - point[p + 1 :])
        rate = np.exp(eta)
        slope, value = X.T @ (rate - y) / n, np.mean(rate - y * eta) + penalty * point[1:].sum()
        return value, np.concatenate([[np.mean(rate - y)], slope + penalty, penalty - slope])

    start = np.zeros(2 * p + 1)
    start[0] = np.log(y.mean())
    found = minimize(
        value_and_slope,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(None, None)] + [(0.0, None)] * (2 * p),
        options={"maxiter": 20000, "maxfun": 100000, "ftol": 0.0, "gtol": 1e-10, "maxcor": 30},
    )
    return found.x[0], found.x[1 : p + 1] - found.x[p + 1 :]


def fit_all(counts, penalty, smoothing):
    """θ (V,) and φ (V, V), a dense row a word, of the regressions of each word on all others."""
    n_words = counts.shape[1]
    intercept, coefficients = np.empty(n_words), np.zeros((n_words, n_words))
    for s in range(n_words):
        others = np.arange(n_words) != s
        fitted = fit(counts[:, others], counts[:, s] + smoothing, penalty)
        intercept[s], coefficients[s, others] = fitted
    return intercept, coefficients


def kkt_residuals(counts, intercept, coefficients, penalty, smoothing):
    """(V,), largest violation of the optimality conditions of each word's regression.

    With g the gradient of the mean loss: |g_θ| and, over other words j, |g_j + λ sign φ_j| where
    φ_j ≠ 0 and |g_j| - λ where φ_j = 0.
    """
    x, phi = (sparse.csr_array(each, dtype=float).toarray() for each in (counts, coefficients))
    with np.errstate(over="ignore"):
        surplus = np.exp(x @ phi.T + intercept) - x - smoothing
    slope = surplus.T @ x / len(x)
    inactive = np.maximum(np.abs(slope) - penalty, 0.0)
    off = np.where(phi == 0, inactive, np.abs(slope + np.copysign(penalty, phi)))
    np.fill_diagonal(off, 0.0)
    return np.maximum(off.max(axis=1), np.abs(surplus.mean(axis=0)))
