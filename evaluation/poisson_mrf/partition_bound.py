"""Upper bounds of the log-partition function of a fixed-length Poisson MRF.

Of L tokens drawn one by one by p_s ∝ exp θ_s let x be the counts. Then

    A_L = L logsumexp θ - log L! + log E[exp(ω x·Φx)],

since the model with Φ = 0 is the multinomial. Here are two bounds of the last term, of which the
smaller is taken; both are 0 where Φ = 0.
"""

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from scipy.special import gammaln, logsumexp

from models.poisson_mrf.distribution import FixedLengthPoissonMRF

DENSE_BELOW = 50  # words below which eigenvalues are those of the dense matrix
LARGEST_EXPONENT = 700.0  # above it, an exponential may be too large for a number


def upper_bound(mrf: FixedLengthPoissonMRF, length: int) -> float:
    """Return an upper bound of A_L; it is A_L if Φ = 0, or of at most two tokens."""
    most = float(length * logsumexp(mrf.node) - gammaln(length + 1.0))
    if length <= 1 or not mrf.n_interactions:
        return most
    return most + min(bound_by_largest(mrf, length), bound_by_pairs(mrf, length))


def bound_by_largest(mrf: FixedLengthPoissonMRF, length: int) -> float:
    """ω times a bound of x·Φx over all x of L tokens, and so of log E[exp(ω x·Φx)].

    Let q = Σ x_s², which is from L to L² as x_s is whole. Inouye et al. 2015 (Sec. 2.1) have
    x·Φx <= λ q <= λ L², with λ the largest eigenvalue of Φ, at least 0 as the diagonal is. It can
    be that of Φ₊ as well, in which negative entries are 0, since x >= 0 gives x·Φx <= x·Φ₊x. With m
    the largest entry of Φ₊, and a zero diagonal,

        x·Φx <= m Σ_{s≠t} x_s x_t = m (L² - q),

    of which the one rises with q and the other falls. They meet at q = m L² / (λ + m), so that the
    smaller is nowhere above m (L² - max(L, m L² / (λ + m))): at most λ m / (λ + m) L², which is
    less than both λ L² and m L².
    """
    interactions = mrf.interactions
    entries = interactions.data
    if not entries.size or entries.max() <= 0:
        return 0.0
    positive = sparse.csr_array(interactions.maximum(0))
    positive.eliminate_zeros()
    top = largest_eigenvalue(positive)
    if entries.min() < 0:
        top = min(top, largest_eigenvalue(interactions))
    m, total = float(entries.max()), float(length)
    meeting = max(total, m * total**2 / (top + m))
    return float(mrf.weight(length)) * m * (total**2 - meeting)


def bound_by_pairs(mrf: FixedLengthPoissonMRF, length: int) -> float:
    """A bound of log E[exp(ω x·Φx)] by pairs of tokens: L/2 log Σ_st p_s p_t exp(2 ω (L-1) Φ_st).

    Let w_1..w_L be the tokens. As the diagonal of Φ is 0, x·Φx is twice the sum of Φ(w_l, w_l')
    over the L(L-1)/2 pairs l < l'. Tokens are independent and each is in L - 1 pairs, so that
    Hölder's inequality holds with the exponent L - 1 for every pair, although pairs share tokens
    (Finner 1992, theorem 2.1: the exponents' reciprocals add up to 1 at each token):

        E[Π exp(2 ω Φ(w_l, w_l'))] <= Π E[exp(2 ω Φ(w_l, w_l'))^(L-1)]^(1/(L-1)),

    of which all L(L-1)/2 factors are equal. Of two tokens it is exact; of small Φ it is so to first
    order, and it can be negative.
    """
    entries = mrf.interactions.tocoo()
    log_probability = mrf.node - logsumexp(mrf.node)
    log_share = log_probability[entries.row] + log_probability[entries.col]
    share = np.exp(log_share)
    exponent = 2.0 * float(mrf.weight(length)) * (length - 1) * entries.data
    if exponent.max(initial=0.0) < LARGEST_EXPONENT:
        return 0.5 * length * float(np.log1p((share * np.expm1(exponent)).sum()))
    rest = max(0.0, 1.0 - float(share.sum()))
    logs = np.append(log_share + exponent, 0.0)
    return 0.5 * length * float(logsumexp(logs, b=np.append(np.ones(len(share)), rest)))


def largest_eigenvalue(symmetric: sparse.csr_array) -> float:
    """The largest eigenvalue of a symmetric matrix with a zero diagonal, at least 0; never below.

    The iteration converges from below: the length of its residual is added. No eigenvalue is
    above the largest row sum of absolute values, which is returned without convergence.
    """
    connected = np.flatnonzero(np.diff(symmetric.indptr))  # others add zeros
    if not len(connected):
        return 0.0
    symmetric = symmetric[connected][:, connected]
    if len(connected) < DENSE_BELOW:
        return max(0.0, float(np.linalg.eigvalsh(symmetric.toarray())[-1]))
    start = np.random.default_rng(0).random(len(connected))  # or else it starts anywhere
    largest_sum = float(abs(symmetric).sum(axis=1).max())
    try:
        values, vectors = eigsh(symmetric, k=1, which="LA", v0=start)
    except ArpackNoConvergence:
        return largest_sum
    residual = symmetric @ vectors[:, 0] - values[0] * vectors[:, 0]
    return max(0.0, min(largest_sum, float(values[0] + np.linalg.norm(residual))))
