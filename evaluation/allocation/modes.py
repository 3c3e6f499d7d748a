"""Modes of the posterior of allocations, found by searches.

A search anneals particles from the prior's mean, and sweeps one of them, drawn by weight, until it
has settled. Its expected counts are where a path to the model begins. The pilot of that path says
how probable the data are in the mode alone, so that the best modes are kept, each once.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evaluation.arrays import Floats
from evaluation.monte_carlo.log_mean import log_mean_of
from models.allocation.annealing.path import (
    N_CHAINS,
    N_FIRST,
    Pilot,
    expected_counts,
    follow,
    mode_path,
    prior_path,
)
from models.allocation.annealing.population import new_population, population_bytes
from models.allocation.annealing.relabelling import Relabelling, relabelling_bytes
from models.allocation.annealing.sweep import Moves
from models.allocation.annealing.token_moves import log_probability_independent
from models.allocation.annealing.urn import Urn
from models.allocation.inference_plan import InferencePlan
from models.parallel import for_blocks

RESAMPLE_BELOW = 0.5  # Share of particles that are effective
SHARE = 0.5  # Steps of a search, of those of a path
SETTLED = 1.0  # Sweeps until an allocation has settled, of the steps of a path
AVERAGED = 0.1  # Sweeps that expected counts are the average of
MAX_KEPT = 4
WITHIN = 10.0  # nats: modes that are further below the best one are left out
SAME = 0.1  # Probability of another mode, from which on it is the same one
SEARCH, PILOT = 4, 1  # Streams of random numbers


@dataclass(frozen=True, eq=False)
class Mode:
    """A mode of the posterior, and a path that begins there."""

    mean: Floats  # (n_state,), expected counts
    pilot: Pilot
    constant: float  # Log-probability of the data where the path begins
    log_marginal: float  # by the pilot, of this mode under all labels


def find_modes(
    plan: InferencePlan,
    urn: Urn,
    moves: Moves,
    constant: float,
    *,
    n_modes: int,
    n_particles: int,
    n_sweeps: int,
    seed: int,
    n_threads: int,
    on_progress: Callable[[int], object],
) -> list[Mode]:
    """Return what each of `n_modes` searches finds, the most probable first.

    `constant` is the part of the log-probability that is the same for all allocations.
    """
    n_steps = max(2, round(SHARE * n_sweeps))
    search = prior_path(urn, moves, n_steps, np.random.default_rng([seed, 0, SEARCH, 0]))
    found: list[Mode | None] = [None] * n_modes

    def work(first: int, last: int) -> None:
        for n in range(first, last):
            rng = np.random.default_rng([seed, n, SEARCH, 1])
            population = new_population(urn, moves, n_particles)
            follow(moves, population, search, RESAMPLE_BELOW, rng)
            weights = np.exp(population.log_weight - population.log_weight.max())
            particle = int(rng.choice(n_particles, p=weights / weights.sum()))
            for share in (SETTLED, AVERAGED):
                n_settling = max(1, round(share * n_sweeps))
                mean = expected_counts(moves, population, particle, n_settling, rng)
            pilot = mode_path(urn, moves, mean, n_sweeps, np.random.default_rng([seed, n, PILOT]))
            start_log = log_probability_independent(
                urn._replace(alpha=urn.alpha + mean), population.scratch.weights
            )
            labels = Relabelling.of(plan, urn, [mean])
            labels = labels.fitted([(0, values) for values in pilot.values], rng)
            logs = [labels.log_weight(values, 0, rng) for values in pilot.values]
            level = log_mean_of(pilot.log_weight + logs).log_mean
            found[n] = Mode(mean, pilot, constant + start_log, constant + start_log + level)
            on_progress(n_sweeps)

    for_blocks(work, n_modes, 1, min(n_threads, n_modes))
    modes = [mode for mode in found if mode is not None]
    return sorted(modes, key=lambda mode: -mode.log_marginal)


def labels_of(
    plan: InferencePlan, urn: Urn, modes: list[Mode], rng: np.random.Generator
) -> Relabelling:
    """Return the distribution of modes and labels, fitted to the ends of pilots."""
    labels = Relabelling.of(plan, urn, [mode.mean for mode in modes])
    ends = [(n, values) for n, mode in enumerate(modes) for values in mode.pilot.values]
    return labels.fitted(ends, rng)


def distinct(
    plan: InferencePlan, urn: Urn, modes: list[Mode], rng: np.random.Generator
) -> list[Mode]:
    """Return the best modes, each once, at most `MAX_KEPT`."""
    kept: list[Mode] = []
    for mode in modes:
        if len(kept) == MAX_KEPT or mode.log_marginal < modes[0].log_marginal - WITHIN:
            break
        both = Relabelling.of(plan, urn, [*(each.mean for each in kept), mode.mean])
        others = 1.0 - np.mean([both.modes(values, rng)[-1] for values in mode.pilot.values])
        if not kept or others < SAME:
            kept.append(mode)
    return kept


def modes_bytes(plan: InferencePlan, n_modes: int, n_particles: int, n_threads: int) -> int:
    """Return the memory that modes take, and the searches for them, at most."""
    if not n_modes:
        return 0
    of_search = population_bytes(plan, n_particles) + population_bytes(plan, N_FIRST)
    of_mode = 8 * plan.n_state + 4 * N_CHAINS * plan.observed.n_tokens
    of_labels = (MAX_KEPT + n_threads) * relabelling_bytes(plan)
    return min(n_threads, n_modes) * of_search + n_modes * of_mode + of_labels
