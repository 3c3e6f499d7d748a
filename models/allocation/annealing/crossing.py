"""Crossing: better modes from modes, as genetic algorithms do (Holland 1975).

A *child* has clusters of two modes. Some hidden values, drawn at random, keep their tokens of the
first mode; the others take theirs of the second, under the labels that fit best. From these counts,
as from those of a mode, a chain is annealed: tokens that both claim, or neither, find their place.
Other children have one parent: some of its hidden values begin empty, and their tokens find a place
anew, which leads to clusters that no mode has yet ("ruin and recreate", Schrimpf et al. 2000).

A line of modes goes on by generations. A parent is the more probable of two modes that are drawn.
The most probable of all parents and children go on, each mode once. So clusters that searches found
apart come together, where one chain would have to find them all. Generations are small, so that a
good child soon has children of its own: half as many of two modes as a line has places, a quarter
when all modes are crossed, and each time half as many of one mode.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.allocation.annealing.mode import Average, Mode, distinct, settled_mode
from models.allocation.annealing.path import even_path, follow
from models.allocation.annealing.population import new_population
from models.allocation.annealing.posterior import Posterior
from models.allocation.annealing.relabelling import Relabelling
from models.allocation.annealing.urn import count_some
from models.arrays import Floats, Ints32
from models.parallel import results_of

N_LINES = 2  # Lines of modes, crossed apart: if both find the best mode, a better one is unlikely
APART, TOGETHER = 20, 40  # Generations of each line, and then of all modes
EMPTIED = 3  # Hidden values that begin empty in a child of one mode, at most
SHORT = 0.1  # Steps of a child's path, in units of those of a path
COARSE = 0.06  # Steps of the path by which a mode is estimated meanwhile, in the same units
MIN_STEPS = 20  # Steps of either, at least
CROSSING = 9  # Stream of random numbers


def n_coarse(n_steps: int) -> int:
    """Return the steps by which a mode is estimated meanwhile, of paths of `n_steps` steps."""
    return max(MIN_STEPS, round(COARSE * n_steps))


@dataclass(frozen=True, eq=False)
class Crossing:
    """Lines of modes that are crossed, with paths of about `n_steps` steps."""

    posterior: Posterior
    n_steps: int
    average: Average  # Sweeps over which a mode's counts are averaged
    seed: int
    n_threads: int

    def lines(self, ends: Sequence[Ints32]) -> list[list[Mode]]:
        """Return lines of the modes that chains with these joint values lead to, crossed apart: in
        each line every mode once, the best first.
        """
        lines = []
        for n in range(min(N_LINES, len(ends))):
            some = ends[n::N_LINES]
            generations = range(n * APART, (n + 1) * APART)
            line = self.evolved(self.modes_at(some), len(some), len(some) // 2, generations)
            lines.append(line)
        return lines

    def together(self, lines: list[list[Mode]], n_places: int) -> list[Mode]:
        """Return the modes of these lines, at most `n_places`, crossed with each other: each once,
        the best first.
        """
        line = self._each_once([mode for some in lines for mode in some])
        first = N_LINES * APART
        return self.evolved(line, n_places, n_places // 4, range(first, first + TOGETHER))

    def evolved(
        self, line: list[Mode], n_places: int, n_crossed: int, generations: range
    ) -> list[Mode]:
        """Return a line after these generations, at most `n_places` modes, the best first. Each has
        `n_crossed` children of two modes, at least one.
        """
        for generation in generations:
            if len(line) < 2:
                break
            children = self._children(line, max(1, n_crossed), generation)
            line = self._each_once(line + children, n_places)
        return line

    def modes_at(self, ends: Sequence[Ints32]) -> list[Mode]:
        """Return the modes that chains with these joint values, one at least, lead to: each once,
        the best first.
        """
        modes = results_of(lambda n: self._coarse(ends[n], n), len(ends), self.n_threads)
        return self._each_once(modes)

    def _each_once(self, modes: list[Mode], at_most: int | None = None) -> list[Mode]:
        rng = np.random.default_rng([self.seed, len(modes), CROSSING])
        modes = sorted(modes, key=lambda mode: mode.rank_key)
        return distinct(self.posterior, modes, rng, at_most or len(modes), math.inf)[0]

    def _children(self, line: list[Mode], n_crossed: int, generation: int) -> list[Mode]:
        """Return so many children of two modes of a line, the best first, and half as many of one.

        A parent is the better of two that are drawn, if there are four.
        """
        n_drawn = 4 if len(line) >= 4 else 2

        def child(n: int) -> Mode:
            rng = np.random.default_rng([self.seed, n, CROSSING, 1 + generation])
            drawn = rng.choice(len(line), n_drawn, replace=False)
            first, second = (line[each] for each in drawn.reshape(2, -1).min(axis=1))
            mean = self._crossed(first, second, rng) if n < n_crossed else self._emptied(first, rng)
            return self._coarse(self._annealed(mean, rng), int(rng.integers(1 << 62)))

        return results_of(child, n_crossed + (n_crossed + 1) // 2, self.n_threads)

    def _coarse(self, end: Ints32, stream: int) -> Mode:
        """Return the mode of a chain with these joint values (n_tokens,), by a coarse estimate."""
        n_steps = n_coarse(self.n_steps)
        return settled_mode(self.posterior, end, n_steps, self.average, self.seed, stream)

    def _crossed(self, first: Mode, second: Mode, rng: np.random.Generator) -> Floats:
        """Return counts (n_state,) of tokens in clusters of both modes."""
        urn, labels = self.posterior.urn, self._labels_of(first)
        _, values, _ = labels.draw(second.end, rng)
        name, size = self._some_hidden(rng)
        is_kept = np.zeros(size, dtype=np.bool_)
        is_kept[rng.choice(size, int(rng.integers(1, size)), replace=False)] = True
        mean = np.zeros(len(urn.alpha))
        count_some(urn, mean, first.end, is_kept[labels.digits(first.end, name)])
        count_some(urn, mean, values, ~is_kept[labels.digits(values, name)])
        return mean

    def _emptied(self, mode: Mode, rng: np.random.Generator) -> Floats:
        """Return counts (n_state,) of a mode's tokens, but those of some hidden values."""
        urn, (name, _) = self.posterior.urn, self._some_hidden(rng)
        digits = self._labels_of(mode).digits(mode.end, name)
        held = np.unique(digits)
        most = min(EMPTIED, max(1, len(held) - 1))
        emptied = rng.choice(held, int(rng.integers(1, most + 1)), replace=False)
        mean = np.zeros(len(urn.alpha))
        count_some(urn, mean, mode.end, ~np.isin(digits, emptied))
        return mean

    def _labels_of(self, mode: Mode) -> Relabelling:
        return Relabelling.of(self.posterior.plan, self.posterior.urn, [mode.mean])

    def _some_hidden(self, rng: np.random.Generator) -> tuple[str, int]:
        """Return the name of a hidden index of several values, and their number."""
        model = self.posterior.plan.model
        sizes = model.cardinalities
        name = str(rng.choice([name for name in model.hidden if sizes[name] > 1]))
        return name, sizes[name]

    def _annealed(self, mean: Floats, rng: np.random.Generator) -> Ints32:
        """Return the joint values (n_tokens,) of a chain annealed from these counts (n_state,)."""
        urn, moves = self.posterior.urn, self.posterior.moves
        chain = new_population(urn, moves, 1)
        path = even_path(urn, mean, max(MIN_STEPS, round(SHORT * self.n_steps)))
        follow(moves, chain, path, 0.0, rng)
        end: Ints32 = chain.values[0]
        return end
