"""The marginal likelihood by annealing whole allocations, and brackets of it.

Tokens are independent at first, with the prior's mean tables, and reinforce each other more and
more (`models.allocation.annealing.urn`): a path of models whose pseudo-counts shrink from infinity
to the prior's, along which clusters form while tokens still move. Annealed importance sampling
(Neal 2001) with resampling (Del Moral, Doucet & Jasra 2006) is unbiased for the probability.

Hidden values have no names: where the prior is flat, each allocation has K! copies with the values
of a hidden index renamed. Independent tokens fall on all copies alike, and the sum is over all of
them, so nothing is to be corrected, although a chain sees one.

Annealed the other way, from an exact draw of the posterior, the mean of the reciprocal weights is
the reciprocal of the probability (Grosse, Ghahramani & Adams 2015): a stochastic upper bound.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.allocation.marginal_estimate import MarginalEstimate, ParticlePath
from evaluation.allocation.simulate import draw
from evaluation.arrays import Floats, Ints32
from evaluation.monte_carlo.log_mean import genealogy_variance, log_mean_of
from models.allocation.annealing.path import N_FIRST, path_of
from models.allocation.annealing.population import (
    Population,
    anneal,
    anneal_back,
    log_mean_weight,
    new_population,
    population_bytes,
    start,
)
from models.allocation.annealing.sweep import Moves, moves_of
from models.allocation.annealing.token_moves import log_probability_independent
from models.allocation.annealing.urn import Urn, count, urn_of
from models.allocation.cell_counts import MISSING, CellCounts
from models.allocation.cliques import TableMemoryError
from models.allocation.inference_plan import InferencePlan, plan_of
from models.allocation.model import AllocationModel
from models.allocation.particles.runs import MAX_MEMORY
from models.allocation.sequence import log_of_counts
from models.checks import check_whole
from models.parallel import effective_n_jobs, for_blocks
from models.seed import seed_from

N_SWEEPS = 1000
N_PARTICLES = 4
RESAMPLE_BELOW = 0.5
STEPS_A_CALL = 50  # Steps between two reports of progress, and between checks for an interrupt
N_TIMES = 200  # Maximum number of steps that a path keeps
PILOT, BACK = 1, 2  # Streams of random numbers


@dataclass(frozen=True)
class MarginalBracket:
    """Log marginal likelihood between a stochastic lower and a stochastic upper bound, in nats.

    The lower one is an unbiased estimate: it exceeds the truth by x nats with a probability of at
    most exp(-x). The upper one falls below it as rarely, if it is from an exact draw of the
    posterior. From the end of a forward run it is a *heuristic* upper bound: right only as far as
    that run has found where the posterior is.
    """

    lower: MarginalEstimate
    upper: float
    upper_standard_error: float
    is_heuristic: bool
    upper_chains: Floats  #: (n_chains,), the log of the weight of each chain.

    @property
    def width(self) -> float:
        """Upper less lower bound; below 0 by chance only, or if the upper bound is heuristic."""
        return self.upper - self.lower.log_marginal


@dataclass(frozen=True, eq=False)
class _Annealing:
    """Data laid down for the kernels, and the path."""

    plan: InferencePlan
    urn: Urn
    moves: Moves
    path: Floats
    constant: float

    @classmethod
    def of(
        cls, model: AllocationModel, observed: CellCounts, n_sweeps: int, seed: int
    ) -> "_Annealing":
        plan = plan_of(model, observed)
        urn = urn_of(plan)
        moves = moves_of(plan, urn)
        weights = np.zeros(int(urn.n_values.max()))
        constant = log_of_counts(model, observed) + log_probability_independent(urn, weights)
        path = path_of(urn, moves, n_sweeps, np.random.default_rng([seed, 0, PILOT]))
        return cls(plan, urn, moves, path, constant)


def annealed(
    model: AllocationModel,
    observed: CellCounts,
    *,
    n_particles: int = N_PARTICLES,
    n_repeats: int = 10,
    n_sweeps: int = N_SWEEPS,
    max_memory: int = MAX_MEMORY,
    seed: int = 0,
    n_jobs: int | None = None,
    on_progress: Callable[[int], object] = lambda n_steps: None,  # noqa: ARG005
) -> MarginalEstimate:
    """Estimate by runs of particles that are annealed in about `n_sweeps` steps.

    `on_progress` is called with the steps taken since its last call, by any run. Raises
    TableMemoryError if the particles take more than `max_memory` bytes, or hidden indices have too
    many joint values to be listed; ValueError or TypeError if a setting is out of its range.
    """
    estimate, _, _ = _forward(
        model, observed, n_particles, n_repeats, n_sweeps, max_memory, seed, n_jobs, on_progress
    )
    return estimate


def bracket_marginal(
    model: AllocationModel,
    X: Any,
    allocation: CellCounts | None = None,
    *,
    n_particles: int = N_PARTICLES,
    n_repeats: int = 10,
    n_sweeps: int = N_SWEEPS,
    max_memory: int = MAX_MEMORY,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> MarginalBracket:
    """Return bounds of log p(X): `n_repeats` runs forward, and as many chains back.

    Chains go back from `allocation`, a draw from the posterior over `model.indices`, which exists
    where X was simulated (`evaluation.allocation.simulate.draw`): then the bracket certifies the
    method at this size. Without it each goes back from the end of a run, and the upper bound is
    heuristic. Raises what `annealed` does, and ValueError if `allocation` has other counts than X,
    or X lacks an index of some token and has an allocation.
    """
    observed, seed = CellCounts.of(X, model), seed_from(random_state)
    estimate, setup, ends = _forward(
        model, observed, n_particles, n_repeats, n_sweeps, max_memory, seed, n_jobs, None
    )
    if allocation is not None:
        ends = [_values_of(setup.plan, allocation)] * n_repeats
    logs = np.zeros(n_repeats)

    def work(first: int, last: int) -> None:
        for n in range(first, last):
            population = new_population(setup.urn, setup.moves, 1)
            _fill(setup.urn, population, ends[n])
            rng = np.random.default_rng([seed, n, BACK])
            anneal_back(setup.urn, setup.moves, population, setup.path, rng)
            logs[n] = population.log_weight[0]

    for_blocks(work, n_repeats, 1, min(effective_n_jobs(n_jobs), n_repeats))
    chains = setup.constant + logs
    mean, error, _ = log_mean_of(-chains)
    return MarginalBracket(estimate, -mean, error, allocation is None, chains)


def certify_marginal(
    model: AllocationModel, n_tokens: int, *, random_state: Any = None, **settings: Any
) -> MarginalBracket:
    """Bracket the probability of `n_tokens` tokens drawn from the model, from their own allocation.

    The width says how far from the truth annealing with these `settings`, those of
    `bracket_marginal`, is on such tables at most. Raises what that raises.
    """
    seed = seed_from(random_state)
    observed, allocation = draw(model, n_tokens, np.random.default_rng([seed, 3]))
    return bracket_marginal(model, observed, allocation, random_state=seed, **settings)


def check_annealing_memory(
    plan: InferencePlan, n_particles: int, n_threads: int, n_repeats: int, max_memory: int
) -> None:
    """Raise TableMemoryError if the runs of `annealed` take more than `max_memory` bytes."""
    needed = population_bytes(plan, max(n_particles, 1)) * n_threads
    needed = max(needed, population_bytes(plan, N_FIRST))  # of the path, made before
    needed += n_repeats * (16 * N_TIMES + 4 * plan.observed.n_tokens)
    if needed > max_memory:
        raise TableMemoryError(
            f"{n_particles:,} particles in {n_threads} threads need {needed / 2**20:,.0f} MiB, "
            f"more than max_memory, {max_memory / 2**20:,.0f} MiB: take fewer particles or threads"
        )


def _forward(
    model: AllocationModel,
    observed: CellCounts,
    n_particles: int,
    n_repeats: int,
    n_sweeps: int,
    max_memory: int,
    seed: int,
    n_jobs: int | None,
    on_progress: Callable[[int], object] | None,
) -> tuple[MarginalEstimate, _Annealing, list[Ints32]]:
    """Return the estimate, the setup, and the values of a particle of each run, drawn by weight."""
    check_whole("n_particles", n_particles, 1)
    check_whole("n_repeats", n_repeats, 1)
    check_whole("n_sweeps", n_sweeps, 1)
    n_threads = min(effective_n_jobs(n_jobs), n_repeats)
    plan = plan_of(model, observed)
    check_annealing_memory(plan, n_particles, n_threads, n_repeats, max_memory)
    setup = _Annealing.of(model, observed, n_sweeps, seed)
    n_steps = len(setup.path) - 1
    times = np.unique(np.linspace(1, n_steps, min(N_TIMES, n_steps)).astype(np.int64))
    repeats, variances = np.zeros((2, n_repeats))
    effective = np.zeros((n_repeats, len(times)))
    n_ancestors = np.zeros((n_repeats, len(times)), dtype=np.int64)
    ends = [np.zeros(0, dtype=np.int32)] * n_repeats

    def work(first: int, last: int) -> None:
        for repeat in range(first, last):
            rng = np.random.default_rng([seed, repeat])
            population = new_population(setup.urn, setup.moves, n_particles)
            record = np.zeros((n_steps, 2))
            start(setup.urn, population, rng)
            for step in range(0, n_steps, STEPS_A_CALL):
                stop = min(step + STEPS_A_CALL, n_steps)
                repeats[repeat] += anneal(
                    setup.urn,
                    setup.moves,
                    population,
                    setup.path,
                    step,
                    stop,
                    RESAMPLE_BELOW,
                    record,
                    rng,
                )
                if on_progress is not None:
                    on_progress(stop - step)
            repeats[repeat] += log_mean_weight(population)
            variances[repeat] = genealogy_variance(population.log_weight, population.founder)
            effective[repeat], n_ancestors[repeat] = record[times - 1].T
            weights = np.exp(population.log_weight - population.log_weight.max())
            end = int(rng.choice(n_particles, p=weights / weights.sum()))
            ends[repeat] = population.values[end].copy()

    for_blocks(work, n_repeats, 1, n_threads)
    path = ParticlePath(times, effective, n_ancestors)
    estimate = MarginalEstimate.of_repeats(
        setup.constant + repeats, "annealed", observed.n_tokens, n_particles, path, variances
    )
    return estimate, setup, ends


def _values_of(plan: InferencePlan, allocation: CellCounts) -> Ints32:
    """Joint values of all tokens, in the order of the cells of X."""
    model, observed = plan.model, plan.observed
    wanted = tuple(model.cardinalities[name] for name in model.indices)
    if allocation.shape != wanted or (allocation.cells == MISSING).any():
        raise ValueError(f"allocation must say all indices of each token, of shape {wanted}")
    if (observed.cells == MISSING).any():
        raise ValueError("X must say all visible indices of each token where allocation is given")
    cells = allocation.cells[:, [model.indices.index(name) for name in model.visible]]
    (unknown,) = plan.unknown
    value = np.zeros(len(cells), dtype=np.int64)
    for name in unknown:
        value = value * model.cardinalities[name] + allocation.cells[:, model.indices.index(name)]
    order = np.lexsort([*cells.T[::-1]]) if len(model.visible) else np.arange(len(cells))
    tokens = np.repeat(cells[order], allocation.counts[order], axis=0)
    if not np.array_equal(tokens, np.repeat(observed.cells, observed.counts, axis=0)):
        raise ValueError("allocation must have the counts of X where hidden indices are summed out")
    return np.repeat(value[order], allocation.counts[order]).astype(np.int32)


def _fill(urn: Urn, population: Population, values: Ints32) -> None:
    population.values[0] = values
    for cell in range(len(urn.pattern_of)):
        for token in range(urn.cell_start[cell], urn.cell_start[cell + 1]):
            count(urn, population.counts[0], cell, int(values[token]), 1.0)
