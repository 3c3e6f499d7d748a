"""Effort of the experiments on allocation models, by scale and settings."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from pipeline.errors import UsageError
from pipeline.reproduce.cemgil2019.scores import NAMES, WITH_MOVES, Effort

if TYPE_CHECKING:
    from pipeline.reproduce.settings import ReproduceSettings

NO_MOVES = ("bam-toy",)
"""Experiments with so few counts that moves gain nothing."""


def effort_of(
    settings: ReproduceSettings, experiment: str, full: Effort, quick: dict[str, int]
) -> Effort:
    """Return the effort of an estimate: `full`, less at the scale quick, or as asked for.

    --particles are those of SMC as published, of which SMC with moves has a tenth; --repeats are
    runs of each; --moves are of SMC with moves.

    Raises
    ------
    UsageError
        If moves are asked for where there are none, or none where there are.
    """
    if settings.moves is not None:
        if experiment in NO_MOVES:
            raise UsageError(f"{experiment} has no runs with moves: leave --moves out")
        if settings.moves < 1:
            raise UsageError("--moves must be at least 1: SMC without moves is scored as well")
    asked = {
        "n_particles": settings.particles,
        "n_repeats": settings.repeats,
        "n_moves": settings.moves,
    }
    effort = replace(full, **quick) if settings.scale == "quick" else full
    return replace(effort, **{name: n for name, n in asked.items() if n is not None})


def as_json(effort: Effort) -> dict[str, Any]:
    """Return the effort by its names in results."""
    return {name.removeprefix("n_"): n for name, n in asdict(effort).items()} | {
        "particles_with_moves": effort.n_particles_with_moves
    }


def in_words(result: Any) -> str:
    """Return a sentence on the effort of a result."""
    return (
        f"SMC: {result['particles']:,} particles; {NAMES[WITH_MOVES]}: "
        f"{result['particles_with_moves']:,} particles, {result['moves']} tokens resampled after "
        f"each; the log of the mean of {result['repeats']} runs. VB: a lower bound, the best of "
        f"{result['starts']} starts."
    )
