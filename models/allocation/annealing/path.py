"""Path from independent tokens to the model: reinforcements that grow from 0 to 1.

After a first step, from ρ = 0 to where the log-probability of independent tokens begins to vary,
steps are even in log ρ within each of `N_STRETCHES` stretches. How many steps a stretch gets is
decided by a pilot of independent chains. Where a chain lags behind, or the log-probability varies,
the logs of weights differ from chain to chain. Their variance falls as one over the steps of the
stretch, so that the total is least with steps in proportion to its root (times that of the
pilot's steps). Runs are unbiased given the path: they share no random number with the pilot.
"""

import math

import numpy as np

from models.allocation.annealing.population import anneal, new_population, start
from models.allocation.annealing.sweep import Moves
from models.allocation.annealing.urn import Urn, log_probability
from models.arrays import Floats, Ints

N_STRETCHES = 20
N_CHAINS = 8
N_FIRST = 4 * N_CHAINS  # Particles by which the first step is chosen
PILOT_SHARE = 0.25  # Steps of the pilot, of those of a run
FIRST_VARIANCE = 0.01  # of the log-weights after the first step
LEAST = -60.0  # log ρ below which the first step never ends
LEAST_SHARE = 0.1  # of an even share, that each stretch gets at least


def path_of(urn: Urn, moves: Moves, n_steps: int, rng: np.random.Generator) -> Floats:
    """Return the reinforcements (n + 1,) of about `n_steps` steps, from 0 to 1."""
    first = _first_log(urn, moves, rng)
    if first >= 0.0 or n_steps < 2:
        return np.array([0.0, 1.0])
    n_stretches = max(1, min(N_STRETCHES, n_steps // 2))
    edges = np.linspace(first, 0.0, n_stretches + 1)
    of_pilot = np.full(n_stretches, max(1, round(PILOT_SHARE * n_steps / n_stretches)))
    variance = _variances(urn, moves, edges, of_pilot, rng)
    share = np.sqrt(variance * of_pilot)
    share = np.convolve(np.pad(share, 1, mode="edge"), [0.25, 0.5, 0.25], "valid")
    total = share.sum()
    even = 1.0 / n_stretches
    share = share / total if total > 0 else np.full(n_stretches, even)
    share = np.maximum(share, LEAST_SHARE * even)
    steps = np.maximum(1, np.round(n_steps * share / share.sum())).astype(np.int64)
    return _path(edges, steps)


def _path(edges: Floats, steps: Ints) -> Floats:
    logs = [
        np.linspace(start, stop, n + 1)[1:]
        for start, stop, n in zip(edges[:-1], edges[1:], steps, strict=True)
    ]
    path = np.concatenate([[0.0], np.exp(np.concatenate([edges[:1], *logs]))])
    path[-1] = 1.0
    return path


def _first_log(urn: Urn, moves: Moves, rng: np.random.Generator) -> float:
    """Return log ρ at which log-weights of independent tokens have the variance wanted."""
    population = new_population(urn, moves, N_FIRST)
    start(urn, population, rng)
    base = np.array([log_probability(urn, each, 0.0) for each in population.counts])
    low, high = LEAST, 0.0

    def variance(log_rho: float) -> float:
        rho = math.exp(log_rho)
        logs = np.array([log_probability(urn, each, rho) for each in population.counts])
        return float((logs - base).var())

    if variance(high) <= FIRST_VARIANCE:
        return high
    while high - low > 0.1:
        middle = (low + high) / 2
        if variance(middle) > FIRST_VARIANCE:
            high = middle
        else:
            low = middle
    return low


def _variances(
    urn: Urn, moves: Moves, edges: Floats, steps: Ints, rng: np.random.Generator
) -> Floats:
    """Return the variance over chains of the log-weights that each stretch gives."""
    path = _path(edges, steps)
    population = new_population(urn, moves, N_CHAINS)
    start(urn, population, rng)
    record = np.zeros((len(path) - 1, 2))
    stop = 1
    anneal(urn, moves, population, path, 0, stop, 0.0, record, rng)
    found = np.zeros(len(steps))
    for n, of_stretch in enumerate(steps):
        before = population.log_weight.copy()
        anneal(urn, moves, population, path, stop, stop + of_stretch, 0.0, record, rng)
        found[n] = (population.log_weight - before).var(ddof=1)
        stop += of_stretch
    return found
