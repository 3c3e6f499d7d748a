"""Searches for modes of the posterior of allocations.

A search is a chain that is annealed from the prior's mean; its weight is an unbiased estimate.
Where the weights of slow chains are nearly the same, this path is good enough, and no mode is
missed. Else quick chains are annealed too, and the chains with the largest weights, half of them
slow and half quick, are swept until they have settled (`mode`). It is by their weights that chains
are chosen, not by how probable their ends are: a weight counts how many allocations a mode has, and
how rarely chains come to it. Of many quick chains one or another ends where few do; slow chains end
in better modes where these are many. In two lines, which know nothing of each other, these modes
are crossed (`crossing`), and then all together.

Beside, a *long* population is annealed from the prior's mean. Where it estimates far more than all
modes of both lines, and those that are known, there are too many to be listed, and runs take such
paths instead. Else it is compared with the modes that are kept in the end, and three more are
annealed where it is near them. If they estimate more, runs take such paths too.

Modes that are *known*, of another model, are crossed with those of both lines.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from models.allocation.annealing.crossing import CROSSING, N_LINES, Crossing, n_coarse
from models.allocation.annealing.mode import (
    MAX_KEPT,
    WITHIN,
    Average,
    Mode,
    distinct,
    settled_mode,
    steadier_average,
)
from models.allocation.annealing.path import N_CHAINS, N_FIRST, allocation_over, follow
from models.allocation.annealing.population import (
    Path,
    log_mean_weight,
    new_population,
    population_bytes,
)
from models.allocation.annealing.posterior import Posterior
from models.allocation.annealing.relabelling import relabelling_bytes
from models.allocation.cell_counts import CellCounts
from models.allocation.cliques import TableMemoryError
from models.allocation.inference_plan import InferencePlan, plan_of
from models.allocation.model import AllocationModel
from models.allocation.particles.runs import MAX_MEMORY
from models.arrays import Floats, Ints32
from models.parallel import results_of

SLOW, QUICK = 2.0, 0.25  # Steps of a search, in units of those of a path
QUICK_EACH = 4  # Quick searches for each slow one
LONG = 8.0  # Steps of a long population, in units of those of a path
N_LONG = 4  # Long populations that are averaged where one does not decide
FAR = 10.0  # nats: one long population decides if it is so far below modes, or above both lines
LONG_SHARE = 4  # Slow searches for each particle of a long population, which has at least two
LOOSE = 2.0  # nats: coarse estimates of modes may be so much further below the best than `WITHIN`
EVEN = 1.0  # nats: slow searches agree if their standard deviation is below it
N_COMPARED = 4  # Slow chains by whose modes it is decided over how many sweeps to average
FEWEST = 4  # Slow searches, at least, for a standard deviation that tells whether they agree
SUMMED = 0.1  # Sweeps over which an allocation is summed, in the same units
MOST_SUMMED = 100  # Such sweeps, at most
RESAMPLE_BELOW = 0.5  # Effective share of a population's particles below which it is resampled
SEARCH, LONGER, AVERAGING = 4, 8, 10  # Streams of random numbers


class Chains(NamedTuple):
    """Chains from the prior's mean that were annealed as slowly as each other."""

    log_marginals: Floats  # (n,), the log of the unbiased estimate of each
    ends: list[Ints32]  # (n_tokens,) each, joint values

    def best(self, n: int) -> list[Ints32]:
        """Return the ends of the chains with the largest weights."""
        return [self.ends[each] for each in np.argsort(-self.log_marginals, kind="stable")[:n]]


