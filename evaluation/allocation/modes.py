"""Modes of the posterior of allocations, found by searches.

A search anneals particles from the prior's mean; their mean weight is an unbiased estimate. Where
the estimates of all searches are nearly the same, this path is good enough, and no mode is missed.
Else a particle of each, drawn by weight, is swept until it has settled. Its expected counts are
where a path to the model begins. The pilot of that path says how probable the data are in the mode
alone, so that the best modes are kept, each once.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evaluation.arrays import Floats, Ints32
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
from models.allocation.annealing.population import (
    log_mean_weight,
    new_population,
    place,
    population_bytes,
)
from models.allocation.annealing.relabelling import Relabelling, relabelling_bytes
from models.allocation.annealing.sweep import Moves
from models.allocation.annealing.token_moves import log_probability_independent
from models.allocation.annealing.urn import Urn
from models.allocation.inference_plan import InferencePlan
from models.parallel import for_blocks

RESAMPLE_BELOW = 0.5  # Share of particles that are effective
SHARE = 0.5  # Steps of a search, of those of a path
EVEN = 1.0  # nats: standard deviation of searches below which the path from the prior will do
FEWEST = 4  # Searches from which on that is told
SETTLED = 1.0  # Sweeps until an allocation has settled, of the steps of a path
AVERAGED = 0.1  # Sweeps that expected counts are the average of
MAX_KEPT = 4
WITHIN = 10.0  # nats: modes that are further below the best one are left out
SAME = 0.05  # Probability of another mode, from which on it is the same one
SEARCH, PILOT, SETTLING = 4, 1, 6  # Streams of random numbers


@dataclass(frozen=True, eq=False)
class Searches:
    """Ends of searches, and what modes are to be looked at with."""

    plan: InferencePlan
    urn: Urn
    moves: Moves
    constant: float  # Part of the log-probability that is the same for all allocations
    n_sweeps: int
    seed: int
    n_threads: int
    log_marginals: Floats  # (n,), the log of the unbiased estimate of each search
    ends: list[Ints32]  # (n_tokens,) each, joint values

    @property
    def are_even(self) -> bool:
        """Whether all searches say the same, so that the path from the prior's mean will do."""
        n = len(self.log_marginals)
        return n >= FEWEST and bool(self.log_marginals.std(ddof=1) < EVEN)

    def modes(self) -> list["Mode"]:
        """Return the modes that the searches ended in, the most probable first."""
        found: list[Mode | None] = [None] * len(self.ends)

        def work(first: int, last: int) -> None:
            for n in range(first, last):
                found[n] = self._mode(n)

        for_blocks(work, len(found), 1, min(self.n_threads, len(found)))
        modes = [mode for mode in found if mode is not None]
        return sorted(modes, key=lambda mode: -mode.log_marginal)

    def _mode(self, n: int) -> "Mode":
        urn, rng = self.urn, np.random.default_rng([self.seed, n, SETTLING])
        population = new_population(urn, self.moves, 1)
        place(population, self.ends[n])
        for share in (SETTLED, AVERAGED):
            n_settling = max(1, round(share * self.n_sweeps))
            mean = expected_counts(self.moves, population, 0, n_settling, rng)
        rng = np.random.default_rng([self.seed, n, PILOT])
        pilot = mode_path(urn, self.moves, mean, self.n_sweeps, rng)
        at_mode = urn._replace(alpha=urn.alpha + mean)
        constant = self.constant + log_probability_independent(at_mode, population.scratch.weights)
        labels = Relabelling.of(self.plan, urn, [mean])
        labels = labels.fitted([(0, values) for values in pilot.values], rng)
        logs = [labels.log_weight(values, 0, rng) for values in pilot.values]
        level = log_mean_of(pilot.log_weight + logs).log_mean
        return Mode(mean, pilot, constant, constant + level)


@dataclass(frozen=True, eq=False)
class Mode:
    """A mode of the posterior, and a path that begins there."""

    mean: Floats  # (n_state,), expected counts
    pilot: Pilot
    constant: float  # Log-probability of the data where the path begins
    log_marginal: float  # by the pilot, of this mode under all labels


def search(
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
) -> Searches:
    """Search for modes `n_modes` times. `constant` is as in `Searches`."""
    n_steps = max(2, round(SHARE * n_sweeps))
    path = prior_path(urn, moves, n_steps, np.random.default_rng([seed, 0, SEARCH, 0]))
    logs, ends = np.zeros(n_modes), [np.zeros(0, dtype=np.int32)] * n_modes

    def work(first: int, last: int) -> None:
        for n in range(first, last):
            rng = np.random.default_rng([seed, n, SEARCH, 1])
            population = new_population(urn, moves, n_particles)
            log, _ = follow(moves, population, path, RESAMPLE_BELOW, rng, on_progress)
            logs[n] = log + log_mean_weight(population)
            weights = np.exp(population.log_weight - population.log_weight.max())
            particle = int(rng.choice(n_particles, p=weights / weights.sum()))
            ends[n] = population.values[particle].copy()

    for_blocks(work, n_modes, 1, min(n_threads, n_modes))
    weights = np.zeros(int(urn.n_values.max()))
    logs += constant + log_probability_independent(urn, weights)
    return Searches(plan, urn, moves, constant, n_sweeps, seed, n_threads, logs, ends)


def labels_of(
    plan: InferencePlan, urn: Urn, modes: list[Mode], rng: np.random.Generator
) -> Relabelling:
    """Return the distribution of modes and labels, fitted to the ends of pilots."""
    labels = Relabelling.of(plan, urn, [mode.mean for mode in modes])
    ends = [(n, values) for n, mode in enumerate(modes) for values in mode.pilot.values]
    return labels.fitted(ends, rng)


def distinct(
    plan: InferencePlan, urn: Urn, modes: list[Mode], rng: np.random.Generator
) -> tuple[list[Mode], int]:
    """Return the best modes, each once, at most `MAX_KEPT`; and how many of all are the best one.

    Modes are the same where chains from one may be taken for chains from the other.
    """
    kept, n_found = [modes[0]], 1
    for mode in modes[1:]:
        labels = Relabelling.of(plan, urn, [*(each.mean for each in kept), mode.mean])
        chances = np.mean([labels.modes(values, rng) for values in mode.pilot.values], axis=0)
        if chances[:-1].sum() >= SAME:
            n_found += int(chances[:-1].argmax()) == 0
        elif len(kept) < MAX_KEPT and mode.log_marginal > modes[0].log_marginal - WITHIN:
            kept.append(mode)
    return kept, n_found


def modes_bytes(plan: InferencePlan, n_modes: int, n_particles: int, n_threads: int) -> int:
    """Return the memory that modes take, and the searches for them, at most."""
    if not n_modes:
        return 0
    of_search = population_bytes(plan, n_particles) + population_bytes(plan, N_FIRST)
    of_mode = 8 * plan.n_state + 4 * N_CHAINS * plan.observed.n_tokens
    of_labels = (MAX_KEPT + n_threads) * relabelling_bytes(plan)
    return min(n_threads, n_modes) * of_search + n_modes * of_mode + of_labels
