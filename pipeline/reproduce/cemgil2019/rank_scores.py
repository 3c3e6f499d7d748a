"""Log marginals of allocation models over their rank, by SMC and VB, at strengths of the prior.

What Figures 12 and 15 of Cemgil et al. 2019 have in common. A cell is one method on one graph at
one rank; it depends on the counts, the settings of its method and its seed alone, so that cells can
be computed in any order, and kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.reproduce.cemgil2019 import scores as bam_scores
from pipeline.reproduce.cemgil2019.scores import WITH_MOVES, cell_seed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evaluation.allocation.marginal_estimate import MarginalEstimate, TimedMarginal
    from models.allocation.model import AllocationModel
    from pipeline.reproduce.cemgil2019.scores import Effort

Floats = NDArray[np.float64]

SCORING = ("smc", WITH_MOVES, "vb")
"""Methods that score every model."""
BY_PARTICLES = ("smc", WITH_MOVES)
ROUNDING = 1e-6
"""Nats: what is below VB's bound by less is not."""


class RankCell(NamedTuple):
    """One method on one model."""

    graph: str
    method: str
    a: float
    rank: int

    @property
    def name(self) -> str:
        """Of a file that it is kept in."""
        return f"{self.graph.replace(' ', '-')}-{self.method}-{self.a:g}-{self.rank}"


def planned(
    graphs: Sequence[str], strengths: Sequence[float], ranks: Sequence[int]
) -> list[RankCell]:
    """All cells, small ranks first, so that something can be seen of all curves early."""
    return [
        RankCell(graph, method, a, rank)
        for rank in sorted(ranks)
        for a in strengths
        for graph in graphs
        for method in SCORING
    ]


def estimate(
    model: AllocationModel,
    X: Any,
    cell: RankCell,
    effort: Effort,
    seed: int,
    n_jobs: int | None = None,
) -> MarginalEstimate:
    """The estimate of one cell, whose model is given; its random numbers are its own."""
    own_seed = cell_seed(seed, cell.name)
    return bam_scores.estimate(model, X, cell.method, effort, own_seed, n_jobs)


@dataclass(frozen=True, eq=False)
class RankCurves:
    """Scores of G graphs by M methods at A strengths of the prior and R ranks."""

    graphs: tuple[str, ...]
    strengths: tuple[float, ...]
    ranks: tuple[int, ...]
    scores: Mapping[RankCell, TimedMarginal]

    def __post_init__(self) -> None:
        if set(self.scores) != set(planned(self.graphs, self.strengths, self.ranks)):
            raise ValueError("the scores are not those of these graphs, strengths and ranks")

    def log_marginal(self, graph: str, method: str, a: float) -> Floats:
        """(R,), nats; of "vb" bounds."""
        return np.array([each.log_marginal for each in self._estimates(graph, method, a)])

    def standard_error(self, graph: str, method: str, a: float) -> Floats:
        """(R,), as each estimate says."""
        return np.array([each.standard_error for each in self._estimates(graph, method, a)])

    def ends(self, graph: str, method: str, a: float) -> Floats:
        """(2, R), the lowest and the highest of the repeats; of "vb" the bound itself, twice."""
        if method == "vb":
            bound = self.log_marginal(graph, method, a)
            return np.stack([bound, bound])
        repeats = [each.repeats for each in self._estimates(graph, method, a)]
        return np.array([[each.min(), each.max()] for each in repeats]).T

    def best_rank(self, graph: str, method: str, a: float) -> int:
        """The rank of the highest score."""
        return int(self.ranks[int(self.log_marginal(graph, method, a).argmax())])

    def told_apart(self, graphs: tuple[str, str], method: str, a: float) -> NDArray[np.bool_]:
        """(R,), whether every repeat of one graph scores above every repeat of the other.

        It asks for more than two standard errors, which few repeats of SMC know badly: one of
        them can be most of their mean.
        """
        first, second = (self.ends(graph, method, a) for graph in graphs)
        apart: NDArray[np.bool_] = (first[0] > second[1]) | (second[0] > first[1])
        return apart

    def is_below_bound(self, graph: str, method: str, a: float) -> NDArray[np.bool_]:
        """(R,), whether a score is below VB's bound, so that it is below the truth for certain.

        The log of an unbiased estimate is mostly too low where runs differ by many nats.
        """
        level, bound = (self.log_marginal(graph, each, a) for each in (method, "vb"))
        below: NDArray[np.bool_] = level < bound - ROUNDING
        return below

    def _estimates(self, graph: str, method: str, a: float) -> list[MarginalEstimate]:
        return [self.scores[RankCell(graph, method, a, rank)].estimate for rank in self.ranks]
