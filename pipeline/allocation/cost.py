"""Rough running time of `allocate`, so that a long run is announced.

Particles take a step for each token and each move after it; mean field takes epochs. Both go over
the joint values of the hidden indices of a token or of a cell.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from models.allocation.inference_plan import plan_of
from models.parallel import effective_n_jobs
from pipeline.allocation.candidates import BY_PARTICLES, Candidate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.allocation.count_table import CountTable
    from pipeline.settings import AllocateSettings

logger = logging.getLogger(__name__)

LONG = 600.0
"""Seconds from which a run is announced as long."""
A_STEP, A_CELL, A_PRODUCT = 1e-7, 5e-7, 1e-8
"""Seconds of one core for a particle's step, a cell in an epoch, and a product in either."""
EPOCHS_OF_A_START, EPOCHS_TO_THE_END = 120, 300
"""Typical numbers of epochs for tables of documents."""


def warn_of_long_work(
    candidates: Sequence[Candidate], table: CountTable, settings: AllocateSettings
) -> None:
    """Log the expected time, if it is more than ten minutes."""
    seconds = sum(expected_seconds(each, table, settings) for each in candidates)
    if seconds > LONG:
        or_other = "" if settings.method == "vb" else ", --moves, or --method vb"
        logger.warning(
            "scoring %d models will take about %s; fewer --ranks or --repeats%s would be quicker; "
            "interrupted, the same command goes on after the last finished model",
            len(candidates),
            _about(seconds),
            or_other,
        )


def expected_seconds(candidate: Candidate, table: CountTable, settings: AllocateSettings) -> float:
    """Seconds for one score, within a factor of about three; 0 for exact ones."""
    n_threads = min(effective_n_jobs(settings.threads), settings.repeats)
    n_products = plan_of(candidate.model, table.counts).scratch_size
    if settings.method in BY_PARTICLES:
        steps = table.counts.n_tokens * (1.0 + settings.moves) * settings.particles
        return steps * settings.repeats * (A_STEP + A_PRODUCT * n_products) / n_threads
    if settings.method == "vb":
        epochs = EPOCHS_OF_A_START * settings.repeats + EPOCHS_TO_THE_END
        n_cells = len(table.counts.counts)
        return epochs * n_cells * (A_CELL + A_PRODUCT * n_products) / n_threads
    return 0.0


def _about(seconds: float) -> str:
    hours = seconds / 3600
    if hours >= 48:
        return f"{hours / 24:,.0f} days"
    return f"{hours:.0f} hours" if hours >= 2 else f"{seconds / 60:.0f} minutes"
