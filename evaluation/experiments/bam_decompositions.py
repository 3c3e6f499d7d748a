"""Cemgil et al. 2019, Figure 16: factors by SMC and VB beside those of least squares.

The factors of NMF as an allocation model i ← k → j are W = θ_{i|k} and H = T θ_{j|k} θ_k, of a
sample of letter pairs, over strengths a of the prior. The peers have none and minimise |X − W H|²:
alternating projected gradients, as in the paper, and coordinate descent, scikit-learn's, which has
no projected gradients any more.
"""

from __future__ import annotations

import warnings
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from evaluation.experiments.bam_scores import cell_seed
from evaluation.experiments.factor_quality import FactorQuality, factor_quality
from evaluation.experiments.projected_gradient_nmf import projected_gradient_nmf
from models.allocation.allocation_factors import AllocationFactors
from models.allocation.model import AllocationModel

if TYPE_CHECKING:
    from collections.abc import Mapping

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BAYESIAN = {"SMC": "smc", "VB": "vb"}
"""By the names of the paper, the method of `AllocationFactors`."""
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
    n_particles: int = 1000
    n_starts: int = 100
    """Of VB, of which the best counts."""
    n_repeats: int = 20
    """Runs of each method on the same sample, each with its own random numbers."""
    seed: int = 0

    def __post_init__(self) -> None:
        lowest = {"n_tokens": 1, "rank": 1, "n_particles": 1, "n_starts": 1, "n_repeats": 1}
        for name, least in lowest.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, found {getattr(self, name)}")
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
    seed = cell_seed(settings.seed, zlib.crc32(cell.name.encode()), repeat)
    if cell.method == PROJECTED_GRADIENT:
        return projected_gradient_nmf(X, settings.rank, np.random.default_rng(seed))
    if cell.method == COORDINATE_DESCENT:
        return _coordinate_descent(X, settings.rank, seed)
    assert cell.a is not None
    n_rows, n_columns = X.shape
    factors = AllocationFactors(
        AllocationModel.nmf(n_rows, n_columns, settings.rank, a=cell.a),
        method=BAYESIAN[cell.method],
        n_starts=settings.n_starts,
        n_particles=settings.n_particles,
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
    """(n_repeats, 5), the fields of `FactorQuality` of each run of a cell."""
    return np.array(
        [
            factor_quality(X, *factors_of(X, cell, repeat, settings, n_jobs))
            for repeat in range(settings.n_repeats)
        ]
    )


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
        """Of the mean; NaN of a single repeat."""
        runs = self.found[cell]
        if len(runs) == 1:
            return FactorQuality(*[float("nan")] * runs.shape[1])
        return FactorQuality(*(runs.std(axis=0, ddof=1) / np.sqrt(len(runs))).tolist())
