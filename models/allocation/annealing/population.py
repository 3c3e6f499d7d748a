"""Population of allocations, annealed by importance sampling with resampling."""

import math
from typing import NamedTuple

import numpy as np

from models.allocation.annealing.cell_moves import scratch_bytes
from models.allocation.annealing.fiber_moves import products_bytes
from models.allocation.annealing.sweep import Moves, Scratch, scratch_for, sweep
from models.allocation.annealing.token_moves import draw_independent
from models.allocation.annealing.urn import Urn, log_probability
from models.allocation.inference_plan import InferencePlan
from models.allocation.particles.resampling import SYSTEMATIC, assign_slots, draw_children
from models.arrays import Floats, Ints32
from models.kernel import kernel


class Population(NamedTuple):
    """Particles, and scratch."""

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
    return n_particles * (8 * plan.n_state + 4 * n_tokens + 28) + shared


@kernel
def start(urn: Urn, population: Population, rng: np.random.Generator) -> None:
    """Draw all particles without reinforcement."""
    for p in range(population.counts.shape[0]):
        draw_independent(
            urn, population.counts[p], population.values[p], population.scratch.weights, rng
        )


@kernel
def anneal(
    urn: Urn,
    moves: Moves,
    population: Population,
    path: Floats,
    first: int,
    last: int,
    resample_below: float,
    record: Floats,
    rng: np.random.Generator,
) -> float:
    """Take the steps `first` to `last` of `path` (n_steps + 1,), reinforcements that grow.

    Step n weighs particles by the ratio of probabilities at path[n + 1] and path[n], resamples them
    where fewer than the share `resample_below` is effective, and sweeps at path[n + 1]. Returns the
    sum of the logs of the mean weights before each resampling; with that of the mean weight at the
    end it is the log of an unbiased estimate. `record` (n_steps, 2) receives the effective sample
    size and, after resampling, the number of founders.
    """
    n_particles = population.counts.shape[0]
    log_mean = 0.0
    for step in range(first, last):
        for p in range(n_particles):
            after = log_probability(urn, population.counts[p], path[step + 1])
            before = log_probability(urn, population.counts[p], path[step])
            population.rest[p] = after - before
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
            sweep(urn, moves, population.scratch, counts, values, path[step + 1], step, False, rng)
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
def anneal_back(
    urn: Urn,
    moves: Moves,
    population: Population,
    path: Floats,
    rng: np.random.Generator,
) -> None:
    """Take all steps of `path` backwards, from draws of the posterior; fill `log_weight` with
    the log of what a forward run along the same states would be weighed by. Its reciprocal has the
    reciprocal of the marginal as its mean.
    """
    for p in range(population.counts.shape[0]):
        counts, values, total = population.counts[p], population.values[p], 0.0
        for step in range(path.shape[0] - 2, -1, -1):
            sweep(urn, moves, population.scratch, counts, values, path[step + 1], step, True, rng)
            total += log_probability(urn, population.counts[p], path[step + 1])
            total -= log_probability(urn, population.counts[p], path[step])
        population.log_weight[p] = total
