"""Cemgil et al. 2019, Figure 10 (left): the rank of a tensor, found again.

Tensors of few tokens are drawn from CP (PARAFAC) of known rank, tables from their priors first, and
scored by SMC, with and without moves, and VB under CP of all ranks. The paper shows one tensor;
here there are several.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.allocation.simulate import draw
from models.allocation.model import AllocationModel
from pipeline.reproduce.cemgil2019 import scores as bam_scores
from pipeline.reproduce.cemgil2019.scores import WITH_MOVES, Effort, cell_seed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evaluation.allocation.marginal_estimate import MarginalEstimate, TimedMarginal
    from models.allocation.cell_counts import CellCounts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

METHODS = ("smc", WITH_MOVES, "vb")
BY_PARTICLES = ("smc", WITH_MOVES)
DRAWING = 0
"""What a random number is for."""


class Cell(NamedTuple):
    """One method on one tensor at one rank."""

    tensor: int
    rank: int
    method: str

    @property
    def name(self) -> str:
        """Of a file that it is kept in."""
        return f"rank-{self.tensor}-{self.rank}-{self.method}"


@dataclass(frozen=True)
class RankSettings:
    """The protocol; the defaults are the paper's where it says.

    Raises
    ------
    ValueError
        If a number is too small to make sense.
    """

    shape: tuple[int, ...] = (20, 25, 30)
    true_rank: int = 5
    n_tokens: int = 500
    a: float = 30.0
    ranks: tuple[int, ...] = tuple(range(1, 16))
    n_tensors: int = 5
    """Drawn anew; the paper shows one."""
    effort: Effort = field(default_factory=lambda: Effort(n_starts=10))
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in {"true_rank": 1, "n_tokens": 1, "n_tensors": 1}.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, found {getattr(self, name)}")
        if self.true_rank not in self.ranks or min(self.ranks) < 1:
            raise ValueError(f"ranks must be positive, {self.true_rank} among them: {self.ranks}")

    @property
    def cells(self) -> list[Cell]:
        """All that is to be computed, a tensor after the other."""
        return [
            Cell(tensor, rank, method)
            for tensor in range(self.n_tensors)
            for rank in self.ranks
            for method in METHODS
        ]

    def model(self, rank: int) -> AllocationModel:
        """CP with b = a / S₊."""
        return AllocationModel.cp(self.shape, rank, self.a)


def drawn_tensor(settings: RankSettings, tensor: int) -> CellCounts:
    """The tensor of a number, from 0; it does not depend on how many there are."""
    rng = np.random.default_rng([settings.seed, DRAWING, tensor])
    return draw(settings.model(settings.true_rank), settings.n_tokens, rng)[0]


def estimate(
    cell: Cell, X: CellCounts, settings: RankSettings, n_jobs: int | None = None
) -> MarginalEstimate:
    """Run a method; its random numbers are the cell's own."""
    model, seed = settings.model(cell.rank), cell_seed(settings.seed, cell.name)
    return bam_scores.estimate(model, X, cell.method, settings.effort, seed, n_jobs)


@dataclass(frozen=True, eq=False)
class RankCurves:
    """D tensors, R ranks; log marginal likelihoods in nats."""

    settings: RankSettings
    log_marginal: Mapping[str, Floats]
    """Of each method, (D, R); of VB bounds."""
    standard_error: Mapping[str, Floats]
    """Of each kind of SMC, (D, R); near 1 where one run outweighs the others, and says nothing."""
    repeats: Mapping[str, Floats]
    """Of each kind of SMC, (D, R, N), of N runs, of whose mean `log_marginal` is the log."""

    def found_rank(self, method: str) -> Ints:
        """(D,), the rank of the highest score."""
        found: Ints = np.array(self.settings.ranks)[self.log_marginal[method].argmax(axis=1)]
        return found

    def above_truth(self, method: str) -> Floats:
        """(D,), the highest score less that of the true rank; 0 where they are the same."""
        scores = self.log_marginal[method]
        above: Floats = scores.max(axis=1) - scores[:, self._true]
        return above

    def is_told_apart(self, method: str) -> NDArray[np.bool_]:
        """(D,), whether SMC has another rank above the true one, every run above every run."""
        best, repeats = self.log_marginal[method].argmax(axis=1), self.repeats[method]
        lowest = repeats[np.arange(len(best)), best].min(axis=1)
        apart: NDArray[np.bool_] = (lowest > repeats[:, self._true].max(axis=1)) & (
            best != self._true
        )
        return apart

    def spread(self, method: str) -> Floats:
        """(D,), nats between the highest and the lowest run of SMC at the true rank."""
        width: Floats = np.ptp(self.repeats[method][:, self._true], axis=1)
        return width

    @property
    def _true(self) -> int:
        return self.settings.ranks.index(self.settings.true_rank)

    def gap(self, method: str) -> Floats:
        """(D, R), how far VB's bound is below SMC's estimate."""
        difference: Floats = self.log_marginal[method] - self.log_marginal["vb"]
        return difference


def rank_curves(settings: RankSettings, scores: Mapping[Cell, TimedMarginal]) -> RankCurves:
    """The arrays of all `scores`, which must be those of the settings' cells.

    Raises
    ------
    ValueError
        If they are others.
    """
    if set(scores) != set(settings.cells):
        raise ValueError("the cells are not those of the settings")
    shape = settings.n_tensors, len(settings.ranks)
    marginal = {method: np.empty(shape) for method in METHODS}
    error = {method: np.empty(shape) for method in BY_PARTICLES}
    repeats = {method: np.empty((*shape, settings.effort.n_repeats)) for method in BY_PARTICLES}
    for cell, score in scores.items():
        at = cell.tensor, settings.ranks.index(cell.rank)
        marginal[cell.method][at] = score.estimate.log_marginal
        if cell.method in BY_PARTICLES:
            error[cell.method][at] = score.estimate.standard_error
            repeats[cell.method][at] = score.estimate.repeats
    return RankCurves(settings, marginal, error, repeats)
