"""The marginal likelihood by annealing whole allocations, and brackets of it.

Tokens are independent at first, and reinforce each other more and more along a path of models
(`models.allocation.annealing.path`). Annealed importance sampling (Neal 2001) with resampling (Del
Moral, Doucet & Jasra 2006) is unbiased for the probability.

Searches (`models.allocation.annealing.searches`) start from the prior's mean. Where they agree,
runs take paths like theirs. Where clusters form on the way, and trap chains at random, they do not:
then paths begin at the modes of the posterior that they found, and chains vary by nats where they
varied by tens. What no search has found is most likely missed. Where modes are too many to be
listed, longer paths begin at the prior's mean, as all do with `n_modes=0`. Where clusters dissolve
and form again along paths from modes, these are longer too.

Annealed the other way, from an exact draw of the posterior, the mean of the reciprocal weights is
the reciprocal of the probability (Grosse, Ghahramani & Adams 2015): a stochastic upper bound.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evaluation.allocation.annealed_runs import Runs, Settings
from evaluation.allocation.marginal_estimate import MarginalEstimate
from evaluation.allocation.simulate import draw
from evaluation.arrays import Floats
from evaluation.monte_carlo.log_mean import log_mean_of
from models.allocation.cell_counts import CellCounts
from models.allocation.joint_values import values_of
from models.allocation.model import AllocationModel
from models.allocation.particles.runs import MAX_MEMORY
from models.seed import seed_from

N_SWEEPS = 1000
N_PARTICLES = 4
N_MODES = 8
DRAWN = 7  # Stream of random numbers


@dataclass(frozen=True)
class MarginalBracket:
    """Log marginal likelihood between a stochastic lower and a stochastic upper bound, in nats.

    The lower one is an unbiased estimate: it exceeds the truth by x nats with a probability of at
    most exp(-x). The upper one falls below it as rarely, if it is from an exact draw of the
    posterior. From the end of a forward run it is a *heuristic* upper bound: right only as far as
    that run has found where the posterior is.
    """

    lower: MarginalEstimate
    upper: float
    upper_standard_error: float
    is_heuristic: bool
    upper_chains: Floats  #: (n_chains,), the log of the weight of each chain.

    @property
    def width(self) -> float:
        """Upper less lower bound; below 0 by chance only, or if the upper bound is heuristic."""
        return self.upper - self.lower.log_marginal


def annealed(
    model: AllocationModel,
    observed: CellCounts,
    *,
    n_particles: int = N_PARTICLES,
    n_repeats: int = 10,
    n_sweeps: int = N_SWEEPS,
    n_modes: int = N_MODES,
    known_modes: CellCounts | None = None,
    max_memory: int = MAX_MEMORY,
    seed: int = 0,
    n_jobs: int | None = None,
    on_progress: Callable[[int], object] = lambda n_steps: None,  # noqa: ARG005
) -> MarginalEstimate:
    """Estimate by runs of particles that are annealed in about `n_sweeps` steps: from the best of
    `n_modes` modes that searches find. If the searches agree, runs start from the prior's mean and
    take twice as many steps; where modes are too many to be listed, eight times as many, with
    twice the particles. A run takes `n_particles` from the best mode, and fewer from the others, in
    proportion to their probabilities; but where the pilot of the best mode says that runs will vary
    by a nat or more, it takes sixteen times as many steps, with `n_particles` in all, divided among
    the best modes: half as many modes as particles, at least one.

    `known_modes` are the `modes` of an estimate for another model of the graph, with which those
    that searches find are crossed.

    `on_progress` is called with the steps taken since its last call, by any search or run. Raises
    TableMemoryError if the particles take more than `max_memory` bytes, or hidden indices have too
    many joint values to be listed; ValueError or TypeError if a setting is out of its range, and
    ValueError if `known_modes` are of another graph or of other counts.
    """
    settings = Settings(n_particles, n_repeats, n_sweeps, n_modes, max_memory, seed, n_jobs)
    runs = Runs.of(model, observed, settings, known_modes, on_progress)
    estimate, ends = runs.forward(on_progress)
    if not np.isfinite(estimate.log_marginal):
        return estimate
    return replace(estimate, allocations=runs.drawn(ends), modes=runs.modes())


def bracket_marginal(
    model: AllocationModel,
    X: Any,
    allocation: CellCounts | None = None,
    *,
    n_particles: int = N_PARTICLES,
    n_repeats: int = 10,
    n_sweeps: int = N_SWEEPS,
    n_modes: int = N_MODES,
    max_memory: int = MAX_MEMORY,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> MarginalBracket:
    """Return bounds of log p(X): `n_repeats` runs forward, and as many chains back.

    Chains go back from `allocation`, a draw from the posterior over `model.indices`, which exists
    where X was simulated (`evaluation.allocation.simulate.draw`): then the bracket certifies the
    method at this size. Without it each goes back from the end of a run, and the upper bound is
    heuristic. Raises what `annealed` does, and ValueError if `allocation` has other counts than X,
    or X lacks an index of some token and has an allocation.
    """
    observed, seed = CellCounts.of(X, model), seed_from(random_state)
    settings = Settings(n_particles, n_repeats, n_sweeps, n_modes, max_memory, seed, n_jobs)
    runs = Runs.of(model, observed, settings)
    ends = None if allocation is None else [values_of(runs.posterior.plan, allocation)] * n_repeats
    estimate, found = runs.forward()
    chains = runs.back(found if ends is None else ends)
    mean, error, _ = log_mean_of(-chains)
    return MarginalBracket(estimate, -mean, error, allocation is None, chains)


def certify_marginal(
    model: AllocationModel, n_tokens: int, *, random_state: Any = None, **settings: Any
) -> MarginalBracket:
    """Bracket the probability of `n_tokens` tokens drawn from the model, from their own allocation.

    The width says how far from the truth annealing with these `settings`, those of
    `bracket_marginal`, is on such tables at most. Raises what that raises.
    """
    seed = seed_from(random_state)
    observed, allocation = draw(model, n_tokens, np.random.default_rng([seed, 3, DRAWN]))
    return bracket_marginal(model, observed, allocation, random_state=seed, **settings)
