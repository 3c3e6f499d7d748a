"""Fixed points for Dirichlet priors given counts (Minka 2000, Estimating a Dirichlet, eq. 55).

For counts n_dk drawn from Dirichlet-multinomials with one alpha, each step

    alpha_k ← alpha_k Σ_d [ψ(n_dk + alpha_k) - ψ(alpha_k)] / Σ_d [ψ(n_d + Σ alpha) - ψ(Σ alpha)]

raises their likelihood. As ψ(n + a) - ψ(a) = Σ_{i<n} 1 / (a + i), the sums over documents need only
how many documents have more than i: no ψ, and a cost that does not grow with their number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32] | NDArray[np.int64]

LEAST = 1e-8
"""Priors stay above it: of a topic without tokens, alpha would become 0."""


def asymmetric_prior(counts: Ints, alpha: Floats, n_iterations: int = 5) -> Floats:
    """Alpha (K,) after some steps from `alpha`, given counts (D, K)."""
    n_topics = counts.shape[1]
    longer_total = _above(counts.sum(axis=1))
    above = [_above(counts[:, k]) for k in range(n_topics)]
    alpha = alpha.copy()
    for _ in range(n_iterations):
        norm = _digamma_sum(longer_total, float(alpha.sum()))
        if norm == 0.0:
            return alpha
        gain = np.array([_digamma_sum(above[k], alpha[k]) for k in range(n_topics)])
        alpha = np.maximum(alpha * gain / norm, LEAST)
    return alpha


def symmetric_prior(counts: Ints, eta: float, n_iterations: int = 5) -> float:
    """The same for a prior whose entries are all `eta`, given counts (V, K) of K draws."""
    n_entries = counts.shape[0]
    of_total, of_entry = _above(counts.sum(axis=0, dtype=np.int64)), _above(counts.ravel())
    for _ in range(n_iterations):
        norm = n_entries * _digamma_sum(of_total, n_entries * eta)
        if norm == 0.0:
            return eta
        eta = max(eta * _digamma_sum(of_entry, eta) / norm, LEAST)
    return eta


def _above(values: Ints) -> Floats:
    """(max,), how many values are above i, for each i from 0."""
    having = np.bincount(values)
    return (len(values) - np.cumsum(having)[:-1]).astype(np.float64)


def _digamma_sum(above: Floats, prior: float) -> float:
    """Σ over values n of ψ(n + prior) - ψ(prior)."""
    return float((above / (prior + np.arange(len(above)))).sum())
