"""Cemgil et al. 2019, Figure 15: whether letter pairs are better explained by tied factors.

A small sample of pairs is drawn from a table of many; NMF (a letter has one profile as the first of
a pair and another as the second) is scored against symmetric NMF (one profile), rank by rank.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from models.allocation.model import AllocationModel
from pipeline.reproduce.cemgil2019.rank_scores import RankCell, RankCurves, estimate, planned
from pipeline.reproduce.cemgil2019.scores import Effort

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from evaluation.allocation.marginal_estimate import MarginalEstimate

Ints = NDArray[np.int64]

NMF, SYMMETRIC = "NMF", "symmetric NMF"
GRAPHS = (NMF, SYMMETRIC)


@dataclass(frozen=True)
class LettersSettings:
    """The protocol; the defaults are the paper's, which does not say how many runs it made.

    Raises
    ------
    ValueError
        If a number is too small to make sense.
    """

    n_tokens: int = 2000
    strengths: tuple[float, ...] = (1.0, 0.001)
    """Values of a."""
    ranks: tuple[int, ...] = tuple(range(1, 51))
    effort: Effort = field(default_factory=Effort)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.n_tokens < 1:
            raise ValueError(f"n_tokens must be at least 1, found {self.n_tokens}")
        if not self.ranks or min(self.ranks) < 1:
            raise ValueError(f"ranks must be whole numbers from 1 on, found {self.ranks}")
        if not self.strengths or min(self.strengths) <= 0:
            raise ValueError(f"strengths must be positive, found {self.strengths}")

    @property
    def cells(self) -> list[RankCell]:
        """All that is scored."""
        return planned(GRAPHS, self.strengths, self.ranks)


def draw_pairs(pairs: ArrayLike, n_tokens: int, seed: int) -> Ints:
    """(I, I), `n_tokens` drawn from a table of counts (I, I): multinomial.

    Raises
    ------
    ValueError
        If the table is not square, or has a negative number, or nothing but zeros.
    """
    table = np.asarray(pairs, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise ValueError(f"pairs must be a square table, found {table.shape}")
    if not np.isfinite(table).all() or (table < 0).any() or not table.any():
        raise ValueError("pairs must be finite counts, none negative, not all zero")
    rng = np.random.default_rng(seed)
    share = (table / table.sum()).ravel()
    return rng.multinomial(n_tokens, share / share.sum()).reshape(table.shape).astype(np.int64)


def asymmetry(pairs: ArrayLike) -> float:
    """Σ |X_ij − X_ji| / Σ (X_ij + X_ji): 0 of a symmetric table, 1 if no pair occurs both ways."""
    table = np.asarray(pairs, dtype=np.float64)
    return float(np.abs(table - table.T).sum() / (2 * table.sum()))


def model_of(cell: RankCell, n_letters: int) -> AllocationModel:
    """The model that a cell scores."""
    if cell.graph == NMF:
        return AllocationModel.nmf(n_letters, n_letters, cell.rank, a=cell.a)
    return AllocationModel.symmetric_nmf(n_letters, cell.rank, a=cell.a)


def score(
    X: Ints, cell: RankCell, settings: LettersSettings, n_jobs: int | None = None
) -> MarginalEstimate:
    """The estimate of one cell."""
    return estimate(model_of(cell, len(X)), X, cell, settings.effort, settings.seed, n_jobs)


@dataclass(frozen=True, eq=False)
class Letters:
    """All scores of one sample."""

    source: str
    """Where the pairs are from."""
    pairs: Ints
    """(26, 26), the table that the sample was drawn from."""
    settings: LettersSettings
    X: Ints
    """(26, 26), the sample."""
    curves: RankCurves
