"""Modes of the posterior of allocations: what is known of one, and which are the same.

Where a chain has settled, its expected counts are where a path to the model begins. The pilot of
that path says how probable the data are in the mode alone, so that the best modes are kept, each
once.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from models.allocation.annealing.path import (
    N_CHAINS,
    PILOT_SHARE,
    Pilot,
    expected_counts,
    mode_path,
)
from models.allocation.annealing.posterior import Posterior
from models.allocation.annealing.relabelling import Relabelling
from models.arrays import Floats, Ints32

SETTLED = 0.1  # Sweeps in which a chain settles, in units of the steps of a path
MAX_KEPT = 16  # Modes that runs start from, at most
WITHIN = 8.0  # nats: modes that are further below the best one are left out
SAME = 0.05  # Two modes are the same if one's chains belong to the other with this probability
PILOT, SETTLING = 1, 6  # Streams of random numbers


class Average(NamedTuple):
    """Sweeps over which the counts of a mode are averaged."""

    share: float  # in units of the steps of a path
    at_least: int

    def n_sweeps(self, n_steps: int) -> int:
        """Return their number for a path of `n_steps` steps."""
        return max(self.at_least, round(self.share * n_steps))


FEW, MANY = Average(0.01, 1), Average(0.1, 6)


@dataclass(frozen=True, eq=False)
class Mode:
    """A mode of the posterior, and a path that begins there."""

    end: Ints32  # (n_tokens,), joint values of a chain there
    mean: Floats  # (n_state,), expected counts
    pilot: Pilot
    constant: float  # Log-probability of the data where the path begins
    log_marginal: float  # by the pilot, of this mode under all labels
    spread: float  # Standard deviation of the logs of the pilot's estimates, in nats

    @property
    def run_spread(self) -> float:
        """Standard deviation that logs of runs will have: the variance falls as steps are more."""
        return self.spread * math.sqrt(PILOT_SHARE)

    @property
    def rank_key(self) -> float:
        """Key that sorts the most probable mode first; equal ones keep their order."""
        return -self.log_marginal


def settled_mode(
    posterior: Posterior, values: Ints32, n_steps: int, average: Average, seed: int, stream: int
) -> Mode:
    """Return the mode of a chain that begins at the joint values (n_tokens,), by a path of about
    `n_steps` steps, from counts averaged over the sweeps of `average`. Random numbers are those of
    `stream`.
    """
    rng = np.random.default_rng([seed, stream, SETTLING])
    chain = posterior.chain_at(values)
    expected_counts(posterior.moves, chain, 0, max(1, round(SETTLED * n_steps)), rng)
    mean = expected_counts(posterior.moves, chain, 0, average.n_sweeps(n_steps), rng)
    return mode_with(posterior, chain.values[0], mean, n_steps, seed, stream)


def steadier_average(
    posterior: Posterior, ends: Sequence[Ints32], n_steps: int, seed: int
) -> Average:
    """Return `FEW` or `MANY`: by it pilots of modes of chains with these joint values vary less.

    With few pseudo-counts an average over many sweeps has entries that few allocations have
    together: all of them are open at first, and have to be closed one by one. With many
    pseudo-counts the counts of one allocation say less than an average.
    """

    def spread(average: Average) -> float:
        modes = [settled_mode(posterior, end, n_steps, average, seed, 0) for end in ends]
        return float(np.mean([mode.spread for mode in modes]))

    return min(FEW, MANY, key=spread)


def mode_with(
    posterior: Posterior, end: Ints32, mean: Floats, n_steps: int, seed: int, stream: int
) -> Mode:
    """Return the mode with these expected counts."""
    urn, rng = posterior.urn, np.random.default_rng([seed, stream, PILOT])
    pilot = mode_path(urn, posterior.moves, mean, n_steps, rng)
    constant = posterior.log_at_mean(mean)
    labels = Relabelling.of(posterior.plan, urn, [mean])
    labels = labels.fitted([(0, values) for values in pilot.values], rng)
    labelled = [labels.log_weight(values, 0, rng) for values in pilot.values]
    logs = pilot.log_weight + labelled
    level = float(np.logaddexp.reduce(logs)) - math.log(N_CHAINS)
    return Mode(end, mean, pilot, constant, constant + level, float(logs.std(ddof=1)))


def distinct(
    posterior: Posterior,
    modes: list[Mode],
    rng: np.random.Generator,
    at_most: int | None = None,
    within: float = WITHIN,
) -> tuple[list[Mode], Relabelling]:
    """Return the first of `modes`, each once, that are less than `within` nats below the very
    first, by default at most `MAX_KEPT`; and the distribution of modes and labels.

    `modes` are in order, the best first. They are the same where chains from one may be taken for
    chains from the other.
    """
    urn, kept = posterior.urn, [modes[0]]
    labels = Relabelling.of(posterior.plan, urn, [modes[0].mean])
    for mode in modes[1:]:
        if (
            len(kept) == (at_most or MAX_KEPT)
            or mode.log_marginal <= modes[0].log_marginal - within
        ):
            break
        more = labels.with_mode(urn, mode.mean)
        chances = np.mean([more.modes(values, rng) for values in mode.pilot.values], axis=0)
        if chances[:-1].sum() < SAME:
            kept.append(mode)
            labels = more
    return kept, labels


def fitted_to(labels: Relabelling, kept: list[Mode], rng: np.random.Generator) -> Relabelling:
    """Return the distribution of these modes and labels, fitted to the ends of pilots."""
    ends = [(n, values) for n, mode in enumerate(kept) for values in mode.pilot.values]
    return labels.fitted(ends, rng)
