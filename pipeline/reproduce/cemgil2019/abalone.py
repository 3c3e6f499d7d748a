"""Cemgil et al. 2019, Figures 12 and 13: whether measurements of abalones have a hidden cause.

Seven measurements, each cut into five bins, are a count tensor of 5⁷ cells with a token for each
animal. CP (naive Bayes with a hidden class) is scored against the complete graph, in which each
measurement depends on all before it, and nothing is hidden. Then the hidden class of each animal in
one posterior sample is set beside its age.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import kruskal
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from models.allocation.cell_counts import CellCounts
from models.allocation.model import AllocationModel
from models.allocation.particles.posterior_sample import posterior_sample
from models.allocation.sequence import rate_of
from pipeline.reproduce.cemgil2019.rank_scores import RankCell, RankCurves, estimate, planned
from pipeline.reproduce.cemgil2019.scores import Effort

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from evaluation.allocation.marginal_estimate import MarginalEstimate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CP = "CP"
BIN_SEED = 0
"""Of k-means, the same for every seed of an experiment: bins are part of the data."""


@dataclass(frozen=True)
class AbaloneSettings:
    """The protocol; the defaults are the paper's, which does not say how many runs it made.

    Raises
    ------
    ValueError
        If a number is too small to make sense.
    """

    n_bins: int = 5
    strengths: tuple[float, ...] = (1.0, 0.001)
    """Values of a."""
    ranks: tuple[int, ...] = tuple(range(1, 31))
    effort: Effort = field(default_factory=Effort)
    class_rank: int = 3
    """Hidden classes that are set beside the age."""
    class_strength: float = 1.0
    """The value of a that they are found with."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("n_bins", 2), ("class_rank", 2)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, found {getattr(self, name)}")
        if not self.ranks or min(self.ranks) < 1:
            raise ValueError(f"ranks must be whole numbers from 1 on, found {self.ranks}")
        if not self.strengths or min(*self.strengths, self.class_strength) <= 0:
            raise ValueError(f"strengths must be positive, found {self.strengths}")

    @property
    def cells(self) -> list[RankCell]:
        """All that is scored."""
        return planned((CP,), self.strengths, self.ranks)


def bins_of(measurements: ArrayLike, n_bins: int) -> Ints:
    """(N, M), the bin of each of N animals in each of M measurements, 0 the smallest.

    k-means separately on each; bins are in the order of their centres.

    Raises
    ------
    ValueError
        If a measurement has fewer than `n_bins` different values.
    """
    values = np.asarray(measurements, dtype=np.float64)
    bins = np.empty(values.shape, dtype=np.int64)
    for m, column in enumerate(values.T):
        n_different = len(np.unique(column))
        if n_different < n_bins:
            raise ValueError(
                f"measurement {m + 1} has {n_different} different values, too few for {n_bins} bins"
            )
        with threadpool_limits(1):  # sums in one order: the same bins for any number of threads
            found = KMeans(n_bins, n_init=10, random_state=BIN_SEED).fit(column[:, None])
        place = np.argsort(np.argsort(found.cluster_centers_.ravel()))
        bins[:, m] = place[found.labels_]
    return bins


def tensor_of(bins: Ints, n_bins: int) -> CellCounts:
    """The count tensor: an axis for each measurement, a token for each animal."""
    shape = (n_bins,) * bins.shape[1]
    return CellCounts(bins, np.ones(len(bins), dtype=np.int64), shape)


def complete_graph(observed: CellCounts, a: float) -> float:
    """Log marginal of the complete graph, in closed form; empty cells add nothing.

    a log b − (a + T) log(b + 1) + Σ_i [lnΓ(g + X_i) − lnΓ(g) − lnΓ(X_i + 1)],  g = a / cells
    """
    n_tokens, X = observed.n_tokens, observed.counts
    g = a / float(np.prod(observed.shape, dtype=np.float64))
    b = rate_of(AllocationModel.complete(observed.shape, a=a), n_tokens)
    cells = gammaln(g + X) - gammaln(g) - gammaln(X + 1)
    return float(a * np.log(b) - (a + n_tokens) * np.log1p(b) + cells.sum())


def model_of(rank: int, a: float, shape: tuple[int, ...]) -> AllocationModel:
    """CP of a rank."""
    return AllocationModel.cp(shape, rank, a=a)


