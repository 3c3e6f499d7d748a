"""Reheating: better modes from good ones.

A chain goes back to a step of the path drawn at random, where part of its clusters dissolve, and is
annealed again. Where the new mode is better, the next trial begins there. From a good mode better
ones are nearer than from the prior's mean.

Each mode begins a line of trials. After a round the better half of the lines goes on with twice the
trials, until two are left.
"""

import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from models.allocation.annealing.mode import WITHIN, Mode, mode_with, settled_mode
from models.allocation.annealing.population import Path, anneal
from models.allocation.annealing.posterior import Posterior
from models.parallel import results_of

FEWEST_LINES = 2  # Lines that go on to the last round
REHEATED = (0.2, 0.95)  # Steps of the path that chains go back to, between these shares of all
COARSE = 0.2  # Steps by which modes are looked at meanwhile, of those of a path
HEATING = 9  # Stream of random numbers


class _Line(NamedTuple):
    """Line of trials."""

    mode: Mode  # with which it began
    look: Mode  # The same, looked at as coarsely as trials are
    best: Mode


@dataclass(frozen=True, eq=False)
class Reheating:
    """Trials along a path from the prior's mean, of modes by paths of about `n_steps` steps."""

    posterior: Posterior
    path: Path
    n_steps: int
    seed: int
    n_threads: int

    def better(self, modes: list[Mode], n_trials: int) -> list[Mode]:
        """Return the modes that lines lead to, one from each of `modes`, with at least `n_trials`
        trials. Lines that end far below the best one keep the mode that they began with.
        """
        coarse = max(2, round(COARSE * self.n_steps))

        def begun(n: int) -> _Line:
            look = settled_mode(self.posterior, modes[n].end, coarse, self.seed, n)
            return _Line(modes[n], look, look)

        lines = results_of(begun, len(modes), self.n_threads)
        n_left = len(lines)
        for turn in itertools.count(1):
            lines[:n_left] = self._round(
                lines[:n_left], coarse, n_trials * len(lines) // n_left, turn
            )
            if n_left <= FEWEST_LINES:
                break
            n_left = max(FEWEST_LINES, n_left // 2)
        best = lines[0].best
        return results_of(lambda n: self._ended(n, lines[n], best), len(lines), self.n_threads)

    def _round(self, lines: list[_Line], n_steps: int, n_trials: int, turn: int) -> list[_Line]:
        """Return the lines after so many trials each, the best first."""

        def tried(n: int) -> _Line:
            rng = np.random.default_rng([self.seed, n, HEATING, turn])
            return self._tried(lines[n], n_steps, n_trials, rng)

        going_on = results_of(tried, len(lines), self.n_threads)
        return sorted(going_on, key=lambda line: line.best.badness)

    def _tried(self, line: _Line, n_steps: int, n_trials: int, rng: np.random.Generator) -> _Line:
        """Return the line after so many trials: chains from its best mode, heated and annealed."""
        last = len(self.path.reinforcement) - 1
        record, best = np.zeros((last, 2)), line.best
        for _ in range(n_trials):
            chain = self.posterior.chain_at(best.end)
            first = int(rng.uniform(*REHEATED) * last)
            anneal(self.posterior.moves, chain, self.path, first, last, 0.0, record, rng)
            stream = int(rng.integers(1 << 62))
            found = settled_mode(self.posterior, chain.values[0], n_steps, self.seed, stream)
            best = min(best, found, key=lambda mode: mode.badness)
        return line._replace(best=best)

    def _ended(self, n: int, line: _Line, best_of_all: Mode) -> Mode:
        """Return the mode that a line has led to, looked at with all steps."""
        mode, look, best = line
        if best is look or best.log_marginal < best_of_all.log_marginal - WITHIN:
            return mode
        seeds = self.n_steps, self.seed, n
        again = settled_mode(self.posterior, best.end, *seeds)
        at_best = mode_with(self.posterior, best.end, best.mean, *seeds)
        return min(mode, again, at_best, key=lambda each: each.badness)
