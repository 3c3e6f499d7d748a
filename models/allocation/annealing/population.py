"""Population of allocations, annealed by importance sampling with resampling."""

import math
from typing import NamedTuple

import numpy as np

from models.allocation.annealing.block_moves import Blocks, move_block
from models.allocation.annealing.token_moves import (
    draw_independent,
    resample_tokens,
    split_cell,
)
from models.allocation.annealing.urn import Urn, log_probability
from models.allocation.particles.resampling import SYSTEMATIC, assign_slots, draw_children
from models.arrays import Floats, Ints32
from models.kernel import kernel


class Population(NamedTuple):
    """Particles, and scratch."""

    counts: Floats  # (P, n_state)
    values: Ints32  # (P, T), joint value of each token
    log_weight: Floats  # (P,)
    founder: Ints32  # (P,), initial particle that each descends from
    weights: Floats  # (most joint values or tokens of a cell + 1,), scratch as all that follows
    later: Floats
    chosen: Ints32  # (T,)
    spare: Ints32  # (T,)
    share: Floats  # (P,)
    rest: Floats  # (P,)
    children: Ints32  # (P,)
    ancestor: Ints32  # (P,)


def new_population(urn: Urn, n_particles: int) -> Population:
    """Return particles without tokens."""
    n_tokens = int(urn.cell_start[-1])
    most = int(max(urn.n_values.max(), np.diff(urn.cell_start).max(initial=0) + 1))
    return Population(
        counts=np.zeros((n_particles, len(urn.alpha))),
        values=np.zeros((n_particles, n_tokens), dtype=np.int32),
        log_weight=np.zeros(n_particles),
        founder=np.arange(n_particles, dtype=np.int32),
        weights=np.zeros(most),
        later=np.zeros(most),
        chosen=np.zeros(n_tokens, dtype=np.int32),
        spare=np.zeros(n_tokens, dtype=np.int32),
        share=np.zeros(n_particles),
        rest=np.zeros(n_particles),
        children=np.zeros(n_particles, dtype=np.int32),
        ancestor=np.zeros(n_particles, dtype=np.int32),
    )


@kernel
def start(urn: Urn, population: Population, rng: np.random.Generator) -> None:
    """Draw all particles without reinforcement."""
    for p in range(population.counts.shape[0]):
        draw_independent(urn, population.counts[p], population.values[p], population.weights, rng)


@kernel
def sweep(
    urn: Urn,
    blocks: Blocks,
    population: Population,
    p: int,
    rho: float,
    most: int,
    is_reverse: bool,
    rng: np.random.Generator,
) -> None:
    """Visit all cells, then all blocks; in reverse the other way round."""
    counts, values = population.counts[p], population.values[p]
    n_cells, n_blocks = urn.pattern_of.shape[0], blocks.block_start.shape[0] - 1
    for half in range(2):
        if (half == 1) == is_reverse:
            for c in range(n_cells):
                cell = n_cells - 1 - c if is_reverse else c
                n_tokens = urn.cell_start[cell + 1] - urn.cell_start[cell]
                n = min(n_tokens, most)
                resample_tokens(urn, counts, values, rho, cell, n, population.weights, rng)
                if n_tokens > 1:
                    split_cell(urn, counts, values, rho, cell, population.weights, population.later, rng)
        else:
            for n in range(n_blocks):
                block = n_blocks - 1 - n if is_reverse else n
                move_block(
                    urn,
                    blocks,
                    counts,
                    values,
                    rho,
                    block,
                    population.chosen,
                    population.spare,
                    rng,
                )


@kernel
def anneal(
    urn: Urn,
    blocks: Blocks,
    population: Population,
    path: Floats,
    first: int,
    last: int,
    n_sweeps: int,
    most: int,
    resample_below: float,
    record: Floats,
    rng: np.random.Generator,
) -> float:
    """Take the steps `first` to `last` of `path` (n_steps + 1,), reinforcements that grow.

    Step n weighs particles by the ratio of probabilities at path[n + 1] and path[n], resamples them
    where fewer than the share `resample_below` is effective, and sweeps at path[n + 1]. Returns the
    log of the mean weights before each resampling, whose product with the mean weight at the end is
    unbiased. `record` (n_steps, 2) receives the effective sample size, and the variance of the
    log-ratios.
    """
    n_particles = population.counts.shape[0]
    log_mean = 0.0
    for step in range(first, last):
        mean = 0.0
        for p in range(n_particles):
            after = log_probability(urn, population.counts[p], path[step + 1])
            before = log_probability(urn, population.counts[p], path[step])
            population.rest[p] = after - before
        for p in range(n_particles):
            mean += population.rest[p] / n_particles
            population.log_weight[p] += population.rest[p]
        variance = 0.0
        for p in range(n_particles):
            variance += (population.rest[p] - mean) ** 2 / n_particles
        top, total, squares = population.log_weight.max(), 0.0, 0.0
        for p in range(n_particles):
            population.share[p] = math.exp(population.log_weight[p] - top)
        for p in range(n_particles):
            total += population.share[p]
            squares += population.share[p] ** 2
        effective = total * total / squares
        record[step, 0], record[step, 1] = effective, variance
        if effective < resample_below * n_particles:
            log_mean += top + math.log(total / n_particles)
            population.log_weight[:] = 0.0
            _resample(population, rng)
        for p in range(n_particles):
            for _ in range(n_sweeps):
                sweep(urn, blocks, population, p, path[step + 1], most, False, rng)
    return log_mean


@kernel
def log_mean_weight(population: Population) -> float:
    """Return the log of the mean of the weights."""
    n_particles = population.log_weight.shape[0]
    top, total = population.log_weight.max(), 0.0
    for p in range(n_particles):
        total += math.exp(population.log_weight[p] - top)
    return top + math.log(total / n_particles)


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
def anneal_back(
    urn: Urn,
    blocks: Blocks,
    population: Population,
    path: Floats,
    n_sweeps: int,
    most: int,
    rng: np.random.Generator,
) -> None:
    """Take all steps of `path` backwards, from draws of the posterior; fill `log_weight` with
    the log of what a forward run along the same states would be weighed by. Its reciprocal has the
    reciprocal of the marginal as its mean.
    """
    for p in range(population.counts.shape[0]):
        total = 0.0
        for step in range(path.shape[0] - 2, -1, -1):
            for _ in range(n_sweeps):
                sweep(urn, blocks, population, p, path[step + 1], most, True, rng)
            total += log_probability(urn, population.counts[p], path[step + 1])
            total -= log_probability(urn, population.counts[p], path[step])
        population.log_weight[p] = total
