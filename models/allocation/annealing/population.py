"""Population of allocations, annealed by importance sampling with resampling."""

import math
from typing import NamedTuple

import numpy as np

from models.allocation.annealing.cell_moves import scratch_bytes
from models.allocation.annealing.fiber_moves import products_bytes
from models.allocation.annealing.label_moves import exchange_labels, label_moves_bytes
from models.allocation.annealing.sweep import Moves, Scratch, scratch_for, sweep
from models.allocation.annealing.token_moves import draw_independent
from models.allocation.annealing.urn import Urn, count, log_probability
from models.allocation.inference_plan import InferencePlan
from models.allocation.particles.resampling import SYSTEMATIC, assign_slots, draw_children
from models.arrays import Floats, Ints32
from models.kernel import kernel


class Path(NamedTuple):
    """Urns from independent tokens to the model. Pseudo-counts are α + (1 - ρ) m at ρ."""

    reinforcement: Floats  # (n_steps + 1,), ρ, from 0 to 1
    mean: Floats  # (n_state,), m: expected counts, those of a mode; or 0
    alpha: Floats  # (n_state,), pseudo-counts of the model


class Population(NamedTuple):
    """Particles, and scratch."""

    urn: Urn  # Its pseudo-counts are the population's own: those of the present step
    counts: Floats  # (P, n_state)
    values: Ints32  # (P, T), joint value of each token
    log_weight: Floats  # (P,)
    founder: Ints32  # (P,), initial particle that each descends from
    scratch: Scratch
    share: Floats  # (P,)
    rest: Floats  # (P,)
    children: Ints32  # (P,)
    ancestor: Ints32  # (P,)


def new_population(urn: Urn, moves: Moves, n_particles: int) -> Population:
    """Return particles without tokens."""
    n_tokens = int(urn.cell_start[-1])
    return Population(
        urn=urn._replace(alpha=urn.alpha.copy()),
        counts=np.zeros((n_particles, len(urn.alpha))),
        values=np.zeros((n_particles, n_tokens), dtype=np.int32),
        log_weight=np.zeros(n_particles),
        founder=np.arange(n_particles, dtype=np.int32),
        scratch=scratch_for(urn, moves),
        share=np.zeros(n_particles),
        rest=np.zeros(n_particles),
        children=np.zeros(n_particles, dtype=np.int32),
        ancestor=np.zeros(n_particles, dtype=np.int32),
    )


def population_bytes(plan: InferencePlan, n_particles: int) -> int:
    """Return the memory that a population takes, and blocks and fibers, at most."""
    n_tokens = plan.observed.n_tokens
    n_blocks = 1 + sum(table.n_uses for table in plan.dynamic)
    shared = n_tokens * (12 + 4 * n_blocks) + products_bytes(plan) + scratch_bytes()
    shared += label_moves_bytes(plan)
    return n_particles * (8 * plan.n_state + 4 * n_tokens + 28) + shared + 8 * plan.n_state


@kernel
def place(population: Population, values: Ints32) -> None:
    """Give the first particle, which has no tokens, these joint values (n_tokens,)."""
    population.values[0, :] = values
    for cell in range(population.urn.pattern_of.shape[0]):
        for token in range(population.urn.cell_start[cell], population.urn.cell_start[cell + 1]):
            count(population.urn, population.counts[0], cell, values[token], 1.0)


@kernel
def reach(population: Population, path: Path, step: int) -> float:
    """Give the urn the pseudo-counts of a step; return its reinforcement."""
    rho: float = path.reinforcement[step]
    for entry in range(path.alpha.shape[0]):
        population.urn.alpha[entry] = path.alpha[entry] + (1.0 - rho) * path.mean[entry]
    return rho


@kernel
def log_probabilities(population: Population, rho: float) -> Floats:
    """Return the log-probability of each particle's allocation at this reinforcement (P,)."""
    found = np.empty(population.counts.shape[0])
    for p in range(population.counts.shape[0]):
        found[p] = log_probability(population.urn, population.counts[p], rho)
    return found


@kernel
def start(population: Population, path: Path, rng: np.random.Generator) -> None:
    """Draw all particles without reinforcement. There are no tokens in `population`."""
    reach(population, path, 0)
    for p in range(population.counts.shape[0]):
        counts, values, weights = (
            population.counts[p],
            population.values[p],
            population.scratch.weights,
        )
        draw_independent(population.urn, counts, values, weights, rng)