@dataclass(frozen=True, eq=False)
class Searches:
    """Searches for modes, of which `n_modes` are looked at, by paths of about `n_sweeps` steps."""

    posterior: Posterior
    n_modes: int
    n_sweeps: int
    seed: int
    n_threads: int
    on_progress: Callable[[int], object] = lambda n_steps: None  # noqa: ARG005
    known: Sequence[Ints32] = ()  # (n_tokens,) each, joint values at modes of another model

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
    def _crossing(self) -> Crossing:
        return Crossing(self.posterior, self.n_sweeps, self._average, self.seed, self.n_threads)

    @cached_property
    def _average(self) -> Average:
        ends, n_steps = self.slow.best(N_COMPARED), n_coarse(self.n_sweeps)
        return steadier_average(self.posterior, ends, n_steps, self.seed)

    @cached_property
    def _lines(self) -> list[list[Mode]]:
        """Lines of modes before they are crossed with each other."""
        n_quick = self.n_modes // 2
        ends = self.slow.best(self.n_modes - n_quick)
        if n_quick:
            ends += self._chains(1, QUICK, QUICK_EACH * self.n_modes).best(n_quick)
        return self._crossing.lines(ends)

    @cached_property
    def _known_modes(self) -> list[Mode]:
        return self._crossing.modes_at(self.known) if self.known else []

    @cached_property
    def _long_path(self) -> Path:
        return self._prior_path(LONG, np.random.default_rng([self.seed, 0, LONGER]))

    @cached_property
    def _first_long_level(self) -> float:
        return self.long(0)

    def long(self, n: int) -> float:
        """Return the estimate of the n-th population annealed for long from the prior's mean."""
        posterior, rng = self.posterior, np.random.default_rng([self.seed, 1 + n, LONGER])
        population = new_population(posterior.urn, posterior.moves, _n_long(self.n_modes))
        path = self._long_path
        log, _ = follow(posterior.moves, population, path, RESAMPLE_BELOW, rng, self.on_progress)
        return posterior.log_at_mean() + log + log_mean_weight(population)

    @property
    def modes_are_too_many(self) -> bool:
        """Whether a long population estimates far more than all modes of both lines, and those that
        are known: then there are too many to be listed, and they need not be crossed further.
        """
        levels = [mode.log_marginal for line in self._lines for mode in line]
        levels += [mode.log_marginal for mode in self._known_modes]
        return bool(self._first_long_level > np.logaddexp.reduce(levels) + FAR)

    def has_more_than(self, modes: list[Mode]) -> bool:
        """Whether long populations estimate more than all these modes together.

        One is enough where it estimates more by a nat, or less by `FAR`. Else it may be too low by
        chance, as most are where they vary by nats: then the mean of `N_LONG` tells.
        """
        together = np.logaddexp.reduce([mode.log_marginal for mode in modes])
        levels = [self._first_long_level]
        if together - FAR < levels[0] <= together + EVEN:
            n_threads = min(self.n_threads, self.n_modes)
            levels += results_of(lambda n: self.long(1 + n), N_LONG - 1, n_threads)
        level = float(np.logaddexp.reduce(levels)) - math.log(len(levels))
        return bool(level > together + EVEN)

    def modes(self) -> tuple[list[Mode], int]:
        """Return modes, the most probable first, and how many lines, before they are crossed with
        each other, had one that is as probable as the best, within a nat; at least 1, and at most
        `N_LINES`. Known modes are a line of their own.
        """
        lines = [*self._lines, self._known_modes] if self._known_modes else self._lines
        line = self._crossing.together(lines, self.n_modes)
        of_lines = [each[0] for each in lines]
        level = line[0].log_marginal - WITHIN - LOOSE
        best = [mode for mode in line if mode.log_marginal > level][:MAX_KEPT]
        wanted = best + [mode for mode in of_lines if mode not in best]

        def found(n: int) -> Mode:
            end = wanted[n].end
            return settled_mode(self.posterior, end, self.n_sweeps, self._average, self.seed, n)

        modes = results_of(found, len(wanted), self.n_threads)
        again = dict(zip(map(id, wanted), modes, strict=True))
        modes.sort(key=lambda mode: mode.rank_key)
        n_found = sum(self._is_as_good(again[id(mode)], modes[0]) for mode in of_lines)
        return modes, min(N_LINES, max(1, n_found))

    def _is_as_good(self, mode: Mode, best: Mode) -> bool:
        """Whether a mode is as probable as the best, within a nat, or the same."""
        below = best.log_marginal - mode.log_marginal
        if not EVEN <= below < WITHIN:  # modes that are kept are within
            return below < EVEN
        rng = np.random.default_rng([self.seed, 1, CROSSING])
        return len(distinct(self.posterior, [best, mode], rng)[0]) == 1

    def _chains(self, kind: int, share: float, n_chains: int) -> Chains:
        posterior, rng = self.posterior, np.random.default_rng([self.seed, kind, SEARCH, 0])
        path = self._prior_path(share, rng)
        start = posterior.log_at_mean()

        def annealed(n: int) -> tuple[float, Ints32]:
            rng = np.random.default_rng([self.seed, n, SEARCH, 1 + kind])
            population = new_population(posterior.urn, posterior.moves, 1)
            follow(posterior.moves, population, path, 0.0, rng, self.on_progress)
            return start + population.log_weight[0], population.values[0]

        logs, ends = zip(*results_of(annealed, n_chains, self.n_threads), strict=True)
        return Chains(np.array(logs), list(ends))

    def _prior_path(self, share: float, rng: np.random.Generator) -> Path:
        return self.posterior.prior_path(max(2, round(share * self.n_sweeps)), rng)


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
    posterior = Posterior.of(plan)
    searches = Searches(posterior, n_modes, n_sweeps, seed, n_threads)
    if plan.has_one_allocation or searches.are_even:
        logs = searches.slow.log_marginals
        level = float(np.logaddexp.reduce(logs)) - math.log(len(logs))
        end = searches.slow.best(1)[0]
    else:
        best = searches.modes()[0][0]
        level, end = best.log_marginal, best.end
    n_averaged = min(MOST_SUMMED, max(1, round(SUMMED * n_sweeps)))
    rng = np.random.default_rng([seed, 0, AVERAGING])
    chain = posterior.chain_at(end)
    return allocation_over(plan, posterior.moves, chain, n_averaged, rng), n_averaged, level


def _n_long(n_modes: int) -> int:
    """Return the particles of the long population."""
    return max(2, n_modes // LONG_SHARE)


def searches_bytes(plan: InferencePlan, n_modes: int, n_threads: int) -> int:
    """Return the memory that searches take, and the modes that are looked at, without labels."""
    of_search = population_bytes(plan, N_FIRST)
    of_mode = 28 * plan.n_state + 4 * (4 * N_CHAINS + QUICK_EACH + 5) * plan.observed.n_tokens
    of_long = population_bytes(plan, _n_long(n_modes)) if n_modes else 0
    n_threads = min(n_threads, n_modes)
    at_once = max(n_threads * of_search, min(n_threads, N_LONG - 1) * of_long)
    return at_once + n_modes * of_mode


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
    return min(len(plan.observed.counts) * n_joint, n_tokens * MOST_SUMMED)


def kept_bytes(plan: InferencePlan, n_modes: int) -> int:
    """Return the memory that the modes take which runs start from, without labels."""
    return 8 * plan.n_state * min(MAX_KEPT, n_modes + N_LINES) if n_modes else 0


def labels_bytes(plan: InferencePlan, n_modes: int, n_threads: int) -> int:
    """Return the memory that labels take while modes are looked at, and in runs."""
    if not n_modes:
        return 0
    return relabelling_bytes(plan, max(n_modes, MAX_KEPT) + 1, n_threads)
