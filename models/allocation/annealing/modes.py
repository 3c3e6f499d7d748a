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

The best modes are *reheated*: a chain goes back to a step of the path drawn at random, where part
of its clusters dissolve, and is annealed again. Where the new mode is better, the next trial begins
there. From a good mode better ones are nearer than from the prior's mean.

Beside, a *long* population is annealed from the prior's mean. Where it estimates more than all
modes together, there are too many of them to be listed, and runs take such paths instead.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from models.allocation.annealing.path import (
    N_CHAINS,
    N_FIRST,
    Pilot,
    allocation_over,
    expected_counts,
    follow,
    mode_path,
    prior_path,
)
from models.allocation.annealing.population import (
    Path,
    anneal,
    log_mean_weight,
    new_population,
    place,
    population_bytes,
)
from models.allocation.annealing.relabelling import Relabelling, relabelling_bytes
from models.allocation.annealing.sweep import Moves, moves_of
from models.allocation.annealing.token_moves import log_probability_independent
from models.allocation.annealing.urn import Urn, urn_of
from models.allocation.cell_counts import CellCounts
from models.allocation.cliques import TableMemoryError
from models.allocation.inference_plan import InferencePlan, plan_of
from models.allocation.model import AllocationModel
from models.allocation.particles.runs import MAX_MEMORY
from models.allocation.sequence import log_of_counts
from models.arrays import Floats, Ints32
from models.parallel import for_blocks

SLOW, QUICK = 2.0, 0.25  # Steps of a search, of those of a path
QUICK_EACH = 4  # Quick searches for each slow one
LONG = 8.0  # Steps of the long population, of those of a path
LONG_SHARE = 4  # Slow searches for each of its particles, at least two: as much work, from 8 on
HEATED_SHARE = 4  # Modes that are looked at for each that is reheated
FEWEST_LINES = 2  # Lines of reheating that go on to the last round
REHEATED = (0.2, 0.95)  # Steps of the path that chains go back to, between these shares of all
COARSE = 0.2  # Steps by which modes are looked at while they are reheated, of those of a path
EVEN = 1.0  # nats: standard deviation of slow searches below which the path from the prior will do
FEWEST = 4  # Slow searches from which on that is told
SETTLED = 1.0  # Sweeps until an allocation has settled, of the steps of a path
MOST_AVERAGED = 100  # Sweeps that an allocation is summed over, at most
AVERAGED = 0.1  # Sweeps that expected counts are the average of
RESAMPLE_BELOW = 0.5  # Share of particles of a population that are effective
MAX_KEPT = 16
WITHIN = 8.0  # nats: modes that are further below the best one are left out
SAME = 0.05  # Probability of another mode, from which on it is the same one
SEARCH, PILOT, SETTLING, LONGER, HEATING, AVERAGING = 4, 1, 6, 8, 9, 10  # Streams of random numbers

