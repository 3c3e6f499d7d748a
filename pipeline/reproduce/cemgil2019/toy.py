"""Cemgil et al. 2019, Figure 9: marginal likelihoods of two small matrices by SMC and VB.

KL-NMF of rank K = 1, …, 4 with b = a / S₊. The matrices are so small that the marginal likelihood
is known exactly: by how much are estimates off, and do they prefer the rank that it prefers?
Beside SMC as published there is SMC that takes tokens in by cell, whose variance is far lower.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from models.allocation.model import AllocationModel
from pipeline.reproduce.cemgil2019 import scores as bam_scores
from pipeline.reproduce.cemgil2019.published import LOG_MARGINAL, RANKS, A
from pipeline.reproduce.cemgil2019.scores import SORTED, Effort, cell_seed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evaluation.allocation.marginal_estimate import MarginalEstimate, TimedMarginal

Floats = NDArray[np.float64]

MATRICES = {
    "X1": np.array([[2, 1, 1, 0], [0, 0, 1, 2], [0, 0, 1, 1]]),
    "X2": np.array([[4, 3, 0], [0, 0, 3], [0, 0, 3]]),
}
"""In the paper X⁽¹⁾ and X⁽²⁾."""
METHODS = ("exact", "smc", SORTED, "vb")
BY_PARTICLES = ("smc", SORTED)
PUBLISHED = ("exact", "smc", "vb")


class Cell(NamedTuple):
    """One method on one matrix under one model."""

    matrix: str
    a: float
    rank: int
    method: str

    @property
    def name(self) -> str:
        """Of a file that it is kept in."""
        return f"{self.matrix}-{self.a:g}-{self.rank}-{self.method}"


@dataclass(frozen=True)
class ToySettings:
    """The protocol; the defaults are the paper's.

    Raises
    ------
    ValueError
        If a number is too small to make sense.
    """

    a: tuple[float, ...] = A
    ranks: tuple[int, ...] = RANKS
    effort: Effort = field(default_factory=lambda: Effort(n_repeats=100))
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("a", "ranks"):
            if not getattr(self, name) or min(getattr(self, name)) <= 0:
                raise ValueError(f"{name} must be positive, found {getattr(self, name)}")

    @property
    def cells(self) -> list[Cell]:
        """All that is to be computed."""
        return [
            Cell(matrix, a, rank, method)
            for matrix in MATRICES
            for a in self.a
            for rank in self.ranks
            for method in METHODS
        ]


def estimate(cell: Cell, settings: ToySettings, n_jobs: int | None = None) -> MarginalEstimate:
    """Run a method; it depends on the cell and the settings' numbers, not on their lists."""
    X = MATRICES[cell.matrix]
    n_rows, n_columns = X.shape
    model = AllocationModel.nmf(n_rows, n_columns, cell.rank, cell.a)
    seed = cell_seed(settings.seed, cell.name)
    return bam_scores.estimate(model, X, cell.method, settings.effort, seed, n_jobs)


