"""The marginal likelihood by particles: repeated runs, and the spread between them."""

from collections.abc import Callable

import numpy as np

from evaluation.allocation.marginal_estimate import MarginalEstimate, ParticlePath
from models.allocation.cell_counts import CellCounts
from models.allocation.cliques import TableMemoryError
from models.allocation.inference_plan import plan_of
from models.allocation.model import AllocationModel
from models.allocation.particles.runs import MAX_MEMORY, RESAMPLE_BELOW, run_particles, times_of
from models.allocation.particles.state import check_memory
from models.allocation.sequence import log_of_counts
from models.parallel import effective_n_jobs, for_blocks


def by_particles(
    model: AllocationModel,
    observed: CellCounts,
    method: str,
    *,
    n_particles: int,
    n_repeats: int,
    resampling: str = "systematic",
    n_moves: int = 0,
    order: str = "random",
    max_memory: int = MAX_MEMORY,
    seed: int = 0,
    n_jobs: int | None = None,
    on_progress: Callable[[int], object] = lambda n_tokens: None,  # noqa: ARG005
) -> MarginalEstimate:
    """Estimate by "sis", "smc" or "smc-adaptive" (Cemgil et al. 2019, algorithms 1 and 3).

    `on_progress` is called with the tokens processed since its last call, by any run. Raises
    TableMemoryError if the particles take more than `max_memory` bytes.
    """
    plan = plan_of(model, observed)
    n_threads = min(effective_n_jobs(n_jobs), n_repeats)
    check_memory(plan, n_particles, n_threads, max_memory, keep_history=n_moves > 0)
    times = times_of(observed.n_tokens)
    if 16 * n_repeats * len(times) > max_memory:
        raise TableMemoryError(f"n_repeats = {n_repeats:,} is more than there is memory for")
    repeats = np.zeros(n_repeats)
    effective = np.zeros((n_repeats, len(times)))
    n_ancestors = np.zeros((n_repeats, len(times)), dtype=np.int64)

    def work(start: int, stop: int) -> None:
        for repeat in range(start, stop):
            run = run_particles(
                plan,
                n_particles,
                np.random.default_rng([seed, repeat]),
                resample_below=RESAMPLE_BELOW[method],
                resampling=resampling,
                n_moves=n_moves,
                order=order,
                on_progress=on_progress,
            )
            repeats[repeat] = run.log_probability
            effective[repeat] = run.record.effective_sample_size[times - 1]
            n_ancestors[repeat] = run.record.n_ancestors[times - 1]

    for_blocks(work, n_repeats, 1, n_threads)
    return MarginalEstimate.of_repeats(
        log_of_counts(model, observed) + repeats,
        method,
        observed.n_tokens,
        n_particles,
        ParticlePath(times, effective, n_ancestors),
    )
