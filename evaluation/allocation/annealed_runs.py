"""Runs of annealing: where they begin, the ends of their chains, and draws of the posterior there.

Hidden values have no names: where the prior is flat, each allocation has K! copies with the values
of a hidden index renamed. From the prior's mean tokens fall on all copies alike, and nothing is to
be corrected, although a chain sees one. From modes, labels are drawn again at the end
(`models.allocation.annealing.relabelling`).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evaluation.allocation.marginal_estimate import MarginalEstimate, ParticlePath, SearchResult
from evaluation.arrays import Floats, Ints, Ints32
from evaluation.monte_carlo.log_mean import genealogy_variance, log_mean_of
from models.allocation.annealing.known_modes import known_values
from models.allocation.annealing.mode import MAX_KEPT, Mode, distinct, fitted_to
from models.allocation.annealing.path import N_FIRST, expected_counts, follow, slowed
from models.allocation.annealing.population import (
    Path,
    Population,
    anneal_back,
    new_population,
    population_bytes,
)
from models.allocation.annealing.posterior import Posterior
from models.allocation.annealing.relabelling import RULES, Relabelling
from models.allocation.annealing.searches import (
    EVEN,
    LONG,
    RESAMPLE_BELOW,
    SLOW,
    Searches,
    kept_bytes,
    labels_bytes,
    searches_bytes,
)
from models.allocation.cell_counts import CellCounts
from models.allocation.cliques import TableMemoryError
from models.allocation.inference_plan import InferencePlan, plan_of
from models.allocation.joint_values import all_values
from models.allocation.model import AllocationModel
from models.checks import check_whole
from models.parallel import effective_n_jobs, for_blocks

SLOWER = 16  # Steps of a run from modes for each step otherwise, where runs vary by `EVEN` or more
LONG_PARTICLES = 2  # Particles of a run where modes are too many, in units of those given
N_TIMES = 200  # Maximum number of steps that a path keeps
N_DRAWN = 16  # Maximum number of allocations that are drawn from a run
DRAWN_TOKENS = 1 << 18  # Maximum number of tokens of all draws; none are drawn if one each is more
LEAST_LOG = -1e300  # Finite, in the place of the log of 0
BETWEEN = 0.01  # Sweeps between two draws, in units of the steps of a path
PILOT, BACK, KEPT, ENDS = 1, 2, 5, 11  # Streams of random numbers


class Settings(NamedTuple):
    """Settings of `annealed`."""

    n_particles: int
    n_repeats: int
    n_sweeps: int
    n_modes: int
    max_memory: int
    seed: int
    n_jobs: int | None


class Start(NamedTuple):
    """Start of runs: a path, and how probable the data are there."""

    path: Path
    constant: float  # Log-probability of the data there
    n_particles: int


class Found(NamedTuple):
    """Starts of runs that searches found, and the distribution of modes and labels."""

    starts: list[Start]
    labels: Relabelling | None  # None if runs start from the prior's mean
    n_found: int  # Lines of searches that found the best mode; 0 from the prior's mean
    modes: Sequence[Ints32] = ()  # (n_tokens,) each, joint values at the modes where runs start


class Ends(NamedTuple):
    """Ends of the chains of a run from one start, by each of `RULES` for labels, or without."""

    log_mean: Floats  # (n_rules,), log of the estimate
    variance: Floats  # (n_rules,), its relative variance, from the genealogy
    fits: Floats  # (n_rules,), log-probability of modes and labels
    drawn: Ints  # (n_rules,), place in `values` of a chain that is drawn by weight
    values: Ints32  # (n, T), joint values of the chains that any rule draws
    or_before: float  # Uniform number by which it is decided whether a start before is taken

    @classmethod
    def of(
        cls,
        constant: float,
        log: float,
        log_labels: Floats,
        population: Population,
        uniform: tuple[float, float],
    ) -> "Ends":
        """Return the ends of chains with `log_labels` (n_particles, n_rules), weights of labels.

        Where they began the data have the log-probability `constant`; `log` is what `follow` says.
        A chain is drawn by the first of the `uniform` numbers, for all rules.
        """
        logs = population.log_weight[:, np.newaxis] + log_labels
        chances = np.exp(logs - np.maximum(logs.max(axis=0), LEAST_LOG))
        weights, founder = np.cumsum(chances, axis=0), population.founder
        at = [np.searchsorted(each, uniform[0] * each[-1], side="right") for each in weights.T]
        chains, drawn = np.unique(np.minimum(at, len(logs) - 1), return_inverse=True)
        return cls(
            np.array([constant + (log + log_mean_of(each).log_mean) for each in logs.T]),
            np.array([genealogy_variance(each, founder) for each in logs.T]),
            log_labels.sum(axis=0),
            drawn,
            population.values[chains],
            uniform[1],
        )


@dataclass(frozen=True, eq=False)
class Runs:
    """Posterior, where runs begin, and their settings."""

    posterior: Posterior
    starts: list[Start]
    labels: Relabelling | None  # None if runs start from the prior's mean
    searches: SearchResult
    n_repeats: int
    seed: int
    n_threads: int
    mode_values: Sequence[Ints32]  # (n_tokens,) each, joint values at the modes where runs start

    @classmethod
    def of(
        cls,
        model: AllocationModel,
        observed: CellCounts,
        settings: Settings,
        known_modes: CellCounts | None = None,
        on_progress: Callable[[int], object] = lambda n_steps: None,  # noqa: ARG005
    ) -> "Runs":
        """Find modes and paths. Raises what `annealed` does."""
        n_particles, n_repeats, n_sweeps, n_modes, max_memory, seed, n_jobs = settings
        check_whole("n_particles", n_particles, 1)
        check_whole("n_repeats", n_repeats, 1)
        check_whole("n_sweeps", n_sweeps, 1)
        check_whole("n_modes", n_modes, 0)
        n_threads = effective_n_jobs(n_jobs)
        plan = plan_of(model, observed)
        most = min(n_threads, max(n_repeats, n_modes))
        known = [] if known_modes is None else known_values(plan, known_modes)
        looked_at = n_modes and n_modes + len(known)
        check_annealing_memory(plan, n_particles, most, n_repeats, max_memory, looked_at)
        posterior = Posterior.of(plan)
        searches = None
        if n_modes and not plan.has_one_allocation:
            searches = Searches(posterior, n_modes, n_sweeps, seed, n_threads, on_progress, known)
        n_steps, found = n_sweeps, None
        if searches is not None and searches.are_even:
            n_steps = round(SLOW * n_sweeps)
        elif searches is not None:
            n_steps, found = round(LONG * n_sweeps), _at_modes(searches, n_particles)
            n_particles *= LONG_PARTICLES
        if found is None:
            path = posterior.prior_path(n_steps, np.random.default_rng([seed, 0, PILOT]))
            found = Found([Start(path, posterior.log_at_mean(), n_particles)], None, 0)
        logs = np.zeros(0) if searches is None else searches.slow.log_marginals
        result, n_threads = SearchResult(logs, found.n_found), min(n_threads, n_repeats)
        return cls(
            posterior, found.starts, found.labels, result, n_repeats, seed, n_threads, found.modes
        )

    def forward(
        self,
        on_progress: Callable[[int], object] = lambda n_steps: None,  # noqa: ARG005
    ) -> tuple[MarginalEstimate, list[Ints32]]:
        """Return the estimate, and the values of a particle of each run, drawn by weight."""
        n_steps = len(self.starts[0].path.reinforcement) - 1
        times = np.unique(np.linspace(1, n_steps, min(N_TIMES, n_steps)).astype(np.int64))
        repeats, variances = np.zeros((2, self.n_repeats))
        effective = np.zeros((self.n_repeats, len(times)))
        n_ancestors = np.zeros((self.n_repeats, len(times)), dtype=np.int64)
        runs: list[list[Ends]] = [[] for _ in range(self.n_repeats)]

        def work(first: int, last: int) -> None:
            for repeat in range(first, last):
                rng = np.random.default_rng([self.seed, repeat])
                for mode in range(len(self.starts)):
                    found, record = self._run(mode, rng, on_progress)
                    runs[repeat].append(found)
                    if mode == 0:
                        effective[repeat], n_ancestors[repeat] = record[times - 1].T

        for_blocks(work, self.n_repeats, 1, self.n_threads)
        ends = []
        for repeat, (run, rule) in enumerate(zip(runs, self._rules(runs), strict=True)):
            logs = np.array([found.log_mean[rule] for found in run])
            repeats[repeat] = log_mean_of(logs).log_mean
            share = np.exp(logs - repeats[repeat]) / len(logs)
            variances[repeat] = (share**2 * [found.variance[rule] for found in run]).sum()
            taken = run[_taken(logs, [found.or_before for found in run])]
            ends.append(taken.values[taken.drawn[rule]])
        plan = self.posterior.plan
        estimate = MarginalEstimate.of_repeats(
            repeats,
            "annealed",
            plan.observed.n_tokens,
            self.starts[0].n_particles,
            ParticlePath(times, effective, n_ancestors),
            variances,
            self.searches,
        )
        return estimate, ends

    def drawn(self, ends: Sequence[Ints32]) -> CellCounts | None:
        """Return allocations by chains from these joint values (T,), over chains, draws and all
        indices; None if they are of too many tokens.
        """
        plan, sizes = self.posterior.plan, self.posterior.plan.model.cardinalities
        n_drawn = _n_drawn(plan.observed.n_tokens, len(ends))
        if not n_drawn:
            return None
        n_steps = len(self.starts[0].path.reinforcement) - 1
        n_sweeps = max(1, round(BETWEEN * n_steps))
        cell_of = np.repeat(np.arange(len(plan.observed.counts)), plan.observed.counts)
        n_joint = int(self.posterior.urn.n_values.max())
        n_codes = len(plan.observed.counts) * n_joint
        found: list[tuple[Ints, Ints]] = [(cell_of, cell_of)] * len(ends)

        def work(first: int, last: int) -> None:
            for run in range(first, last):
                chain = self.posterior.chain_at(ends[run])
                rng = np.random.default_rng([self.seed, run, ENDS])
                codes = np.zeros((n_drawn, len(cell_of)), dtype=np.int64)
                for n in range(n_drawn):
                    expected_counts(self.posterior.moves, chain, 0, n_sweeps, rng)
                    codes[n] = n * n_codes + cell_of * n_joint + chain.values[0]
                found[run] = np.unique(codes, return_counts=True)

        for_blocks(work, len(ends), 1, self.n_threads)
        codes = np.concatenate([each for each, _ in found])
        values = all_values(plan, codes % n_codes // n_joint, codes % n_joint)
        runs = np.repeat(np.arange(len(ends)), [len(each) for each, _ in found])
        cells = np.column_stack([runs, codes // n_codes, values])
        shape = (len(ends), n_drawn, *(sizes[name] for name in plan.model.indices))
        return CellCounts(cells, np.concatenate([counts for _, counts in found]), shape)

    def modes(self) -> CellCounts | None:
        """Return the modes where runs start, over modes and all indices, the best first, as many as
        have few tokens together; None if runs start from the prior's mean, tokens lack indices, or
        one mode has too many tokens.
        """
        plan, sizes = self.posterior.plan, self.posterior.plan.model.cardinalities
        kept = self.mode_values[: DRAWN_TOKENS // max(1, plan.observed.n_tokens)]
        if not kept or plan.observed.lacks_indices:
            return None
        cell_of = np.repeat(np.arange(len(plan.observed.counts)), plan.observed.counts)
        cells = all_values(plan, np.tile(cell_of, len(kept)), np.concatenate(kept))
        cells = np.column_stack([np.repeat(np.arange(len(kept)), len(cell_of)), cells])
        shape = (len(kept), *(sizes[name] for name in plan.model.indices))
        return CellCounts(cells, np.ones(len(cells), dtype=np.int64), shape)

    def _run(
        self, mode: int, rng: np.random.Generator, on_progress: Callable[[int], object]
    ) -> tuple[Ends, Floats]:
        """Return the ends of the chains, and the record of their sizes."""
        path, constant, n_particles = self.starts[mode]
        moves, labels = self.posterior.moves, self.labels
        population = new_population(self.posterior.urn, moves, n_particles)
        log, record = follow(moves, population, path, RESAMPLE_BELOW, rng, on_progress)
        log_labels = np.zeros((n_particles, 1))
        if labels is not None:
            every = population.values
            log_labels = np.array([labels.log_weights(values, mode, rng) for values in every])
        uniform = rng.random(), rng.random() if mode > 0 else 0.0
        return Ends.of(constant, log, log_labels, population, uniform), record

    def _rules(self, runs: Sequence[Sequence[Ends]]) -> list[int]:
        """Return the number of the rules for labels of each run: those that fit the ends of pilots
        and of all other runs best, but not its own, so that each run is unbiased.
        """
        if self.labels is None:
            return [0] * len(runs)
        fits = [np.sum([found.fits for found in run], axis=0) for run in runs]
        others = [fits[:n] + fits[n + 1 :] for n in range(len(runs))]
        return [int(np.argmax(np.sum([self.labels.fits, *each], axis=0))) for each in others]

    def back(self, allocations: list[Ints32]) -> Floats:
        """Return the logs of the weights of chains that go back from these joint values."""
        logs = np.zeros(len(allocations))

        def work(first: int, last: int) -> None:
            for n in range(first, last):
                rng = np.random.default_rng([self.seed, n, BACK])
                mode, values = 0, allocations[n]
                if self.labels is not None:
                    mode, values, logs[n] = self.labels.draw(values, rng)
                path, constant, _ = self.starts[mode]
                chain = self.posterior.chain_at(values)
                anneal_back(self.posterior.moves, chain, path, rng)
                logs[n] += constant + chain.log_weight[0]

        for_blocks(work, len(logs), 1, self.n_threads)
        return logs


def _at_modes(searches: Searches, n_particles: int) -> Found | None:
    """Return the best modes as starts of runs; None if modes are too many to be listed."""
    if searches.modes_are_too_many:
        return None
    modes, n_found = searches.modes()
    rng = np.random.default_rng([searches.seed, 0, KEPT])
    modes, labels = distinct(searches.posterior, modes, rng)
    is_steady = modes[0].run_spread < EVEN
    if not is_steady:
        n_best = max(1, n_particles // 2)
        modes, labels = modes[:n_best], labels.of_first(n_best)
    if searches.has_more_than(modes):
        return None
    paths = [mode.pilot.path for mode in modes]
    if is_steady:
        sizes = [_n_particles_of(mode, modes[0], n_particles) for mode in modes]
    else:
        paths = [slowed(path, SLOWER) for path in paths]
        n_each, more = divmod(n_particles, len(modes))
        sizes = [n_each + (n < more) for n in range(len(modes))]
    constants = [mode.constant for mode in modes]
    starts = [Start(*each) for each in zip(paths, constants, sizes, strict=True)]
    return Found(starts, fitted_to(labels, modes, rng), n_found, [mode.end for mode in modes])


def _n_particles_of(mode: Mode, best: Mode, n_particles: int) -> int:
    """Return how many particles are to run from a mode: in proportion to its probability, at least
    two, by which their variance is known.
    """
    ratio = math.exp(mode.log_marginal - best.log_marginal)
    return max(min(2, n_particles), math.ceil(n_particles * ratio))


def _taken(logs: Floats, or_before: Sequence[float]) -> int:
    """Return the start whose chains are taken, drawn by the estimates (n_starts,) with these logs:
    the last whose share of those up to it is above its uniform number.
    """
    totals = np.logaddexp.accumulate(logs)
    is_taken = np.exp(logs - np.maximum(totals, LEAST_LOG)) > or_before
    return int(np.flatnonzero(is_taken)[-1]) if is_taken.any() else 0


def _n_drawn(n_tokens: int, n_repeats: int) -> int:
    """Return how many allocations are drawn from each run."""
    return min(N_DRAWN, DRAWN_TOKENS // max(1, n_tokens * n_repeats))


def drawn_bytes(plan: InferencePlan, n_repeats: int) -> int:
    """Return the memory that the allocations take which are drawn from runs, at most."""
    n_tokens = plan.observed.n_tokens * n_repeats * _n_drawn(plan.observed.n_tokens, n_repeats)
    return 8 * (3 + len(plan.model.indices)) * n_tokens


def check_annealing_memory(
    plan: InferencePlan,
    n_particles: int,
    n_threads: int,
    n_repeats: int,
    max_memory: int,
    n_modes: int = 0,
    n_models: int = 1,
) -> None:
    """Raise TableMemoryError if the runs of `annealed` take more than `max_memory` bytes, with the
    allocations that are drawn from those of `n_models` such models. `n_modes` are those looked at,
    with those that are known.
    """
    if plan.has_one_allocation:
        n_modes = 0
    n_most = n_particles * LONG_PARTICLES if n_modes else n_particles
    runs = population_bytes(plan, max(n_most, 1)) * n_threads + kept_bytes(plan, n_modes)
    searches = searches_bytes(plan, n_modes, n_threads)
    needed = max(runs, population_bytes(plan, N_FIRST), searches)  # of paths, made before
    needed += labels_bytes(plan, n_modes, n_threads)
    if n_modes:
        needed += n_threads * 32 * len(RULES) * n_most  # labels of a run's particles, by each rule
        needed += n_repeats * 32 * len(RULES) * MAX_KEPT
    n_ends = MAX_KEPT * min(len(RULES), n_particles) if n_modes else 1
    needed += n_repeats * (16 * N_TIMES + 4 * n_ends * plan.observed.n_tokens)
    needed += (2 + n_models) * drawn_bytes(plan, n_repeats)
    of_long = f", {n_most:,} where modes are many," if n_modes else ""
    if needed > max_memory:
        raise TableMemoryError(
            f"{n_particles:,} particles{of_long} in {n_threads} threads need "
            f"{needed / 2**20:,.0f} MiB, more than max_memory, {max_memory / 2**20:,.0f} MiB: take "
            "fewer particles, modes or threads"
        )