@dataclass(frozen=True, eq=False)
class ToyComparison:
    """M matrices, A values of a, K ranks, R runs of SMC; log marginal likelihoods in nats."""

    settings: ToySettings
    log_marginal: Mapping[str, Floats]
    """Of each method, (M, A, K)."""
    standard_error: Mapping[str, Floats]
    """Of each order of SMC, (M, A, K); 0 if all runs agree."""
    repeats: Mapping[str, Floats]
    """Of each order of SMC, (M, A, K, R), of its runs."""
    published: Mapping[str, Floats] = field(init=False)
    """Of each method, (M, A, K), NaN where nothing was published."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "published", _published(self.settings))

    def error(self, method: str) -> Floats:
        """(M, A, K), SMC minus exact."""
        difference: Floats = self.log_marginal[method] - self.log_marginal["exact"]
        return difference

    def ratio_t(self, method: str) -> Floats:
        """(M, A, K), of the mean over runs of p̂ / p - 1 in its standard errors.

        Standard normal, about, if SMC is unbiased and its runs many; NaN where all runs agree, up
        to rounding. For X1 at a = 1e-5 and K = 2 one run in a thousand is over a hundred times the
        truth, and these hold a fifth of the mean: of 100 runs t is about -8.5 without any bias.
        """
        ratio = np.exp(self.repeats[method] - self.log_marginal["exact"][..., None])
        deviation = ratio.std(axis=-1, ddof=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = (ratio.mean(axis=-1) - 1) / (deviation / np.sqrt(ratio.shape[-1]))
        result: Floats = np.where(deviation > 1e-12, t, np.nan)
        return result

    @property
    def log_odds(self) -> dict[str, Floats]:
        """Of each method (M, A, K): log posterior probability of each rank, all alike before."""
        return {name: log_odds(values) for name, values in self.log_marginal.items()}

    def log_odds_standard_error(self, method: str) -> Floats:
        """(M, A, K), of SMC's, by the delta method."""
        share = np.exp(log_odds(self.log_marginal[method]))
        square = self.standard_error[method] ** 2
        others = (share**2 * square).sum(axis=-1, keepdims=True) - share**2 * square
        result: Floats = np.sqrt((1 - share) ** 2 * square + others)
        return result

    def best_rank(self, method: str) -> NDArray[np.int64]:
        """(M, A), the rank of the highest log marginal."""
        ranks = np.array(self.settings.ranks)
        best: NDArray[np.int64] = ranks[self.log_marginal[method].argmax(axis=-1)]
        return best

    def gap(self, method: str, m: int, i: int) -> tuple[float, float]:
        """How far SMC has its best rank above the exact best rank, and the standard error of that.

        Of matrix m at the a of number i; 0 and 0 if they are the same.
        """
        smc, exact = self.log_marginal[method][m, i], self.log_marginal["exact"][m, i]
        ours, right = int(smc.argmax()), int(exact.argmax())
        if ours == right:
            return 0.0, 0.0
        error = self.standard_error[method][m, i]
        return float(smc[ours] - smc[right]), float(np.hypot(error[ours], error[right]))


def log_odds(log_marginals: Floats) -> Floats:
    """Log posterior probabilities over the last axis, of models that are as likely before."""
    odds: Floats = log_marginals - logsumexp(log_marginals, axis=-1, keepdims=True)
    return odds


def comparison(settings: ToySettings, scores: Mapping[Cell, TimedMarginal]) -> ToyComparison:
    """The arrays of all `scores`, which must be those of the settings' cells.

    Raises
    ------
    ValueError
        If they are others.
    """
    if set(scores) != set(settings.cells):
        raise ValueError("the cells are not those of the settings")
    shape = (len(MATRICES), len(settings.a), len(settings.ranks))
    marginal = {method: np.empty(shape) for method in METHODS}
    error = {method: np.zeros(shape) for method in BY_PARTICLES}
    repeats = {method: np.empty((*shape, settings.effort.n_repeats)) for method in BY_PARTICLES}
    for cell, score in scores.items():
        at = (
            list(MATRICES).index(cell.matrix),
            settings.a.index(cell.a),
            settings.ranks.index(cell.rank),
        )
        marginal[cell.method][at] = score.estimate.log_marginal
        if cell.method in BY_PARTICLES:
            error[cell.method][at] = score.estimate.standard_error
            repeats[cell.method][at] = score.estimate.repeats
    return ToyComparison(settings, marginal, error, repeats)


def _published(settings: ToySettings) -> dict[str, Floats]:
    shape = (len(MATRICES), len(settings.a), len(settings.ranks))
    found = {method: np.full(shape, np.nan) for method in PUBLISHED}
    for m, matrix in enumerate(MATRICES):
        for i, a in enumerate(settings.a):
            for k, rank in enumerate(settings.ranks):
                if a in A and rank in RANKS:
                    for method in PUBLISHED:
                        row = LOG_MARGINAL[matrix][method][A.index(a)]
                        found[method][m, i, k] = row[RANKS.index(rank)]
    return found
