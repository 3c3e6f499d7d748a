"""Runs of particles over all tokens, and the estimates of the marginal likelihood they make.

The product over tokens of the mean weight is an unbiased estimate of the probability of the tokens
in their order, however it is decided when to resample: given all that came before, resampling
leaves the expected weight of what may follow as it was.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.allocation.inference_plan import InferencePlan
from models.allocation.particles.resampling import SCHEMES
from models.allocation.particles.state import Particles, Record, new_particles
from models.allocation.particles.token_kernel import take_tokens
from models.arrays import Ints, Ints32
from models.checks import check_whole

RESAMPLE_BELOW = {"sis": 0.0, "smc": 1.0, "smc-adaptive": 0.5}
"""Share of effective particles below which each method resamples."""
TOKENS_A_CALL = 500  # Tokens between two reports of progress, and between checks for an interrupt
ORDERS = ("random", "sorted")
N_TIMES = 200  # Maximum number of tokens after which ancestors are counted
MAX_MEMORY = 4 * 2**30  # Bytes that particles of all runs at the same time may take


@dataclass(frozen=True, eq=False)
class ParticleRun:
    """One run over all tokens."""

    log_probability: float
    """Log of the unbiased estimate of the probability of the tokens in order, of the tables with
    hidden indices; minus infinity where a token was impossible for every particle."""
    particles: Particles
    record: Record
    order: Ints32  # (T,), cell of each token, in the order of processing


def run_particles(
    plan: InferencePlan,
    n_particles: int,
    rng: np.random.Generator,
    *,
    resample_below: float = 1.0,
    resampling: str = "systematic",
    order: str = "random",
    n_moves: int = 0,
    keep_history: bool = False,
    on_progress: Callable[[int], object] = lambda n_tokens: None,  # noqa: ARG005
) -> ParticleRun:
    """Process all tokens.

    Particles are resampled where fewer than the share `resample_below` are effective; 1 is always,
    0 never. The order "sorted" has the tokens of a cell together and cells in lexicographic order:
    with few tokens, shared counts are known early and the variance is far lower. After each token
    `n_moves` processed ones, chosen at random, are rejuvenated. `keep_history` is for samples of
    allocations and for moves. `on_progress` is given the tokens processed since its last call.
    """
    cells = np.arange(len(plan.observed.counts), dtype=np.int32)
    cell_of_token = np.repeat(cells, plan.observed.counts)
    if order == "random":
        cell_of_token = rng.permutation(cell_of_token)
    n_tokens = len(cell_of_token)
    particles = new_particles(plan, n_particles, keep_history=keep_history or n_moves > 0)
    record = Record(
        log_increment=np.zeros(n_tokens),
        effective_sample_size=np.zeros(n_tokens),
        n_ancestors=np.zeros(n_tokens, dtype=np.int64),
        count_ancestors=np.zeros(n_tokens, dtype=np.bool_),
    )
    record.count_ancestors[times_of(n_tokens) - 1] = True
    if plan.n_factors:
        for start in range(0, n_tokens, TOKENS_A_CALL):
            n = min(TOKENS_A_CALL, n_tokens - start)
            take_tokens(
                plan.arrays,
                particles,
                record,
                cell_of_token,
                n,
                resample_below,
                SCHEMES[resampling],
                n_moves,
                rng,
            )
            on_progress(n)
            if particles.clock[0] and not np.isfinite(record.log_increment[particles.clock[0] - 1]):
                return ParticleRun(float("-inf"), particles, record, cell_of_token)
    else:
        record.effective_sample_size[:] = n_particles
        record.n_ancestors[record.count_ancestors] = n_particles
    return ParticleRun(float(record.log_increment.sum()), particles, record, cell_of_token)


def times_of(n_tokens: int) -> Ints:
    """After which numbers of tokens ancestors are counted, the last one included."""
    return np.unique(np.linspace(1, n_tokens, min(N_TIMES, n_tokens)).astype(np.int64))


def check_particle_settings(
    n_particles: Any, n_moves: Any, resampling: str = "systematic", order: str = "random"
) -> None:
    """Raise ValueError or TypeError, naming the setting of a run, if one is out of its range."""
    if resampling not in SCHEMES:
        raise ValueError(f"resampling must be one of {tuple(SCHEMES)}, found {resampling!r}")
    if order not in ORDERS:
        raise ValueError(f"order must be one of {ORDERS}, found {order!r}")
    check_whole("n_particles", n_particles, 1)
    check_whole("n_moves", n_moves, 0)
