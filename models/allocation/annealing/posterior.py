"""`Posterior` of the allocations of a table, laid down for the kernels."""

from dataclasses import dataclass

import numpy as np

from models.allocation.annealing.path import prior_path
from models.allocation.annealing.population import Path, Population, new_population, place
from models.allocation.annealing.sweep import Moves, moves_of
from models.allocation.annealing.token_moves import log_probability_independent
from models.allocation.annealing.urn import Urn, urn_of
from models.allocation.inference_plan import InferencePlan
from models.allocation.sequence import log_of_counts
from models.arrays import Floats, Ints32


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
        to be listed.
        """
        urn = urn_of(plan)
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
