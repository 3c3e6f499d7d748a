"""Partition functions of all lengths at once, by sequential Monte Carlo over the length.

exp(A_L) L! is the sum over sequences of tokens w_1..w_L with counts x of

    f_L(w) = ∏_l p(w_l) exp(ω(L) x·Φx),      p = exp θ, normalised.

Given a sequence that is properly weighted for f_L, a further token s is drawn in proportion to
p(s) exp(2 ω(L+1) Φ_s·x), with known sum S, and the weight is multiplied by

    S exp((ω(L+1) - ω(L)) x·Φx).

Then Gibbs sweeps rejuvenate the tokens, which leaves f_{L+1} invariant, and chains are resampled
when their effective sample size is low. The expected mean weight is exp(A_L) L! at every L: an SMC
sampler with the length in the place of the temperature (Del Moral, Doucet & Jasra 2006). Annealing
takes 100 L draws at each of the lengths.
"""

import numpy as np
from numpy.typing import NDArray

from models.arrays import Floats
from models.kernel import kernel
from models.parallel import effective_n_jobs, for_blocks
from models.poisson_mrf.annealed_partition import (
    Field,
    Weights,
    draw_word,
    field_and_order,
    scale_weights,
    set_weights,
)
from models.poisson_mrf.distribution import FixedLengthPoissonMRF

CHAINS_AT_ONCE = 25  # Chains that are resampled together and share a stream of random numbers
SWEEPS_A_DOUBLING = 32
"""Maximum of sweeps while the length doubles; short documents are swept after each token."""


@kernel
def grow_chains(
    field: Field,
    omega: Floats,
    tokens: NDArray[np.uint32],
    log_weight: Floats,
    rng: np.random.Generator,
) -> None:
    """Extend chains of `tokens` (n_chains, M) from 0 to M; fill `log_weight` (n_chains, M + 1).
    Both are changed in place. `omega` (M + 1,) is ω(L); `field.interaction` is Φ, without ω.
    """
    n_words, n_entries = len(field.probability), len(field.word)
    n_chains, longest = tokens.shape
    shift = 3
    while (1 << (2 * shift)) < n_words:
        shift += 1
    total = np.empty(((n_words - 1) >> shift) + 1)
    weights = Weights(np.empty(n_words), total, np.uint32(shift))
    inner = np.zeros((n_chains, n_words))  # Φx
    pairs = np.zeros(n_chains)  # x·Φx
    exponent = np.empty(n_words)
    grown, shrunk = np.empty(n_entries), np.empty(n_entries)
    log_weight[:, 0] = 0.0
    for length in range(1, longest + 1):
        for e in range(n_entries):
            grown[e] = np.exp(2.0 * omega[length] * field.interaction[e])
            shrunk[e] = 1.0 / grown[e]
        change = omega[length] - omega[length - 1]
        is_swept = length % max(1, length // SWEEPS_A_DOUBLING) == 0
        for chain in range(n_chains):
            for w in range(n_words):
                exponent[w] = inner[chain, w]
            set_weights(field, exponent, 2.0 * omega[length], weights)
            whole = 0.0
            for block in range(len(total)):
                whole += total[block]
            log_weight[chain, length] = (
                log_weight[chain, length - 1] + np.log(whole) + change * pairs[chain]
            )
            word = draw_word(weights, rng)
            tokens[chain, length - 1] = word
            pairs[chain] += 2.0 * inner[chain, word]
            _add(field, word, 1.0, inner[chain])
            scale_weights(field, grown, word, weights)
            for i in range(length if is_swept else 0):
                old = tokens[chain, i]
                scale_weights(field, shrunk, old, weights)
                word = draw_word(weights, rng)
                if word != old:
                    _add(field, old, -1.0, inner[chain])
                    pairs[chain] += 2.0 * (inner[chain, word] - inner[chain, old])
                    _add(field, word, 1.0, inner[chain])
                    tokens[chain, i] = word
                scale_weights(field, grown, word, weights)
        _resample(log_weight[:, length], tokens[:, :length], inner, pairs, rng)


@kernel
def _resample(
    log_weight: Floats,
    tokens: NDArray[np.uint32],
    inner: Floats,
    pairs: Floats,
    rng: np.random.Generator,
) -> None:
    """Resample chains systematically if their effective sample size is below a half.
    All get the mean weight, so that its expectation is unchanged.
    """
    n_chains = len(log_weight)
    share = np.exp(log_weight - log_weight.max())
    whole = share.sum()
    if whole * whole >= 0.5 * n_chains * (share * share).sum():
        return
    log_mean = log_weight.max() + np.log(whole / n_chains)
    old_tokens, old_inner, old_pairs = tokens.copy(), inner.copy(), pairs.copy()
    position, total, parent = rng.random(), 0.0, -1
    for chain in range(n_chains):
        while parent + 1 < n_chains and total <= (position + chain) / n_chains * whole:
            parent += 1
            total += share[parent]
        for i in range(tokens.shape[1]):
            tokens[chain, i] = old_tokens[parent, i]
        for w in range(inner.shape[1]):
            inner[chain, w] = old_inner[parent, w]
        pairs[chain] = old_pairs[parent]
    log_weight[:] = log_mean


@kernel
def _add(field: Field, s: np.uint32, sign: float, inner: Floats) -> None:
    """Update Φx of the words that depend on s, of which a token is added or removed."""
    for e in range(field.start[s], field.start[s + 1]):
        inner[field.word[e]] += sign * field.interaction[e]


def smc_log_weights(
    mrf: FixedLengthPoissonMRF,
    longest: int,
    *,
    n_samples: int = 100,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Floats:
    """Return log-weights (n_samples, longest + 1); log means are A_L + log L! - L logsumexp θ.
    The weights of one chain at several lengths are dependent.
    """
    found = np.zeros((n_samples, longest + 1))
    if not mrf.interactions.nnz or longest < 1:
        return found
    field, _ = field_and_order(mrf)
    omega = np.asarray(mrf.weight(np.arange(longest + 1.0)))

    def work(start: int, stop: int) -> None:
        rng = np.random.default_rng([seed, start])
        tokens = np.zeros((stop - start, longest), dtype=np.uint32)
        grow_chains(field, omega, tokens, found[start:stop], rng)

    for_blocks(work, n_samples, CHAINS_AT_ONCE, effective_n_jobs(n_jobs))
    return found
