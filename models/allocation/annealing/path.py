"""Paths from independent tokens to the model: reinforcements that grow from 0 to 1.

A path begins where all tokens have the tables of the prior's mean, or those of a *mode* of the
posterior: with the mode's expected counts m in the place of the tokens' own, the urn's factors are

    u_h = ∏_tables (α + (1 - ρ) m + ρ S)^power.

Tokens are independent at ρ = 0, whatever m, and the model's at ρ = 1. From the prior's mean, m = 0,
clusters form on the way. From a mode they are there at once, so that chains vary by so much less.

After a first step, from ρ = 0 to where the log-probability of independent tokens begins to vary,
steps are even in x within each of `N_STRETCHES` stretches: in log ρ where m = 0, else in the log
odds of ρ, up to where (1 - ρ) m is negligible beside all pseudo-counts. How many steps a stretch
gets is decided by a pilot of independent chains. Where a chain lags behind, or the log-probability
varies, the logs of weights differ from chain to chain. Their variance falls as one over the steps
of the stretch, so that the total is least with steps in proportion to its root (times that of the
pilot's steps). Runs are unbiased given the path: they share no random number with the pilot.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from models.allocation.annealing.population import (
    Path,
    Population,
    add_counts,
    anneal,
    log_probabilities,
    new_population,
    reach,
    start,
)
from models.allocation.annealing.sweep import Moves
from models.allocation.annealing.urn import Urn
from models.allocation.cell_counts import CellCounts
from models.allocation.inference_plan import InferencePlan
from models.allocation.joint_values import allocation_of
from models.arrays import Floats, Ints, Ints32

N_STRETCHES = 20
N_CHAINS = 8  # Chains of a pilot
N_FIRST = 4 * N_CHAINS  # Particles by which the first step is chosen
STEPS_A_CALL = 50  # Steps between two reports of progress, and between checks for an interrupt
PILOT_SHARE = 0.25  # Steps of the pilot, in units of those of a run
FIRST_VARIANCE = 0.01  # Variance of the log-weights after the first step
LEAST = -60.0  # Smallest x at which the first step may end
FIRST_LOG_ODDS = -3.0  # Largest x at which the first step of a path from a mode may end
MAX_LOG_ODDS = 35.0  # Beyond it a reinforcement is rounded to 1
NEGLIGIBLE = 0.01  # Largest (1 - ρ) m / α at the step before the last
LEAST_SHARE = 0.1  # Steps that each stretch gets at least, in units of an even share


def follow(
    moves: Moves,
    population: Population,
    path: Path,
    resample_below: float,
    rng: np.random.Generator,
    on_progress: Callable[[int], object] = lambda n_steps: None,  # noqa: ARG005
) -> tuple[float, Floats]:
    """Draw particles and anneal them along a whole path; return what `anneal` does, the sum of logs
    of mean weights and the record (n_steps, 2). `on_progress` is called with the steps taken.
    """
    n_steps = len(path.reinforcement) - 1
    record, log_mean = np.zeros((n_steps, 2)), 0.0
    start(population, path, rng)
    for step in range(0, n_steps, STEPS_A_CALL):
        stop = min(step + STEPS_A_CALL, n_steps)
        log_mean += anneal(moves, population, path, step, stop, resample_below, record, rng)
        on_progress(stop - step)
    return log_mean, record


def expected_counts(
    moves: Moves, population: Population, particle: int, n_sweeps: int, rng: np.random.Generator
) -> Floats:
    """Sweep a particle at the end of a path; return the average of its counts (n_state,)."""
    total = np.zeros(population.counts.shape[1])
    for turn in range(0, n_sweeps, STEPS_A_CALL):
        n_turns = min(STEPS_A_CALL, n_sweeps - turn)
        add_counts(moves, population, particle, 0, n_turns, total, rng)
    return total / n_sweeps


def allocation_over(
    plan: InferencePlan,
    moves: Moves,
    population: Population,
    n_sweeps: int,
    rng: np.random.Generator,
) -> CellCounts:
    """Sweep the first particle at the end of a path; return its tokens over all indices of the
    model, summed over the sweeps.
    """
    cell_of = np.repeat(np.arange(len(plan.observed.counts)), plan.observed.counts)
    n_joint = int(population.urn.n_values.max())
    nothing = np.zeros(population.counts.shape[1])
    found, numbers = np.zeros((2, 0), dtype=np.int64)
    for turn in range(n_sweeps):
        add_counts(moves, population, 0, turn, 1, nothing, rng)
        here, of_sweep = np.unique(cell_of * n_joint + population.values[0], return_counts=True)
        found, at = np.unique(np.concatenate([found, here]), return_inverse=True)
        numbers = np.bincount(at, np.concatenate([numbers, of_sweep])).astype(np.int64)
    return allocation_of(plan, found // n_joint, found % n_joint, numbers)


class Pilot(NamedTuple):
    """A path, and the chains by which its steps were chosen."""

    path: Path
    log_weight: Floats  # (N_CHAINS,), at the end
    values: Ints32  # (N_CHAINS, n_tokens), joint values at the end


def prior_path(urn: Urn, moves: Moves, n_steps: int, rng: np.random.Generator) -> Path:
    """Return a path of about `n_steps` steps from the prior's mean."""
    mean = np.zeros(len(urn.alpha))
    return _path_of(urn, moves, mean, _Scale(np.exp, 0.0), n_steps, rng).path


def mode_path(
    urn: Urn, moves: Moves, mean: Floats, n_steps: int, rng: np.random.Generator
) -> Pilot:
    """Return a path of about `n_steps` steps from a mode with the expected counts `mean`."""
    return _path_of(urn, moves, mean, _mode_scale(urn, mean), n_steps, rng)


