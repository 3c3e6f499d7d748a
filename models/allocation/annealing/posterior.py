"""`Posterior` of the allocations of a table, laid down for the kernels."""

import math
from dataclasses import dataclass

import numpy as np

from models.allocation.annealing.path import prior_path
from models.allocation.annealing.population import Path, Population, new_population, place
from models.allocation.annealing.sweep import Moves, moves_of
from models.allocation.annealing.token_moves import log_probability_independent
from models.allocation.annealing.urn import FEW, Urn, urn_of
from models.allocation.inference_plan import InferencePlan
from models.allocation.sequence import log_of_counts
from models.arrays import Floats, Ints32

LEAST_LOG = -600.0  # of a product of pseudo-counts


class PriorRangeError(ValueError):
    """Pseudo-counts of a model are too small for the products that annealing takes of them."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """Posterior of allocations: the urn of all tokens, and the moves between allocations."""

    plan: InferencePlan
    urn: Urn
    moves: Moves
    constant: float  # Part of the log-probability that is the same for all allocations

    @classmethod
    def of(cls, plan: InferencePlan) -> "Posterior":
        """Lay the data down. Raises TableMemoryError if hidden indices have too many joint values
        to be listed, and PriorRangeError if pseudo-counts are too small.
        """
        urn = urn_of(plan)
        _check_range(urn)
        return cls(plan, urn, moves_of(plan, urn), log_of_counts(plan.model, plan.observed))

    def log_at_mean(self, mean: Floats | float = 0.0) -> float:
        """Return the log-probability of the data where a path begins: at the prior's mean, or at
        that of the prior with `mean` (n_state,) more tokens.
        """
        urn, weights = self.urn, np.zeros(int(self.urn.n_values.max()))
        at_mean = urn._replace(alpha=urn.alpha + mean)
        return float(self.constant + log_probability_independent(at_mean, weights))

    def prior_path(self, n_steps: int, rng: np.random.Generator) -> Path:
        """Return a path of about `n_steps` steps from the prior's mean."""
        return prior_path(self.urn, self.moves, n_steps, rng)

    def chain_at(self, values: Ints32) -> Population:
        """Return one particle with the joint values (n_tokens,)."""
        population = new_population(self.urn, self.moves, 1)
        place(population, values)
        return population


def _check_range(urn: Urn) -> None:
    """Raise PriorRangeError if products of pseudo-counts could underflow: those of a token's
    factors, and those of the first tokens of an entry.
    """
    above = urn.alpha[(urn.alpha > 0.0) & (urn.entry_power > 0)]
    least = float(above.min(initial=1.0))
    most = max(FEW, int(urn.power[urn.power > 0].sum()))
    if most * math.log(least) < LEAST_LOG:
        raise PriorRangeError(
            f"annealing multiplies up to {most} pseudo-counts, and those of {least:.1g} have a "
            "product that floating-point numbers do not hold: take a larger a, or the method smc"
        )