def score(
    observed: CellCounts, cell: RankCell, settings: AbaloneSettings, n_jobs: int | None = None
) -> MarginalEstimate:
    """The estimate of one cell."""
    model = model_of(cell.rank, cell.a, observed.shape)
    return estimate(model, observed, cell, settings.effort, settings.seed, n_jobs)


def sampled_classes(bins: Ints, settings: AbaloneSettings) -> Ints:
    """(N,), the hidden class of each animal in the most probable particle of SMC with moves."""
    observed = tensor_of(bins, settings.n_bins)
    model = model_of(settings.class_rank, settings.class_strength, observed.shape)
    sample = posterior_sample(
        model,
        observed,
        n_particles=settings.effort.n_particles_with_moves,
        n_moves=settings.effort.n_moves,
        seed=settings.seed,
    )
    best = sample.allocation(sample.most_probable)
    return classes_of(best, bins, np.random.default_rng([settings.seed, 1]))


def classes_of(allocation: CellCounts, bins: Ints, rng: np.random.Generator) -> Ints:
    """(N,), a class for each animal such that the classes make up the `allocation` over (r, i…).

    Animals in the same bins are exchangeable: which of them is in which class is drawn.
    """
    by_bins = np.lexsort(allocation.cells.T[:0:-1])
    ordered = np.repeat(allocation.cells[by_bins], allocation.counts[by_bins], axis=0)
    animals = np.lexsort((rng.random(len(bins)), *bins.T[::-1]))
    if not np.array_equal(ordered[:, 1:], bins[animals]):
        raise ValueError("the allocation is of other animals")
    classes = np.empty(len(bins), dtype=np.int64)
    classes[animals] = ordered[:, 0]
    return classes


@dataclass(frozen=True, eq=False)
class Ages:
    """Rings of animals by hidden class, youngest class first; R classes that are not empty."""

    rings: Ints
    """(N,)"""
    classes: Ints
    """(N,), from 0 to R - 1."""

    @classmethod
    def of(cls, rings: Ints, classes: Ints) -> Ages:
        """With the classes renamed by their mean number of rings."""
        _, named = np.unique(classes, return_inverse=True)
        mean = np.bincount(named, rings) / np.bincount(named)
        return cls(np.asarray(rings), np.argsort(np.argsort(mean))[named].astype(np.int64))

    @property
    def n_animals(self) -> Ints:
        """(R,), in each class."""
        return np.bincount(self.classes).astype(np.int64)

    @property
    def mean(self) -> Floats:
        """(R,), rings."""
        return np.bincount(self.classes, self.rings) / self.n_animals

    @property
    def standard_error(self) -> Floats:
        """(R,), of the mean; 0 of a single animal."""
        square = np.bincount(self.classes, (self.rings - self.mean[self.classes]) ** 2)
        n = self.n_animals
        result: Floats = np.sqrt(square / np.maximum(n - 1, 1) / n)
        return result

    @property
    def steps(self) -> Floats:
        """(R - 1,), differences of the means of neighbouring classes, in standard errors."""
        error = self.standard_error
        with np.errstate(divide="ignore"):
            result: Floats = np.diff(self.mean) / np.hypot(error[1:], error[:-1])
        return result

    @property
    def distribution(self) -> Floats:
        """(R, n), p(rings | class) of 0 to the most rings; rows sum to 1."""
        counts = np.zeros((len(self.n_animals), int(self.rings.max()) + 1))
        np.add.at(counts, (self.classes, self.rings), 1.0)
        result: Floats = counts / counts.sum(axis=1, keepdims=True)
        return result

    @property
    def kruskal_wallis(self) -> tuple[float, float]:
        """H, and the probability of one as large if all classes had the same ages."""
        groups = [self.rings[self.classes == r] for r in range(len(self.n_animals))]
        if len(groups) < 2:
            return 0.0, 1.0
        found = kruskal(*groups)
        return float(found.statistic), float(found.pvalue)

    @property
    def explained(self) -> float:
        """ε² = H / (N - 1), the share of the variance of the ranks of ages that classes explain."""
        return self.kruskal_wallis[0] / (len(self.rings) - 1)


@dataclass(frozen=True, eq=False)
class Abalone:
    """Both parts of the experiment."""

    settings: AbaloneSettings
    observed: CellCounts
    curves: RankCurves
    complete: dict[float, float]
    """Log marginal of the complete graph at each value of a."""
    ages: Ages
