"""`AllocationFactors`: the conditional probability tables of an allocation model, learned."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from models.allocation.annealing.searches import best_allocation
from models.allocation.cell_counts import CellCounts
from models.allocation.inference_plan import plan_of
from models.allocation.lda_bridge import lda_topics
from models.allocation.mean_field.cell_probability import (
    checked_cells,
    dense_probability,
    probability_of_cells,
)
from models.allocation.mean_field.coordinate_ascent import (
    MEAN_FIELD_METHODS,
    MeanField,
    best_of_starts,
)
from models.allocation.mean_field.family_counts import (
    check_tables,
    counts_of_allocation,
    counts_of_epoch,
    tables_of_counts,
)
from models.allocation.particles.posterior_sample import PosteriorSample, posterior_sample
from models.allocation.particles.runs import check_particle_settings
from models.allocation.reachable import check_reachable
from models.allocation.sequence import rate_of
from models.checks import check_number, check_whole
from models.parallel import effective_n_jobs
from models.seed import seed_from

if TYPE_CHECKING:
    from models.allocation.model import AllocationModel
    from models.arrays import Floats
    from models.lda.topics import LDATopics

N_KEPT = 100


@dataclass(eq=False, repr=False)
class AllocationFactors(BaseEstimator):  # type: ignore[misc]
    """Factors of a count tensor: the tables p(index | its parents) of a graph, with their prior.

    Parameters
    ----------
    model : AllocationModel
    method : {"vb", "em", "dual-em", "icm", "smc", "annealed"}
        "vb": means of q(θ) of variational Bayes. "em": the mode θ* given the counts. "icm": θ* of
        the joint mode of θ and the allocation. "dual-em": means of θ given the most probable
        allocation (Cemgil et al. 2019, table 1; see
        `models.allocation.mean_field.coordinate_ascent`). "smc": means of θ given the most probable
        allocation of a particle. Particles are not averaged: a hidden value may stand for different
        things in two of them. "annealed": means of θ, given the allocations of a chain at the best
        mode of the posterior that searches find (`models.allocation.annealing.searches`).
    n_starts, n_epochs : int
        Random starts, of which the best is kept, and epochs of each at most; not for "smc". For
        "annealed" modes that are looked at.
    tolerance : float
        An ascent ends when its objective grows by less than this share of itself.
    n_particles, n_moves : int
        For "smc": particles, and processed tokens to rejuvenate after each token.
    n_sweeps : int
        For "annealed": steps from independent tokens to the model.
    random_state : int, Generator or RandomState, optional
        Fixes the result to the bit, whatever `n_jobs`.
    n_jobs : int, optional
        Threads, over starts or else blocks of cells; None is 1, -1 every core.

    Attributes
    ----------
    tables_ : dict of arrays
        Table of each index, `model.table_shape(name)`; sums to 1 over the last axis.
    expected_counts_ : dict of arrays
        (Expected) counts over the family of each index, from which the tables are computed.
    objective_ : float
        "vb": the bound on log p(X); "em": log p(X, θ*); "dual-em": log π(S*); "icm": log p(S*, θ*);
        "smc": the estimate of log p(X); "annealed": that of the best mode alone, the
        highest of several.
    objective_path_ : array
        Objective after each epoch of the best ascent.
    intensity_ : float
        E λ = (a + S₊) / (b + 1).
    sample_ : PosteriorSample
        Of "smc" only: allocations of all tokens, of particles drawn by their weights.
    """

    model: AllocationModel
    method: str = "vb"
    _: KW_ONLY
    n_starts: int = 10
    n_epochs: int = 1000
    tolerance: float = 1e-8
    n_particles: int = 1000
    n_moves: int = 0
    n_sweeps: int = 1000
    random_state: Any = None
    n_jobs: int | None = None

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn the tables from counts over the model's visible indices, as `CellCounts.of` takes.

        Raises ValueError or TypeError if a setting is out of its range, or `X` is not of the
        model's shape or holds no counts; TableMemoryError, a ValueError, if tables or particles do
        not fit in memory; UnreachableCellError, a ValueError, if the counts are impossible under
        the prior.
        """
        del y
        self._check_settings()
        observed = CellCounts.of(X, self.model)
        check_tables(self.model)
        self.seed_ = seed_from(self.random_state)
        check_reachable(plan_of(self.model, observed))
        if self.method == "smc":
            self._fit_by_particles(observed)
        elif self.method == "annealed":
            self._fit_by_annealing(observed)
        else:
            self._climb(observed)
        self.tables_ = tables_of_counts(self.model, self.expected_counts_)
        self.n_tokens_ = observed.n_tokens
        rate = rate_of(self.model, observed.n_tokens)
        self.intensity_ = (self.model.a + observed.n_tokens) / (rate + 1.0)
        return self

    @property
    def topics_(self) -> LDATopics:
        """The topics, where the graph is that of LDA. Raises ValueError if it is another graph."""
        check_is_fitted(self, "tables_")
        return lda_topics(self.model, self.tables_)

    def reconstruction(self, cells: Any = None) -> Floats:
        """Expected counts S₊ p(cell): of `cells` (n, n_visible), or of all, of the model's shape.

        An index that is -1 in a cell is summed over. Raises TableMemoryError, a ValueError, if the
        whole tensor does not fit in memory; ValueError if cells are not within the tensor.
        """
        check_is_fitted(self, "tables_")
        if cells is None:
            return self.n_tokens_ * dense_probability(self.model, self.tables_)
        checked = checked_cells(self.model, cells)
        n_threads = effective_n_jobs(self.n_jobs)
        return self.n_tokens_ * probability_of_cells(self.model, self.tables_, checked, n_threads)

    def _climb(self, observed: CellCounts) -> None:
        field = MeanField.of(self.model, observed, self.method)
        optimum = best_of_starts(
            field,
            n_starts=int(self.n_starts),
            n_epochs=int(self.n_epochs),
            tolerance=float(self.tolerance),
            seed=self.seed_,
            n_jobs=self.n_jobs,
        )
        self.objective_ = optimum.best.objective
        self.objective_path_ = optimum.path
        n_threads = effective_n_jobs(self.n_jobs)
        self.expected_counts_ = counts_of_epoch(field, optimum.best, n_threads)

    def _fit_by_particles(self, observed: CellCounts) -> None:
        self.sample_: PosteriorSample = posterior_sample(
            self.model,
            observed,
            n_particles=int(self.n_particles),
            n_kept=min(int(self.n_particles), N_KEPT),
            n_moves=int(self.n_moves),
            seed=self.seed_,
        )
        self.objective_ = self.sample_.log_marginal
        self.objective_path_ = np.array([self.objective_])
        best = self.sample_.allocation(self.sample_.most_probable)
        self.expected_counts_ = counts_of_allocation(self.model, best)

    def _fit_by_annealing(self, observed: CellCounts) -> None:
        allocation, n_summed, self.objective_ = best_allocation(
            self.model,
            observed,
            n_modes=int(self.n_starts),
            n_sweeps=int(self.n_sweeps),
            seed=self.seed_,
            n_threads=effective_n_jobs(self.n_jobs),
        )
        self.objective_path_ = np.array([self.objective_])
        counts = counts_of_allocation(self.model, allocation)
        self.expected_counts_ = {name: each / n_summed for name, each in counts.items()}

    def _check_settings(self) -> None:
        methods = (*MEAN_FIELD_METHODS, "smc", "annealed")
        if self.method not in methods:
            raise ValueError(f"method must be one of {methods}, found {self.method!r}")
        check_whole("n_starts", self.n_starts, 1)
        check_whole("n_epochs", self.n_epochs, 1)
        check_whole("n_sweeps", self.n_sweeps, 1)
        check_particle_settings(self.n_particles, self.n_moves)
        check_number("tolerance", self.tolerance)
        if not 0.0 <= self.tolerance < np.inf:
            raise ValueError(f"tolerance must not be negative, found {self.tolerance}")
        effective_n_jobs(self.n_jobs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