T = TypeVar("T")


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

    @cached_property
    def long(self) -> Chains:
        """A population annealed for long from the prior's mean, and its estimate, one."""
        path, start = self._prior_path(LONG, np.random.default_rng([self.seed, 0, LONGER]))
        population = new_population(self.urn, self.moves, _n_long(self.n_modes))
        rng = np.random.default_rng([self.seed, 1, LONGER])
        log, _ = follow(self.moves, population, path, RESAMPLE_BELOW, rng, self.on_progress)
        best = int(population.log_weight.argmax())
        level = start + log + log_mean_weight(population)
        return Chains(np.array([level]), [population.values[best].copy()])

    def has_more_than(self, modes: list["Mode"]) -> bool:
        """Whether the long population estimates more than all these modes together."""
        together = np.logaddexp.reduce([mode.log_marginal for mode in modes])
        return bool(self.long.log_marginals[0] > together + EVEN)

    def modes(self) -> list["Mode"]:
        """Return the modes that the best searches ended in, the most probable first."""
        n_quick = self.n_modes // 2
        ends = self.slow.best(self.n_modes - n_quick)
        if n_quick:
            ends += self._chains(1, QUICK, QUICK_EACH * self.n_modes).best(n_quick)
        found = self._each(lambda n: self._mode(n, ends[n], self.n_sweeps), len(ends))
        found.sort(key=_badness)
        n_heated = min(len(found), max(2, self.n_modes // HEATED_SHARE))
        return sorted(self._reheated(found[:n_heated]) + found[n_heated:], key=_badness)

    def _reheated(self, modes: list["Mode"]) -> list["Mode"]:
        """Return the modes that lines of trials lead to, one from each of these.

        After a round the better half of the lines goes on with twice the trials, until two are
        left. Lines that end far below the best one keep the mode that they began with.
        """
        path, _ = self._prior_path(QUICK, np.random.default_rng([self.seed, 0, HEATING]))
        n_coarse = max(2, round(COARSE * self.n_sweeps))
        looks = self._each(lambda n: self._mode(n, modes[n].end, n_coarse), len(modes))
        lines = [_Line(mode, look, look) for mode, look in zip(modes, looks, strict=True)]
        n_left = len(lines)
        for turn in itertools.count(1):
            n_trials = max(1, self.n_modes // 2) * len(lines) // n_left
            going_on = self._round(lines[:n_left], path, n_coarse, n_trials, turn)
            lines[:n_left] = sorted(going_on, key=lambda line: _badness(line.best))
            if n_left <= FEWEST_LINES:
                break
            n_left = max(FEWEST_LINES, n_left // 2)
        return self._each(lambda n: self._ended(n, lines[n], lines[0].best), len(lines))

    def _round(
        self, lines: list["_Line"], path: Path, n_sweeps: int, n_trials: int, turn: int
    ) -> list["_Line"]:
        """Return the lines after so many trials each."""

        def tried(n: int) -> _Line:
            rng = np.random.default_rng([self.seed, n, HEATING, turn])
            return self._tried(lines[n], path, n_sweeps, n_trials, rng)

        return self._each(tried, len(lines))

    def _ended(self, n: int, line: "_Line", best_of_all: "Mode") -> "Mode":
        """Return the mode that a line has led to, looked at with all steps."""
        mode, look, best = line
        if best is look or best.log_marginal < best_of_all.log_marginal - WITHIN:
            return mode
        again = self._mode(n, best.end, self.n_sweeps)
        at_best = self._looked_at(n, best.end, best.mean, self.n_sweeps)
        return min(mode, again, at_best, key=_badness)

    def _tried(
        self, line: "_Line", path: Path, n_sweeps: int, n_trials: int, rng: np.random.Generator
    ) -> "_Line":
        """Return the line after so many trials: chains from its best mode, heated and annealed."""
        n_steps = len(path.reinforcement) - 1
        record, best = np.zeros((n_steps, 2)), line.best
        for _ in range(n_trials):
            population = new_population(self.urn, self.moves, 1)
            place(population, best.end)
            first = int(rng.uniform(*REHEATED) * n_steps)
            anneal(self.moves, population, path, first, n_steps, 0.0, record, rng)
            n = int(rng.integers(1 << 62))
            best = min(best, self._mode(n, population.values[0], n_sweeps), key=_badness)
        return line._replace(best=best)

    def _each(self, make: Callable[[int], T], n_made: int) -> list[T]:
        made: dict[int, T] = {}

        def work(first: int, last: int) -> None:
            for n in range(first, last):
                made[n] = make(n)

        for_blocks(work, n_made, 1, min(self.n_threads, n_made))
        return [made[n] for n in range(n_made)]

    def _chains(self, kind: int, share: float, n_chains: int) -> Chains:
        urn, moves = self.urn, self.moves
        path, start = self._prior_path(share, np.random.default_rng([self.seed, kind, SEARCH, 0]))
        logs, ends = np.zeros(n_chains), [np.zeros(0, dtype=np.int32)] * n_chains

        def work(first: int, last: int) -> None:
            for n in range(first, last):
                rng = np.random.default_rng([self.seed, n, SEARCH, 1 + kind])
                population = new_population(urn, moves, 1)
                follow(moves, population, path, 0.0, rng, self.on_progress)
                logs[n], ends[n] = start + population.log_weight[0], population.values[0]

        for_blocks(work, n_chains, 1, min(self.n_threads, n_chains))
        return Chains(logs, ends)

    def _prior_path(self, share: float, rng: np.random.Generator) -> tuple[Path, float]:
        """Return a path from the prior's mean, and the log-probability of the data there."""
        path = prior_path(self.urn, self.moves, max(2, round(share * self.n_sweeps)), rng)
        weights = np.zeros(int(self.urn.n_values.max()))
        return path, self.constant + log_probability_independent(self.urn, weights)

    def _mode(self, n: int, end: Ints32, n_sweeps: int) -> "Mode":
        """Return the mode of a chain that ended there."""
        rng = np.random.default_rng([self.seed, n, SETTLING])
        population = new_population(self.urn, self.moves, 1)
        place(population, end)
        for share in (SETTLED, AVERAGED):
            n_settling = max(1, round(share * n_sweeps))
            mean = expected_counts(self.moves, population, 0, n_settling, rng)
        return self._looked_at(n, population.values[0], mean, n_sweeps)

    def _looked_at(self, n: int, end: Ints32, mean: Floats, n_sweeps: int) -> "Mode":
        """Return the mode with these expected counts."""
        urn, rng = self.urn, np.random.default_rng([self.seed, n, PILOT])
        pilot = mode_path(urn, self.moves, mean, n_sweeps, rng)
        at_mode = urn._replace(alpha=urn.alpha + mean)
        weights = np.zeros(int(urn.n_values.max()))
        constant = self.constant + log_probability_independent(at_mode, weights)
        labels = Relabelling.of(self.plan, urn, [mean])
        labels = labels.fitted([(0, values) for values in pilot.values], rng)
        logs = [labels.log_weight(values, 0, rng) for values in pilot.values]
        level = float(np.logaddexp.reduce(pilot.log_weight + logs)) - math.log(N_CHAINS)
        return Mode(end, mean, pilot, constant, constant + level)


def best_allocation(
    model: AllocationModel,
    observed: CellCounts,
    *,
    n_modes: int,
    n_sweeps: int,
    seed: int,
    n_threads: int = 1,
) -> tuple[CellCounts, int, float]:
    """Return the tokens of a chain at the best mode that searches find, over all indices of the
    model and summed over sweeps; the number of sweeps; and the log-probability of that mode, or of
    the data where searches agree.

    Raises TableMemoryError if searches take more than `MAX_MEMORY` bytes, or hidden indices have
    too many joint values to be listed.
    """
    plan = plan_of(model, observed)
    check_search_memory(plan, n_modes, n_threads, MAX_MEMORY)
    urn = urn_of(plan)
    moves, constant = moves_of(plan, urn), log_of_counts(model, observed)
    searches = Searches(
        plan, urn, moves, constant, n_modes, n_sweeps, seed, n_threads, lambda _: None
    )
    if urn.n_values.max() == 1 or not observed.n_tokens or searches.are_even:
        logs = searches.slow.log_marginals
        level = float(np.logaddexp.reduce(logs)) - math.log(len(logs))
        end = searches.slow.best(1)[0]
    else:
        best = searches.modes()[0]
        level, end = best.log_marginal, best.end
    population = new_population(urn, moves, 1)
    place(population, end)
    n_averaged = min(MOST_AVERAGED, max(1, round(AVERAGED * n_sweeps)))
    rng = np.random.default_rng([seed, 0, AVERAGING])
    return allocation_over(plan, moves, population, n_averaged, rng), n_averaged, level


@dataclass(frozen=True, eq=False)
class Mode:
    """A mode of the posterior, and a path that begins there."""

    end: Ints32  # (n_tokens,), joint values of a chain there
    mean: Floats  # (n_state,), expected counts
    pilot: Pilot
    constant: float  # Log-probability of the data where the path begins
    log_marginal: float  # by the pilot, of this mode under all labels


class _Line(NamedTuple):
    """Line of trials."""

    mode: Mode  # with which it began
    look: Mode  # The same, looked at as coarsely as trials are
    best: Mode


def _badness(mode: Mode) -> float:
    """Sorts the most probable mode first, and as it is found among equals."""
    return -mode.log_marginal


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


def _n_long(n_modes: int) -> int:
    """Return the particles of the long population."""
    return max(2, n_modes // LONG_SHARE)


def searches_bytes(plan: InferencePlan, n_modes: int, n_threads: int) -> int:
    """Return the memory that searches take, and the modes that are looked at, without labels."""
    of_search = population_bytes(plan, N_FIRST)
    of_mode = 16 * plan.n_state + 4 * (2 * N_CHAINS + QUICK_EACH + 3) * plan.observed.n_tokens
    of_long = population_bytes(plan, _n_long(n_modes)) if n_modes else 0
    return max(min(n_threads, n_modes) * of_search, of_long) + n_modes * of_mode


def check_search_memory(plan: InferencePlan, n_modes: int, n_threads: int, max_memory: int) -> None:
    """Raise TableMemoryError if searches, and the tokens of a chain, take more than `max_memory`
    bytes.
    """
    needed = max(population_bytes(plan, N_FIRST), searches_bytes(plan, n_modes, n_threads))
    needed += labels_bytes(plan, n_modes, n_threads)
    needed += 64 * plan.observed.n_tokens + 48 * _most_entries(plan)
    if needed > max_memory:
        raise TableMemoryError(
            f"searches for {n_modes:,} modes in {n_threads} threads need {needed / 2**20:,.0f} "
            f"MiB, more than {max_memory / 2**20:,.0f} MiB: take fewer modes or threads"
        )


def _most_entries(plan: InferencePlan) -> int:
    """Return the most entries that an allocation, summed over sweeps, can have."""
    sizes, n_tokens = plan.model.cardinalities, plan.observed.n_tokens
    n_joint = max((math.prod(sizes[name] for name in each) for each in plan.unknown), default=1)
    return min(len(plan.observed.counts) * n_joint, n_tokens * MOST_AVERAGED)


def kept_bytes(plan: InferencePlan, n_modes: int) -> int:
    """Return the memory that the modes take which runs start from, without labels."""
    return 8 * plan.n_state * min(MAX_KEPT, n_modes)


def labels_bytes(plan: InferencePlan, n_modes: int, n_threads: int) -> int:
    """Return the memory that labels take while modes are looked at, and in runs."""
    if not n_modes:
        return 0
    return relabelling_bytes(plan, min(MAX_KEPT, n_modes) + 1, n_threads)
