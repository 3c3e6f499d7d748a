"""Cemgil et al. 2019, Figure 10 (right): how long SMC and VB take on larger tensors.

All have the same number of tokens, drawn from CP (PARAFAC), so that most cells of a large tensor
are empty. SMC looks at tokens; a VB that looks at all cells, as the paper's does, is the slower the
larger the tensor. This one looks at the cells that are not empty, and at table rows that occur.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.allocation.particles import by_particles
from evaluation.allocation.simulate import draw
from models.allocation.mean_field.coordinate_ascent import MeanField, best_of_starts
from models.allocation.model import AllocationModel
from pipeline.reproduce.cemgil2019.scores import cell_seed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from models.allocation.cell_counts import CellCounts

Floats = NDArray[np.float64]

METHODS = ("smc", "vb")
DRAWING = 2
"""What a random number is for."""


class Cell(NamedTuple):
    """One method on one tensor of a size."""

    size: int
    tensor: int
    method: str

    @property
    def name(self) -> str:
        """Of a file that it is kept in."""
        return f"cost-{self.size}-{self.tensor}-{self.method}"


class Cost(NamedTuple):
    """What a run took, and why."""

    seconds: float
    n_cells: int
    """Cells that are not empty."""
    n_epochs: int
    """Passes over the data: 1 of SMC, of VB until its bound stood still."""


@dataclass(frozen=True)
class CostSettings:
    """The protocol; the defaults are the paper's where it says, but for the last two sizes.

    Raises
    ------
    ValueError
        If a number is too small to make sense.
    """

    sizes: tuple[int, ...] = (4, 8, 16, 32, 64, 128, 256)
    """Of each of the three axes; the paper's go up to 64."""
    n_tokens: int = 1000
    rank: int = 5
    a: float = 30.0
    n_tensors: int = 10
    n_particles: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in {"n_tokens": 1, "rank": 1, "n_tensors": 1, "n_particles": 2}.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, found {getattr(self, name)}")
        if not self.sizes or min(self.sizes) < 1:
            raise ValueError(f"sizes must be positive, found {self.sizes}")

    @property
    def cells(self) -> list[Cell]:
        """All that is to be measured: all sizes of a tensor's number, then those of the next."""
        return [
            Cell(size, tensor, method)
            for tensor in range(self.n_tensors)
            for size in self.sizes
            for method in METHODS
        ]

    def model(self, size: int) -> AllocationModel:
        """CP of a cube, with b = a / S₊."""
        return AllocationModel.cp((size, size, size), self.rank, self.a)


def measured(cell: Cell, settings: CostSettings) -> Cost:
    """Draw the tensor and run a method on it once, on one core; VB until it converges."""
    model = settings.model(cell.size)
    rng = np.random.default_rng([settings.seed, DRAWING, cell.size, cell.tensor])
    X, _ = draw(model, settings.n_tokens, rng)
    seed = cell_seed(settings.seed, cell.name)
    run: Callable[[], int] = {
        "smc": lambda: _smc(model, X, settings.n_particles, seed),
        "vb": lambda: _vb(model, X, seed),
    }[cell.method]
    started = time.perf_counter()
    n_epochs = run()
    return Cost(time.perf_counter() - started, len(X.counts), n_epochs)


def warm_up(settings: CostSettings) -> None:
    """Have kernels compiled, so that no cell's seconds are those of the compiler."""
    X, _ = draw(settings.model(2), 3, np.random.default_rng(0))
    _smc(settings.model(2), X, 2, 0)
    _vb(settings.model(2), X, 0)


def _smc(model: AllocationModel, X: CellCounts, n_particles: int, seed: int) -> int:
    by_particles(model, X, "smc", n_particles=n_particles, n_repeats=1, seed=seed)
    return 1


def _vb(model: AllocationModel, X: CellCounts, seed: int) -> int:
    return len(best_of_starts(MeanField.of(model, X, "vb"), n_starts=1, seed=seed).path)


@dataclass(frozen=True, eq=False)
class CostCurves:
    """N sizes, D tensors of each."""

    settings: CostSettings
    seconds: Mapping[str, Floats]
    """Of each method, (N, D)."""
    n_epochs: Floats
    """(N, D), of VB."""
    n_cells: Floats
    """(N, D), not empty."""

    def median_seconds(self, method: str) -> Floats:
        """(N,) over tensors."""
        median: Floats = np.median(self.seconds[method], axis=1)
        return median

    @property
    def median_epoch_seconds(self) -> Floats:
        """(N,), of one pass of VB, the time before the first included."""
        median: Floats = np.median(self.seconds["vb"] / self.n_epochs, axis=1)
        return median


def cost_curves(settings: CostSettings, costs: Mapping[Cell, Cost]) -> CostCurves:
    """The arrays of all `costs`, which must be those of the settings' cells.

    Raises
    ------
    ValueError
        If they are others.
    """
    if set(costs) != set(settings.cells):
        raise ValueError("the cells are not those of the settings")
    shape = len(settings.sizes), settings.n_tensors
    seconds = {method: np.empty(shape) for method in METHODS}
    n_epochs, n_cells = np.empty(shape), np.empty(shape)
    for cell, cost in costs.items():
        at = settings.sizes.index(cell.size), cell.tensor
        seconds[cell.method][at] = cost.seconds
        n_cells[at] = cost.n_cells
        if cell.method == "vb":
            n_epochs[at] = cost.n_epochs
    return CostCurves(settings, seconds, n_epochs, n_cells)
