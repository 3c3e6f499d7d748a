"""Modes of the posterior of allocations, found by searches.

A search is a chain that is annealed from the prior's mean; its weight is an unbiased estimate.
Where the weights of slow chains are nearly the same, this path is good enough, and no mode is
missed. Else quick chains are annealed too, and the chains with the largest weights, half of them
slow and half quick, are swept until they have settled. It is by their weights that chains are
chosen, not by how probable their ends are: a weight counts how many allocations a mode has, and how
rarely chains come to it. Of many quick chains one or another ends where few do; slow chains end in
better modes where these are many.

Where a chain has settled, its expected counts are where a path to the model begins. The pilot of
that path says how probable the data are in the mode alone, so that the best modes are kept, each
once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

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

SLOW, QUICK = 2.0, 0.25  # Steps of a search, of those of a path
QUICK_EACH = 4  # Quick searches for each slow one
EVEN = 1.0  # nats: standard deviation of slow searches below which the path from the prior will do
FEWEST = 4  # Slow searches from which on that is told
SETTLED = 1.0  # Sweeps until an allocation has settled, of the steps of a path
AVERAGED = 0.1  # Sweeps that expected counts are the average of
MAX_KEPT = 16
WITHIN = 8.0  # nats: modes that are further below the best one are left out
SAME = 0.05  # Probability of another mode, from which on it is the same one
SEARCH, PILOT, SETTLING = 4, 1, 6  # Streams of random numbers


class Chains(NamedTuple):
    """Chains from the prior's mean that were annealed as slowly as each other."""

    log_marginals: Floats  # (n,), the log of the unbiased estimate of each
    ends: list[Ints32]  # (n_tokens,) each, joint values

    def best(self, n: int) -> list[Ints32]:
        """Return the ends of the chains with the largest weights."""
        return [self.ends[each] for each in np.argsort(-self.log_marginals, kind="stable")[:n]]


@dataclass(frozen=True, eq=False)
class Searches:
    """Searches for modes, and what modes are looked at with."""

    plan: InferencePlan
    urn: Urn
    moves: Moves
    constant: float  # Part of the log-probability that is the same for all allocations
    n_modes: int  # that are looked at
    n_sweeps: int
    seed: int
    n_threads: int
    on_progress: Callable[[int], object]

    @cached_property
    def slow(self) -> Chains:
        """Slow chains, as many as modes are looked at."""
        return self._chains(0, SLOW, self.n_modes)

    @property
    def are_even(self) -> bool:
        """Whether all slow chains say the same, so that the path from the prior's mean will do."""
        logs = self.slow.log_marginals
        return len(logs) >= FEWEST and bool(logs.std(ddof=1) < EVEN)

    def modes(self) -> list["Mode"]:
        """Return the modes that the best searches ended in, the most probable first."""
        n_quick = self.n_modes // 2
        ends = self.slow.best(self.n_modes - n_quick)
        if n_quick:
            ends += self._chains(1, QUICK, QUICK_EACH * self.n_modes).best(n_quick)
        found: list[Mode | None] = [None] * len(ends)

        def work(first: int, last: int) -> None:
            for n in range(first, last):
                found[n] = self._mode(n, ends[n])

        for_blocks(work, len(found), 1, min(self.n_threads, len(found)))
        modes = [mode for mode in found if mode is not None]
        return sorted(modes, key=lambda mode: -mode.log_marginal)

    def _chains(self, kind: int, share: float, n_chains: int) -> Chains:
        urn, moves, n_steps = self.urn, self.moves, max(2, round(share * self.n_sweeps))
        path = prior_path(urn, moves, n_steps, np.random.default_rng([self.seed, kind, SEARCH, 0]))
        weights = np.zeros(int(urn.n_values.max()))
        start = self.constant + log_probability_independent(urn, weights)
        logs, ends = np.zeros(n_chains), [np.zeros(0, dtype=np.int32)] * n_chains

        def work(first: int, last: int) -> None:
            for n in range(first, last):
                rng = np.random.default_rng([self.seed, n, SEARCH, 1 + kind])
                population = new_population(urn, moves, 1)
                follow(moves, population, path, 0.0, rng, self.on_progress)
                logs[n], ends[n] = start + population.log_weight[0], population.values[0]

        for_blocks(work, n_chains, 1, min(self.n_threads, n_chains))
        return Chains(logs, ends)

    def _mode(self, n: int, end: Ints32) -> "Mode":
        urn, rng = self.urn, np.random.default_rng([self.seed, n, SETTLING])
        population = new_population(urn, self.moves, 1)
        place(population, end)
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


def distinct(
    plan: InferencePlan, urn: Urn, modes: list[Mode], rng: np.random.Generator
) -> tuple[list[Mode], int, Relabelling]:
    """Return the best modes, each once, at most `MAX_KEPT`; how many of all are the best one; and
    the distribution of modes and labels, fitted to the ends of pilots.

    Modes are the same where chains from one may be taken for chains from the other.
    """
    kept, n_found = [modes[0]], 1
    labels = Relabelling.of(plan, urn, [modes[0].mean])
    for mode in modes[1:]:
        more = labels.with_mode(urn, mode.mean)
        chances = np.mean([more.modes(values, rng) for values in mode.pilot.values], axis=0)
        if chances[:-1].sum() >= SAME:
            n_found += int(chances[:-1].argmax()) == 0
        elif len(kept) < MAX_KEPT and mode.log_marginal > modes[0].log_marginal - WITHIN:
            kept.append(mode)
            labels = more
    ends = [(n, values) for n, mode in enumerate(kept) for values in mode.pilot.values]
    return kept, n_found, labels.fitted(ends, rng)


def searches_bytes(plan: InferencePlan, n_modes: int, n_threads: int) -> int:
    """Return the memory that searches take, and the modes that are looked at, without labels."""
    of_search = population_bytes(plan, N_FIRST)
    of_mode = 8 * plan.n_state + 4 * (N_CHAINS + QUICK_EACH + 1) * plan.observed.n_tokens
    return min(n_threads, n_modes) * of_search + n_modes * of_mode


def kept_bytes(plan: InferencePlan, n_modes: int) -> int:
    """Return the memory that the modes take which runs start from, without labels."""
    return 8 * plan.n_state * min(MAX_KEPT, n_modes)


def labels_bytes(plan: InferencePlan, n_modes: int, n_threads: int) -> int:
    """Return the memory that labels take while modes are looked at, and in runs."""
    if not n_modes:
        return 0
    return relabelling_bytes(plan, min(MAX_KEPT, n_modes) + 1, n_threads)