def even_path(urn: Urn, mean: Floats, n_steps: int) -> Path:
    """Return a path from the counts `mean` with `n_steps` even steps, without a pilot."""
    scale = _mode_scale(urn, mean)
    if scale.last <= FIRST_LOG_ODDS:
        return Path(np.array([0.0, 1.0]), mean, urn.alpha)
    edges = np.array([FIRST_LOG_ODDS, scale.last])
    return Path(_reinforcements(edges, np.array([n_steps]), scale), mean, urn.alpha)


def slowed(path: Path, factor: int) -> Path:
    """Return a path from a mode with `factor` steps in the place of each, but for the first and the
    last: even in the log odds of the reinforcement.
    """
    inner = path.reinforcement[1:-1]
    if len(inner) == 0:
        return path
    x = np.log(inner) - np.log1p(-inner)
    finer = np.interp(np.arange((len(x) - 1) * factor + 1) / factor, np.arange(len(x)), x)
    reinforcement = np.concatenate([[0.0], _of_log_odds(finer), [1.0]])
    return path._replace(reinforcement=reinforcement)


class _Scale(NamedTuple):
    """Scale on which steps are even."""

    reinforcement: Callable[[Floats], Floats]
    last: float  # from where one step leads to a reinforcement of 1, if it is not there


def _mode_scale(urn: Urn, mean: Floats) -> _Scale:
    held = mean > 0  # where the prior has zeros, nothing is held
    most = float((mean[held] / urn.alpha[held]).max(initial=0.0))
    last = min(MAX_LOG_ODDS, math.log(most / NEGLIGIBLE)) if most > 0 else LEAST
    return _Scale(_of_log_odds, last)


def _of_log_odds(x: Floats) -> Floats:
    reinforcement: Floats = 1.0 / (1.0 + np.exp(-x))
    return reinforcement


def _path_of(
    urn: Urn, moves: Moves, mean: Floats, scale: _Scale, n_steps: int, rng: np.random.Generator
) -> Pilot:
    first = _first(urn, moves, mean, scale, rng)
    if mean.any():  # independent tokens may all be alike, and the model's not
        first = min(first, FIRST_LOG_ODDS)
    whole = Path(np.array([0.0, 1.0]), mean, urn.alpha)
    if first >= scale.last or n_steps < 2:
        population = new_population(urn, moves, N_CHAINS)
        follow(moves, population, whole, 0.0, rng)
        return Pilot(whole, population.log_weight, population.values)
    n_stretches = max(1, min(N_STRETCHES, n_steps // 2))
    edges = np.linspace(first, scale.last, n_stretches + 1)
    of_pilot = np.full(n_stretches, max(1, round(PILOT_SHARE * n_steps / n_stretches)))
    path = whole._replace(reinforcement=_reinforcements(edges, of_pilot, scale))
    variance, population = _variances(urn, moves, path, of_pilot, rng)
    share = np.sqrt(variance * of_pilot)
    share = np.convolve(np.pad(share, 1, mode="edge"), [0.25, 0.5, 0.25], "valid")
    total = share.sum()
    even = 1.0 / n_stretches
    share = share / total if total > 0 else np.full(n_stretches, even)
    share = np.maximum(share, LEAST_SHARE * even)
    steps = np.maximum(1, np.round(n_steps * share / share.sum())).astype(np.int64)
    path = path._replace(reinforcement=_reinforcements(edges, steps, scale))
    return Pilot(path, population.log_weight, population.values)


def _reinforcements(edges: Floats, steps: Ints, scale: _Scale) -> Floats:
    logs = [
        np.linspace(start, stop, n + 1)[1:]
        for start, stop, n in zip(edges[:-1], edges[1:], steps, strict=True)
    ]
    between = scale.reinforcement(np.concatenate([edges[:1], *logs]))
    return np.concatenate([[0.0], between[between < 1.0], [1.0]])


def _first(urn: Urn, moves: Moves, mean: Floats, scale: _Scale, rng: np.random.Generator) -> float:
    """Return x at which log-weights of independent tokens have the variance wanted."""
    population = new_population(urn, moves, N_FIRST)
    path = Path(np.zeros(1), mean, urn.alpha)
    start(population, path, rng)
    before = log_probabilities(population, 0.0)
    low, high = LEAST, scale.last

    def variance(x: float) -> float:
        path.reinforcement[:] = scale.reinforcement(np.array([x]))
        logs = log_probabilities(population, reach(population, path, 0))
        return float((logs - before).var())

    if variance(high) <= FIRST_VARIANCE:
        return high
    while high - low > 0.1:
        middle = (low + high) / 2
        if variance(middle) > FIRST_VARIANCE:
            high = middle
        else:
            low = middle
    return low


def _variances(
    urn: Urn, moves: Moves, path: Path, steps: Ints, rng: np.random.Generator
) -> tuple[Floats, Population]:
    """Return the variance over chains of the log-weights that each stretch gives, and the chains at
    the end of the path.
    """
    population = new_population(urn, moves, N_CHAINS)
    start(population, path, rng)
    n_steps = len(path.reinforcement) - 1
    record = np.zeros((n_steps, 2))
    stop = 1
    anneal(moves, population, path, 0, stop, 0.0, record, rng)
    found = np.zeros(len(steps))
    for n, of_stretch in enumerate(steps):
        before = population.log_weight.copy()
        anneal(moves, population, path, stop, stop + of_stretch, 0.0, record, rng)
        found[n] = (population.log_weight - before).var(ddof=1)
        stop += of_stretch
    anneal(moves, population, path, stop, n_steps, 0.0, record, rng)
    return found, population
