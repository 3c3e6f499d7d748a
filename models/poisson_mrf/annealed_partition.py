"""The partition function by annealed importance sampling (Inouye et al. 2015, Sec. 2.1; Neal 2001).

The path of distributions scales the interactions, γ from 0 to 1,

    p_γ(x) ∝ exp(θ·x + γ ω(L) x·Φx - Σ log x_s!),

and starts at the multinomial, whose partition function is known. A chain starts from a draw at
γ_0 = 0. At each further temperature, the first included, its log-weight grows by
(γ_{t+1} - γ_t) ω x_t·Φx_t, and then a Gibbs sweep redraws every token given the others:

    p(s | others) ∝ exp(θ_s + 2 γ ω Φ_s·others).

The mean weight is Z_1 / Z_0 in expectation, where log Z_0 = L logsumexp θ - log L!.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.arrays import Floats
from models.kernel import kernel
from models.parallel import effective_n_jobs, for_blocks
from models.poisson_mrf.distribution import FixedLengthPoissonMRF

CHAINS_AT_ONCE = 50  # Chains that share exponentials of interactions and a stream of random numbers
LARGEST_ROOT = 0.25
"""Maximum argument for which eleven terms of the series of exp have double precision."""
STRONGEST = 10.0
"""Maximum |Φ|: another token multiplies weights by up to exp(2 Φ), which have 16 digits."""
MAX_SQUARINGS = 6  # Each doubles the relative rounding error


class Field(NamedTuple):
    """A field as kernels read it; signed indices take twice the time."""

    probability: Floats  # (V,), exp θ, normalised
    start: NDArray[np.uint32]  # (V + 1,), first entry of each row of Φ
    word: NDArray[np.uint32]  # (E,), words that a row's word depends on
    interaction: Floats  # (E,), Φ, or ω(L) Φ


class Weights(NamedTuple):
    """Unnormalised probabilities of a token's word, for one chain."""

    weight: Floats  # (V,), exp(θ_s + 2 γ ω Φ_s·x)
    total: Floats  # (V / 2^shift,), sums of consecutive ones
    shift: np.uint32


@kernel
def annealed_chains(
    field: Field,
    temperatures: Floats,
    tokens: NDArray[np.uint32],
    log_weight: Floats,
    rng: np.random.Generator,
) -> None:
    """Anneal chains of `tokens` (n_chains, L), multinomial draws; fill `log_weight` (n_chains,).
    Both are changed in place. Chains run in lockstep and share the exponentials of interactions,
    which follow from those of the temperature before by a multiplication.
    """
    n_words, n_entries = len(field.probability), len(field.word)
    shift = 3
    while (1 << (2 * shift)) < n_words:
        shift += 1
    total = np.empty(((n_words - 1) >> shift) + 1)
    weights = Weights(np.empty(n_words), total, np.uint32(shift))
    product = np.empty(n_words)
    grown, shrunk = np.ones(n_entries), np.ones(n_entries)
    step_up, step_down = np.empty(n_entries), np.empty(n_entries)
    log_weight[:] = 0.0
    last_step = -1.0
    for t in range(1, len(temperatures)):
        step = temperatures[t] - temperatures[t - 1]
        if abs(step - last_step) > 1e-15:
            last_step = step
            for e in range(n_entries):
                step_up[e] = np.exp(2.0 * step * field.interaction[e])
                step_down[e] = 1.0 / step_up[e]
        for e in range(n_entries):
            grown[e] *= step_up[e]
            shrunk[e] *= step_down[e]
        for chain in range(len(tokens)):
            log_weight[chain] += step * _multiply(field, tokens[chain], product)
            if t + 1 < len(temperatures):
                set_weights(field, product, 2.0 * temperatures[t], weights)
                _sweep(field, grown, shrunk, tokens[chain], weights, rng)


@kernel
def _multiply(field: Field, tokens: NDArray[np.uint32], product: Floats) -> float:
    """Set `product` (V,) to ω Φx; return ω x·Φx."""
    product[:] = 0.0
    for s in tokens:
        for e in range(field.start[s], field.start[s + 1]):
            product[field.word[e]] += field.interaction[e]
    total = 0.0
    for s in tokens:
        total += product[s]
    return total