@kernel
def anneal(
    moves: Moves,
    population: Population,
    path: Path,
    first: int,
    last: int,
    resample_below: float,
    record: Floats,
    rng: np.random.Generator,
) -> float:
    """Take the steps `first` to `last` of `path`.

    Step n weighs particles by the ratio of probabilities after and before, resamples them where
    fewer than the share `resample_below` is effective, and sweeps. Returns the
    sum of the logs of the mean weights before each resampling; with that of the mean weight at the
    end it is the log of an unbiased estimate. `record` (n_steps, 2) receives the effective sample
    size and, after resampling, the number of founders.
    """
    n_particles = population.counts.shape[0]
    log_mean, is_from_mode = 0.0, path.mean.any()
    for step in range(first, last):
        rho = reach(population, path, step)
        for p in range(n_particles):
            population.rest[p] = log_probability(population.urn, population.counts[p], rho)
        rho = reach(population, path, step + 1)
        for p in range(n_particles):
            after = log_probability(population.urn, population.counts[p], rho)
            population.rest[p] = after - population.rest[p]
            population.log_weight[p] += population.rest[p]
        top, total, squares = population.log_weight.max(), 0.0, 0.0
        for p in range(n_particles):
            population.share[p] = math.exp(population.log_weight[p] - top)
        for p in range(n_particles):
            total += population.share[p]
            squares += population.share[p] ** 2
        effective = total * total / squares
        record[step, 0] = effective
        if effective < resample_below * n_particles:
            log_mean += top + math.log(total / n_particles)
            population.log_weight[:] = 0.0
            _resample(population, rng)
        record[step, 1] = _n_founders(population)
        for p in range(n_particles):
            counts, values = population.counts[p], population.values[p]
            sweep(population.urn, moves, population.scratch, counts, values, rho, step, False, rng)
            if is_from_mode and rho < 1.0:
                exchange_labels(population.urn, moves.labels, counts, values, rho, rng)
    return log_mean


@kernel
def log_mean_weight(population: Population) -> float:
    """Return the log of the mean of the weights."""
    n_particles = population.log_weight.shape[0]
    top, total = population.log_weight.max(), 0.0
    for p in range(n_particles):
        total += math.exp(population.log_weight[p] - top)
    log_mean: float = top + math.log(total / n_particles)
    return log_mean


@kernel
def _resample(population: Population, rng: np.random.Generator) -> None:
    draw_children(population.share, SYSTEMATIC, rng, population.children, population.rest)
    if not assign_slots(population.children, population.ancestor):
        return
    for p in range(population.counts.shape[0]):
        of = population.ancestor[p]
        if of != p:  # survivors keep their slots, so what is copied is never overwritten
            population.counts[p] = population.counts[of]
            population.values[p] = population.values[of]
            population.founder[p] = population.founder[of]


@kernel
def _n_founders(population: Population) -> int:
    population.children[:] = 0
    for p in range(population.founder.shape[0]):
        population.children[population.founder[p]] = 1
    n = 0
    for p in range(population.founder.shape[0]):
        n += population.children[p]
    return n


@kernel
def anneal_back(moves: Moves, population: Population, path: Path, rng: np.random.Generator) -> None:
    """Take all steps of `path` backwards, from draws of the posterior; fill `log_weight` with
    the log of what a forward run along the same states would be weighed by. Its reciprocal has the
    reciprocal of the marginal as its mean.
    """
    population.log_weight[:] = 0.0
    is_from_mode = path.mean.any()
    for step in range(path.reinforcement.shape[0] - 2, -1, -1):
        rho = reach(population, path, step + 1)
        for p in range(population.counts.shape[0]):
            counts, values, urn = population.counts[p], population.values[p], population.urn
            if is_from_mode and rho < 1.0:
                exchange_labels(urn, moves.labels, counts, values, rho, rng)
            sweep(urn, moves, population.scratch, counts, values, rho, step, True, rng)
            population.log_weight[p] += log_probability(urn, counts, rho)
        rho = reach(population, path, step)
        for p in range(population.counts.shape[0]):
            population.log_weight[p] -= log_probability(population.urn, population.counts[p], rho)


@kernel
def add_counts(
    moves: Moves,
    population: Population,
    particle: int,
    first: int,
    n_sweeps: int,
    total: Floats,
    rng: np.random.Generator,
) -> None:
    """Sweep a particle at full reinforcement, from the turn `first` on, and add its counts after
    each sweep to `total`.
    """
    counts, values = population.counts[particle], population.values[particle]
    for turn in range(first, first + n_sweeps):
        sweep(population.urn, moves, population.scratch, counts, values, 1.0, turn, False, rng)
        for entry in range(total.shape[0]):
            total[entry] += counts[entry]
