"""Cemgil et al. 2019, Figure 16: factors by SMC and VB beside those of least squares.

The factors of NMF as an allocation model i ← k → j are W = θ_{i|k} and H = T θ_{j|k} θ_k, of a
sample of letter pairs, over strengths a of the prior. The peers have none and minimise |X − W H|²:
alternating projected gradients, as in the paper, and coordinate descent, scikit-learn's, which has
no projected gradients any more.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from models.allocation.allocation_factors import AllocationFactors
from models.allocation.model import AllocationModel
from models.parallel import effective_n_jobs, for_blocks
from pipeline.reproduce.cemgil2019.factor_quality import FactorQuality, factor_quality
from pipeline.reproduce.cemgil2019.projected_gradient_nmf import projected_gradient_nmf
from pipeline.reproduce.cemgil2019.scores import NAMES, WITH_MOVES, Effort, cell_seed

if TYPE_CHECKING:
    from collections.abc import Mapping

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SMC, SMC_WITH_MOVES, VB = (NAMES[method] for method in ("smc", WITH_MOVES, "vb"))
BAYESIAN = (SMC, SMC_WITH_MOVES, VB)
"""Methods of `AllocationFactors`."""
PROJECTED_GRADIENT, COORDINATE_DESCENT = "ALS-PGD", "least squares, CD"
PEERS = (PROJECTED_GRADIENT, COORDINATE_DESCENT)
MEASURES = ("sparsity", "squared_loss", "kl_divergence")
"""Of `FactorQuality`, those that the paper has."""


class FactorCell(NamedTuple):
    """One method at one strength of the prior; all its repeats."""

    method: str
    a: float | None
    """None of a peer, which has no prior."""

    @property
    def name(self) -> str:
        """Of a file that it is kept in."""
        method = self.method.replace(", ", "-").replace(" ", "-")
        return method if self.a is None else f"{method}-{self.a:g}"


@dataclass(frozen=True)
class DecompositionsSettings:
    """The protocol; the defaults are the paper's, which does not say how many runs it made.

    Raises
    ------
    ValueError
        If a number is too small to make sense.
    """

    n_tokens: int = 2000
    rank: int = 3
    strengths: tuple[float, ...] = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
    """Values of a."""
    effort: Effort = field(default_factory=lambda: Effort(n_repeats=20))
    """Runs of each method are on the same sample, each with its own random numbers."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("n_tokens", "rank"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, found {getattr(self, name)}")
        if not self.strengths or min(self.strengths) <= 0:
            raise ValueError(f"strengths must be positive, found {self.strengths}")

    @property
    def cells(self) -> list[FactorCell]:
        """All that is run."""
        bayesian = [FactorCell(method, a) for a in self.strengths for method in BAYESIAN]
        return [*(FactorCell(method, None) for method in PEERS), *bayesian]


def factors_of(
    X: Ints,
    cell: FactorCell,
    repeat: int,
    settings: DecompositionsSettings,
    n_jobs: int | None = None,
) -> tuple[Floats, Floats]:
    """W (I, K) and H (K, J) of one run."""
    seed = cell_seed(settings.seed, f"{cell.name}-{repeat}")
    if cell.method == PROJECTED_GRADIENT:
        return projected_gradient_nmf(X, settings.rank, np.random.default_rng(seed))
    if cell.method == COORDINATE_DESCENT:
        return _coordinate_descent(X, settings.rank, seed)
    assert cell.a is not None
    n_rows, n_columns = X.shape
    effort, has_moves = settings.effort, cell.method == SMC_WITH_MOVES
    factors = AllocationFactors(
        AllocationModel.nmf(n_rows, n_columns, settings.rank, a=cell.a),
        method="vb" if cell.method == VB else "smc",
        n_starts=effort.n_starts,
        n_particles=effort.n_particles_with_moves if has_moves else effort.n_particles,
        n_moves=effort.n_moves if has_moves else 0,
        random_state=seed,
        n_jobs=n_jobs,
    ).fit(X)
    return bayesian_factors(factors.tables_, int(X.sum()))


def bayesian_factors(tables: Mapping[str, Floats], n_tokens: int) -> tuple[Floats, Floats]:
    """W = θ_{i|k} (I, K) and H = T θ_{j|k} θ_k (K, J) of the tables of `AllocationModel.nmf`."""
    return tables["i"].T, n_tokens * tables["k"][:, None] * tables["j"]


def _coordinate_descent(X: Ints, rank: int, seed: int) -> tuple[Floats, Floats]:
    solver = NMF(rank, init="random", solver="cd", tol=1e-6, max_iter=2000, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # its loss is in the table
        W = solver.fit_transform(X.astype(np.float64))
    return W, solver.components_


def qualities(
    X: Ints, cell: FactorCell, settings: DecompositionsSettings, n_jobs: int | None = None
) -> Floats:
    """(n_repeats, 5), the fields of `FactorQuality` of each run of a cell.

    Threads are of the runs of SMC, and of the starts of VB.
    """
    found = np.empty((settings.effort.n_repeats, len(FactorQuality._fields)))
    is_smc = cell.method in (SMC, SMC_WITH_MOVES)

    def work(start: int, stop: int) -> None:
        for repeat in range(start, stop):
            factors = factors_of(X, cell, repeat, settings, None if is_smc else n_jobs)
            found[repeat] = factor_quality(X, *factors)

    for_blocks(work, len(found), 1, effective_n_jobs(n_jobs) if is_smc else 1)
    return found


@dataclass(frozen=True, eq=False)
class Decompositions:
    """All runs."""

    source: str
    """Where the pairs are from."""
    settings: DecompositionsSettings
    X: Ints
    """(26, 26), the sample."""
    found: Mapping[FactorCell, Floats]
    """(n_repeats, 5), the fields of `FactorQuality`, for each cell."""

    def mean(self, cell: FactorCell) -> FactorQuality:
        """Over repeats."""
        return FactorQuality(*self.found[cell].mean(axis=0).tolist())

    def standard_error(self, cell: FactorCell) -> FactorQuality:
        """Of the mean."""
        runs = self.found[cell]
        return FactorQuality(*(runs.std(axis=0, ddof=1) / np.sqrt(len(runs))).tolist())