@kernel
def set_weights(field: Field, product: Floats, scale: float, weights: Weights) -> None:
    """Set the weights and their sums from ω Φx, which is overwritten; `scale` is 2 γ.
    exp x = (exp x/2^n)^(2^n), the root by its series without branches: ten times as fast as exp.
    """
    weight, total = weights.weight, weights.total
    largest = 0.0
    for s in range(np.uint32(len(product))):
        product[s] *= scale
        largest = max(largest, abs(product[s]))
    n_squarings = 0
    while largest > LARGEST_ROOT and n_squarings < MAX_SQUARINGS:
        largest *= 0.5
        n_squarings += 1
    if largest > LARGEST_ROOT:
        for s in range(np.uint32(len(product))):
            weight[s] = field.probability[s] * np.exp(product[s])
    else:
        root = 0.5**n_squarings
        for s in range(np.uint32(len(product))):
            x = product[s] * root
            term = 1.0 + x * (1.0 / 11.0)
            term = 1.0 + x * 0.1 * term
            term = 1.0 + x * (1.0 / 9.0) * term
            term = 1.0 + x * 0.125 * term
            term = 1.0 + x * (1.0 / 7.0) * term
            term = 1.0 + x * (1.0 / 6.0) * term
            term = 1.0 + x * 0.2 * term
            term = 1.0 + x * 0.25 * term
            term = 1.0 + x * (1.0 / 3.0) * term
            term = 1.0 + x * 0.5 * term
            product[s] = 1.0 + x * term
        for _ in range(n_squarings):
            for s in range(np.uint32(len(product))):
                product[s] *= product[s]
        for s in range(np.uint32(len(product))):
            weight[s] = field.probability[s] * product[s]
    total[:] = 0.0
    for s in range(np.uint32(len(product))):
        total[s >> weights.shift] += weight[s]


@kernel
def _sweep(
    field: Field,
    grown: Floats,
    shrunk: Floats,
    tokens: NDArray[np.uint32],
    weights: Weights,
    rng: np.random.Generator,
) -> None:
    """Redraw each token once given the others, in place."""
    for i in range(len(tokens)):
        scale_weights(field, shrunk, tokens[i], weights)
        word = np.uint32(draw_word(weights, rng))
        tokens[i] = word
        scale_weights(field, grown, word, weights)


@kernel
def scale_weights(field: Field, factor: Floats, s: np.uint32, weights: Weights) -> None:
    """Multiply the weights of the words that depend on s, of which a token is added or removed."""
    weight, total, shift = weights.weight, weights.total, weights.shift
    for e in range(field.start[s], field.start[s + 1]):
        t = field.word[e]
        before = weight[t]
        after = before * factor[e]
        weight[t] = after
        total[t >> shift] += after - before


@kernel
def draw_word(weights: Weights, rng: np.random.Generator) -> Any:
    """Draw a word in proportion to the weights."""
    whole = 0.0
    for block in range(len(weights.total)):
        whole += weights.total[block]
    left = rng.random() * whole
    block = 0
    while block + 1 < len(weights.total) and left >= weights.total[block]:
        left -= weights.total[block]
        block += 1
    size = int(1 << weights.shift)
    word = block * size
    last = min(len(weights.weight), word + size) - 1
    while word < last and left >= weights.weight[word]:
        left -= weights.weight[word]
        word += 1
    return word


def log_weights_at(
    mrf: FixedLengthPoissonMRF,
    lengths: Sequence[int],
    *,
    n_samples: int = 100,
    n_temperatures: int = 100,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Floats:
    """Return log-weights (n_lengths, n_samples) of annealed chains at each of `lengths`.

    The log of a length's mean weight is A_L + log L! - L logsumexp θ. A result depends neither on
    other lengths nor on `n_jobs`.
    """
    found = np.zeros((len(lengths), n_samples))
    if not mrf.interactions.nnz:
        return found
    field, _ = field_and_order(mrf)
    probability = field.probability
    cumulative = np.cumsum(probability)
    temperatures = np.linspace(0.0, 1.0, n_temperatures)
    n_blocks = -(-n_samples // CHAINS_AT_ONCE)

    def work(start: int, stop: int) -> None:
        for task in range(start, stop):
            at, block = divmod(task, n_blocks)
            length = int(lengths[at])
            chains = slice(block * CHAINS_AT_ONCE, min(n_samples, (block + 1) * CHAINS_AT_ONCE))
            rng = np.random.default_rng([seed, length, block])
            uniform = rng.random((chains.stop - chains.start, length)) * cumulative[-1]
            tokens = np.searchsorted(cumulative, uniform, side="right").astype(np.uint32)
            weighted = field._replace(interaction=field.interaction * mrf.weight(length))
            annealed_chains(weighted, temperatures, tokens, found[at, chains], rng)

    for_blocks(work, len(lengths) * n_blocks, 1, effective_n_jobs(n_jobs))
    return found


def field_and_order(mrf: FixedLengthPoissonMRF) -> tuple[Field, NDArray[np.intp]]:
    """Return the field, without ω, with the most frequent words first, and the word (V,) at each
    place.
    Raises ValueError if an interaction is so strong that weights lose their digits.
    """
    strongest = float(np.abs(mrf.interactions.data).max(initial=0.0))
    if strongest > STRONGEST:
        raise ValueError(
            f"interactions must be within ±{STRONGEST:g} for chains to keep their digits, found "
            f"one of {strongest:g}: take the method exact or upper-bound, or scale them down"
        )
    order = np.argsort(-mrf.node, kind="stable")
    phi = mrf.interactions[order][:, order].sorted_indices()
    start, word = phi.indptr.astype(np.uint32), phi.indices.astype(np.uint32)
    return Field(mrf.word_probability[order], start, word, phi.data), order
