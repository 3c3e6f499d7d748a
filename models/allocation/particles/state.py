"""Particles: allocations of the processed tokens, stored as counts of the tables.

The counts of a row of a table lie side by side for all particles, (row, particle, column), so a
token reads and writes a few stretches of memory, whatever the size of the tables is.
"""

from typing import NamedTuple

import numpy as np

from models.allocation.cliques import TableMemoryError
from models.allocation.inference_plan import InferencePlan
from models.allocation.particles.genealogy import n_nodes
from models.arrays import Bools, Floats, Ints, Ints32

BYTES_A_TOKEN = 50  # Bytes for each token's place and records
MIN_EVENTS = 128  # Minimum number of resamplings in the tree of ancestors


class Particles(NamedTuple):
    """All that continues from token to token, and scratch."""

    counts: Ints32
    """Counts of row ρ, particle p and column h, at row_at[ρ] + p·n_columns + h.
    After the rows of tables there may be one for each token: what its cliques drew."""
    row_at: Ints  # (n_rows,)
    row_columns: Ints  # (n_rows,)
    stamp: Ints  # (n_rows,), resamplings before the row was last written; -1 if it never was: all 0
    weights: Floats  # (P,), with mean 1
    increment: Floats  # (P,), factor of the weights by a token
    tree: Ints32  # (nodes, P), see `models.allocation.particles.genealogy`
    founder: Ints32  # (P,), the initial particle that each descends from
    clock: Ints  # (2,), tokens processed, and resamplings since the tree was restarted
    products: Floats
    """(P · scratch_size,), products and messages of cliques: combination c of clique q and particle
    p at product_at[q]·P + p·n_values + c."""
    gathered: Ints32
    """(n_factors + 1, P · most columns), a token's current rows; the last has what its cliques
    drew."""
    ancestor: Ints32  # (P,), of the last resampling
    found: Ints32  # (P,); this and the next four are scratch
    children: Ints32
    spare: Floats
    spare_products: Floats  # (P · combinations of the largest clique,)


class Record(NamedTuple):
    """Records of each token."""

    log_increment: Floats  # (T,), log of the mean of the weights that the token gave
    effective_sample_size: Floats  # (T,), before resampling
    n_ancestors: Ints  # (T,), founders with a descendant; 0 where it was not counted
    count_ancestors: Bools  # (T,), where to count them


def n_events_of(plan: InferencePlan, *, keep_history: bool) -> int:
    """Resamplings that the tree of ancestors holds: a power of two.
    An update of all rows costs as much as a token for each row: rare, with twice as many
    resamplings.
    """
    n_tokens = max(plan.observed.n_tokens, 1)
    n_rows = int(plan.row_start[-1]) + (n_tokens // 16 if keep_history else 0)
    wanted = min(max(MIN_EVENTS, 2 * n_rows), n_tokens)
    return 1 << (wanted - 1).bit_length()


def n_bytes(plan: InferencePlan, n_particles: int, *, keep_history: bool = False) -> int:
    """Memory that the particles of one run take."""
    widest = max([plan.max_cliques, *(table.n_columns for table in plan.dynamic)])
    events = n_events_of(plan, keep_history=keep_history)
    numbers = 4 * (plan.n_state + n_nodes(events) + widest * (plan.n_factors + 1) + 4)
    numbers += 8 * (2 * plan.scratch_size + 3)
    if keep_history:
        numbers += 4 * plan.observed.n_tokens * plan.max_cliques
    return n_particles * numbers + BYTES_A_TOKEN * plan.observed.n_tokens


def check_memory(
    plan: InferencePlan,
    n_particles: int,
    n_runs: int,
    max_memory: int,
    *,
    keep_history: bool = False,
) -> None:
    """Raise TableMemoryError if `n_runs` at the same time take more than `max_memory` bytes."""
    needed = n_runs * n_bytes(plan, n_particles, keep_history=keep_history)
    if needed > max_memory:
        raise TableMemoryError(
            f"{n_particles:,} particles with {plan.n_state:,} counts each need "
            f"{needed / 2**20:,.0f} MiB"
            + (f" in {n_runs} threads" if n_runs > 1 else "")
            + f", more than max_memory, {max_memory / 2**20:,.0f} MiB: take fewer particles or "
            "threads, a lower rank, or more memory"
        )


def new_particles(
    plan: InferencePlan, n_particles: int, *, keep_history: bool = False
) -> Particles:
    """Particles that have taken in nothing; with a row for each token if history is kept."""
    columns = np.concatenate(
        [np.full(table.n_rows, table.n_columns) for table in plan.dynamic]
        + [np.full(plan.observed.n_tokens if keep_history else 0, plan.max_cliques)]
    ).astype(np.int64)
    row_at = n_particles * np.concatenate([[0], np.cumsum(columns)]).astype(np.int64)
    n_combinations = plan.arrays.n_separator * plan.arrays.n_rest
    events = n_events_of(plan, keep_history=keep_history)
    widest = max([plan.max_cliques, *(table.n_columns for table in plan.dynamic)])
    return Particles(
        counts=np.zeros(row_at[-1], dtype=np.int32),
        row_at=row_at[:-1],
        row_columns=columns,
        stamp=np.full(len(columns), -1, dtype=np.int64),
        weights=np.ones(n_particles),
        increment=np.ones(n_particles),
        tree=np.zeros((n_nodes(events), n_particles), dtype=np.int32),
        founder=np.arange(n_particles, dtype=np.int32),
        clock=np.zeros(2, dtype=np.int64),
        products=np.zeros(n_particles * plan.scratch_size),
        gathered=np.zeros((plan.n_factors + 1, n_particles * widest), dtype=np.int32),
        ancestor=np.arange(n_particles, dtype=np.int32),
        found=np.zeros(n_particles, dtype=np.int32),
        children=np.zeros(n_particles, dtype=np.int32),
        spare=np.zeros(n_particles),
        spare_products=np.zeros(n_particles * int(n_combinations.max(initial=1))),
    )
