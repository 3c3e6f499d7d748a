"""Scores of allocation models by exact enumeration, SMC and VB, and their budgets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from evaluation.allocation.log_marginal import log_marginal
from evaluation.allocation.particles import by_particles
from models.allocation.cell_counts import CellCounts
from models.allocation.model import AllocationModel
from pipeline.errors import UsageError
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.reproduce.tables import text
from pipeline.reproduce.trials import scaled, trial_seed

B = TypeVar("B", bound="Budget")
WITH_MOVES, SORTED = "smc-moves", "smc-sorted"
NAMES = {
    "exact": "exact",
    "smc": "SMC",
    WITH_MOVES: "SMC with moves",
    SORTED: "SMC, sorted order",
    "vb": "VB",
}
"""Names of methods. "smc" is as published: it always resamples, and the token order is random."""
SCORING = ("smc", WITH_MOVES, "vb")
"""Methods that score every model."""
BY_PARTICLES = SCORING[:2]
ROUNDING = 1e-6
"""Nats below VB's bound that count as rounding."""
FEWER = 10
"""Ratio of the particles of SMC to those of SMC with moves, each of which takes longer."""


@dataclass(frozen=True)
class Budget:
    """Cost of one estimate; the paper does not say how many runs it made."""

    n_particles: int = 1000
    """Particles of SMC as published."""
    n_repeats: int = 10
    """Independent runs of each kind of SMC."""
    n_starts: int = 100
    """Starts of VB, of which the best counts."""
    n_moves: int = 99
    """Tokens that are resampled after each token, in SMC with moves."""
    seed: int = 0

    @property
    def n_particles_with_moves(self) -> int:
        """Particles of SMC with moves."""
        return max(2, self.n_particles // FEWER)

    def as_json(self) -> dict[str, Any]:
        """Return the budget as results have it."""
        names = ("particles", "repeats", "starts", "moves", "particles_with_moves")
        return {name: getattr(self, f"n_{name}") for name in names}


def budget_of(
    full: B, settings: ReproduceSettings, quick: Mapping[str, Any], *, has_moves: bool = True
) -> B:
    """Return `full` with the values of the scale and of --particles, --repeats and --moves.

    Raises UsageError for --moves of an experiment without them, and for --moves 0.
    """
    if settings.moves is not None:
        if not has_moves:
            raise UsageError("bam-toy has no runs with moves: leave --moves out")
        if settings.moves < 1:
            raise UsageError("--moves must be at least 1: SMC without moves is scored as well")
    asked = {f"n_{name}": getattr(settings, name) for name in ("particles", "repeats", "moves")}
    return scaled(full, settings, quick, **asked)


def in_words(result: Any) -> str:
    """Return a sentence on the budget of a result."""
    return (
        f"SMC: {result['particles']:,} particles; {NAMES[WITH_MOVES]}: "
        f"{result['particles_with_moves']:,} particles, {result['moves']} tokens resampled after "
        f"each; the log of the mean of {result['repeats']} runs. VB: a lower bound, the best of "
        f"{result['starts']} starts."
    )


def highest(rows: Any, method: str) -> Any:
    """Return the row in which a method has its highest score."""
    return max(rows, key=lambda row: row[method])


def with_range(log_marginal: Any, lowest: Any, highest: Any) -> str:
    """Return a log marginal as text, with the lowest and the highest run in brackets."""
    return f"{text(log_marginal, '.2f')} ({text(lowest, '.1f')} to {text(highest, '.1f')})"


def score(
    model: AllocationModel, X: Any, method: str, budget: Budget, key: Any, n_jobs: int | None = None
) -> dict[str, Any]:
    """Return the arrays of the log marginal of X by one of the methods of `NAMES`.

    The `key` of the trial seeds its random numbers. Runs that disagree are not logged.
    """
    seed = trial_seed(budget.seed, *key)
    if method in ("exact", "vb"):
        starts = budget.n_starts
        found = log_marginal(model, X, method, n_repeats=starts, random_state=seed, n_jobs=n_jobs)
        return found.to_arrays()
    has_moves = method == WITH_MOVES
    return by_particles(
        model,
        CellCounts.of(X, model),
        "smc",
        n_particles=budget.n_particles_with_moves if has_moves else budget.n_particles,
        n_repeats=budget.n_repeats,
        n_moves=budget.n_moves if has_moves else 0,
        order="sorted" if method == SORTED else "random",
        seed=seed,
        n_jobs=n_jobs,
    ).to_arrays()
