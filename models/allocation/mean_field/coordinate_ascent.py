"""Variational Bayes, EM, dual-EM and ICM for allocation models (Cemgil et al. 2019, section 4.3).

All repeat two steps. Given numbers log θ for all tables, the tokens of each cell are allocated to
hidden values, whose probabilities are Φ ∝ ∏ θ; given the allocation S, the tables are recomputed.
They differ in S and log θ, and so in the objective, which no step makes worse:

    method    S           log θ                        objective
    vb        E S         E log θ = ψ(α + S) - ψ(Σ)    ELBO, at most log p(X)
    em        E S         log of the mode θ*           log p(X, θ*)
    dual-em   the mode    E log θ                      log π(S), θ integrated out (eq. 3.11)
    icm       the mode    log of the mode θ*           log p(S, θ*)

θ* = (α + S) / Σ(α + S) is the mode in the softmax basis, in which a Dirichlet's density is ∏ θ^α /
B(α) and has a mode for α < 1 too (MacKay 1998); "em" and "icm" have log p(θ) in that basis. λ is
integrated out in all of them: it depends on the number of tokens alone, which is observed.

Tables cancel as in `models.allocation.tables`, and rows of tables that do not occur in the data
have no numbers. In mean field, unlike in the urn, tokens are independent, so that two uses of a
tied table by a token are two counts like any others.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
from scipy.special import gammaln

from models.allocation.cell_counts import CellCounts
from models.allocation.cliques import TableMemoryError
from models.allocation.inference_plan import InferencePlan, plan_of
from models.allocation.joint_values import JointValues
from models.allocation.mean_field.belief_propagation import Cliques, Reading, expect
from models.allocation.mean_field.layout import (
    cliques_of,
    log_of_counts_and_modes,
    reading_of,
    rows_of,
)
from models.allocation.mean_field.modes import modes
from models.allocation.mean_field.start import random_log_factors
from models.allocation.mean_field.table_logs import Rows, mean_logs, mode_logs
from models.allocation.model import AllocationModel
from models.allocation.sequence import log_of_counts
from models.arrays import Floats, Ints
from models.parallel import effective_n_jobs, for_blocks

MEAN_FIELD_METHODS = ("vb", "em", "dual-em", "icm")
N_EPOCHS = 1000
TOLERANCE = 1e-8
FIRST_TOLERANCE = 1e-6
"""Relative gain of an epoch at which starts are interrupted; only the best continue. Most epochs
come at the end of an ascent, which gains less than starts differ."""
N_FINISHED = 4  # Starts that are run to the end
MAX_MEMORY = 2 * 2**30  # Bytes that starts in progress at the same time may take
MIN_BLOCK = 512  # Minimum number of cells in a block
MAX_BLOCKS = 16  # Maximum number of blocks, whose expected counts are added in order
SCRATCH = 2**13  # Products and messages of cliques at a time, so that they stay in the cache
BLOCK_MEMORY = 2**28  # Maximum bytes of the blocks' counts


@dataclass(frozen=True, eq=False)
class Allocated:
    """Tokens allocated to hidden values, given the tables."""

    counts: Floats  # (n_state,), S or E S: rows times columns of the plan's dynamic tables, flat
    log_ways: float
    """Σ over cells of the entropy of their tokens' allocations or, of modes, log x! / ∏ s!."""
    log_sum: float  # Σ over cells of x log Σ_h ∏ θ; NaN for modes
    is_possible: bool  # Whether each cell has a hidden value of positive probability
    chosen: tuple[Ints, Ints] | None = None  # Output of `modes`, for methods of modes


@dataclass(frozen=True, eq=False)
class Epoch:
    """State of an ascent after an epoch."""

    objective: float
    allocated: Allocated
    log_factor: Floats  # (n_state,), logs of the tables of the allocation


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best of several climbs."""

    best: Epoch
    start: int
    path: Floats  # (n_epochs,), its objective after each epoch
    objectives: Floats  # (n_starts,), final objective of each ascent


@dataclass(frozen=True, eq=False)
class MeanField:
    """Data laid down for one of the methods."""

    plan: InferencePlan
    method: str
    rows: Rows
    cliques: Cliques
    reading: Reading
    joint: JointValues | None  # Joint values, for methods of modes
    constant: float  # Constant part of the objective

    @classmethod
    def of(cls, model: AllocationModel, observed: CellCounts, method: str) -> "MeanField":
        """Lay the data down for the method. Raises TableMemoryError if hidden indices have too many
        values to sum over or, for modes, to list.
        """
        plan = plan_of(model, observed)
        rows = rows_of(plan)
        has_modes = method in {"dual-em", "icm"}
        of_data = log_of_counts if method in {"vb", "dual-em"} else log_of_counts_and_modes
        return cls(
            plan=plan,
            method=method,
            rows=rows,
            cliques=cliques_of(plan),
            reading=reading_of(plan, rows),
            joint=JointValues.of(plan) if has_modes else None,
            constant=of_data(model, observed),
        )

    @property
    def block_size(self) -> int:
        """Cells of a block, by the data alone, so that threads change no bit."""
        n_cells = len(self.plan.observed.counts)
        most = max(1, min(MAX_BLOCKS, BLOCK_MEMORY // (8 * max(self.plan.n_state, 1))))
        return max(MIN_BLOCK, -(-n_cells // most))

    @property
    def n_bytes(self) -> int:
        """Memory that one climb takes besides the plan."""
        n_cells = len(self.plan.observed.counts)
        n_blocks = max(1, -(-n_cells // self.block_size))
        needed = (n_blocks + 6) * self.plan.n_state + n_cells
        if self.joint is not None:
            needed += 2 * int(self.joint.chosen_at[-1]) + 4 * int(self.joint.n_values.max())
        return 8 * needed

    def allocate(self, log_factor: Floats, n_threads: int = 1) -> Allocated:
        """Allocate all tokens, given the logs of the tables (n_state,)."""
        if self.joint is not None:
            return self._allocate_modes(log_factor, self.joint, n_threads)
        expected, log_sums, entropy = expected_counts(
            self, self.reading, log_factor, self.plan.n_state, n_threads
        )
        log_sum = float((self.plan.observed.counts * log_sums).sum())
        return Allocated(expected, entropy, log_sum, bool(np.isfinite(log_sums).all()))

    def mode_of(self, allocated: Allocated) -> CellCounts:
        """The allocation S* over `model.indices`, of methods that take its mode."""
        assert self.joint is not None
        assert allocated.chosen is not None
        return self.joint.allocation(*allocated.chosen)

    def log_tables(self, counts: Floats) -> tuple[Floats, float]:
        """Return the logs of the tables given the allocation, and their part of the objective."""
        log_factor = np.empty_like(counts)
        if self.method in {"vb", "dual-em"}:
            return log_factor, mean_logs(self.rows, counts, log_factor)
        of_prior, of_counts = mode_logs(self.rows, counts, log_factor)
        return log_factor, of_prior + (of_counts if self.method == "icm" else 0.0)

    def epochs(self, rng: np.random.Generator, n_threads: int = 1) -> Iterator[Epoch]:
        """Climb from tables drawn at random, without end."""
        return self.epochs_from(random_log_factors(self.plan, rng), n_threads)

    def epochs_from(self, log_factor: Floats, n_threads: int = 1) -> Iterator[Epoch]:
        """Climb from tables whose logs (n_state,) are given, without end."""
        allocated = self.allocate(log_factor, n_threads)
        while True:
            following, of_tables = self.log_tables(allocated.counts)
            if self.method == "em":  # log p(X | θ*) is known when θ* allocates
                ahead = self.allocate(following, n_threads)
                objective = self.constant + of_tables + ahead.log_sum
            else:
                ahead = None
                objective = self.constant + of_tables + allocated.log_ways
            yield Epoch(
                objective if allocated.is_possible else float("-inf"), allocated, log_factor
            )
            log_factor = following
            allocated = ahead or self.allocate(following, n_threads)

    def climb(
        self, rng: np.random.Generator, n_epochs: int, tolerance: float, n_threads: int = 1
    ) -> tuple[Epoch, Floats]:
        """Until the objective grows by less than `tolerance` of itself, or `n_epochs`."""
        return _until(self.epochs(rng, n_threads), [], n_epochs, tolerance)

    def climb_on(
        self, epoch: Epoch, path: Floats, n_epochs: int, tolerance: float, n_threads: int = 1
    ) -> tuple[Epoch, Floats]:
        """Go on from where a climb ended, to the same bits as if it had not ended there."""
        if _is_at_its_end(path, n_epochs, tolerance):
            return epoch, path
        following, _ = self.log_tables(epoch.allocated.counts)
        return _until(self.epochs_from(following, n_threads), list(path), n_epochs, tolerance)

    def _allocate_modes(self, log_factor: Floats, joint: JointValues, n_threads: int) -> Allocated:
        counts, n_cells = self.plan.observed.counts, len(self.plan.observed.counts)
        chosen, numbers = np.zeros((2, joint.chosen_at[-1]), dtype=np.int64)
        parts = np.zeros((_n_blocks(n_cells, self.block_size), self.plan.n_state))
        possible = np.ones(len(parts), dtype=np.bool_)

        def work(start: int, stop: int) -> None:
            block = start // self.block_size
            possible[block] = modes(
                joint.columns,
                joint.columns_at,
                joint.n_values,
                self.cliques.pattern_of,
                self.reading.address,
                log_factor,
                counts,
                joint.chosen_at,
                start,
                stop,
                chosen,
                numbers,
                parts[block],
            )

        for_blocks(work, n_cells, self.block_size, n_threads)
        log_ways = float(gammaln(counts + 1.0).sum() - gammaln(numbers + 1.0).sum())
        return Allocated(
            counts=parts.sum(axis=0),
            log_ways=log_ways,
            log_sum=float("nan"),
            is_possible=bool(possible.all()),
            chosen=(chosen, numbers),
        )


def expected_counts(
    field: MeanField, count_in: Reading, log_factor: Floats, n_state: int, n_threads: int = 1
) -> tuple[Floats, Floats, float]:
    """Expected counts (n_state,) where `count_in` says, log-sums (n_cells,) and the entropy."""
    counts, size = field.plan.observed.counts, field.block_size
    n_blocks = _n_blocks(len(counts), size)
    parts, entropies = np.zeros((n_blocks, n_state)), np.zeros(n_blocks)
    log_sums = np.zeros(len(counts))
    at_a_time = max(1, min(size, SCRATCH // max(field.plan.scratch_size, 1)))

    def work(start: int, stop: int) -> None:
        entropies[start // size] = expect(
            field.cliques,
            field.reading,
            count_in,
            log_factor,
            counts,
            start,
            stop,
            np.zeros((2, at_a_time, field.plan.scratch_size)),
            log_sums,
            parts[start // size],
        )

    for_blocks(work, len(counts), size, n_threads)
    expected = parts[0]
    for part in parts[1:]:
        expected += part
    return expected, log_sums, float(entropies.sum())


def best_of_starts(
    field: MeanField,
    *,
    n_starts: int,
    n_epochs: int = N_EPOCHS,
    tolerance: float = TOLERANCE,
    seed: int = 0,
    n_jobs: int | None = None,
    max_memory: int = MAX_MEMORY,
) -> Optimum:
    """Run ascents from several starts, each with a seed of its own, and keep the best.

    Of many, only the `N_FINISHED` best at `FIRST_TOLERANCE` continue. Threads are over the starts
    or, where these are fewer, over blocks of cells. Raises TableMemoryError if the starts in
    progress at the same time need more than `max_memory` bytes.
    """
    n_threads = effective_n_jobs(n_jobs)
    within = n_threads if n_starts < n_threads else 1
    at_once = 1 if within > 1 else min(n_threads, n_starts)
    if at_once * field.n_bytes > max_memory:
        raise TableMemoryError(
            f"{field.plan.n_state:,} expected counts need "
            f"{at_once * field.n_bytes / 2**20:,.0f} MiB"
            + (f" in {at_once} threads" if at_once > 1 else "")
            + f", more than {max_memory / 2**20:,.0f} MiB: take fewer threads, a lower rank, or "
            "more memory"
        )
    is_many = n_starts > N_FINISHED
    first_tolerance = max(tolerance, FIRST_TOLERANCE) if is_many else tolerance
    objectives = np.zeros(n_starts)
    kept: list[tuple[Epoch, int, Floats]] = []
    lock = Lock()

    def work(first: int, last: int) -> None:
        for start in range(first, last):
            rng = np.random.default_rng([seed, start])
            epoch, path = field.climb(rng, n_epochs, first_tolerance, within)
            objectives[start] = epoch.objective
            with lock:
                kept.append((epoch, start, path))
                kept.sort(key=lambda each: (-each[0].objective, each[1]))
                del kept[N_FINISHED:]

    for_blocks(work, n_starts, 1, at_once)
    finished = []
    for epoch, start, path in kept:
        best, whole = field.climb_on(epoch, path, n_epochs, tolerance, n_threads)
        objectives[start] = best.objective
        finished.append(Optimum(best, start, whole, objectives))
    return max(finished, key=lambda each: (each.best.objective, -each.start))


def _until(
    epochs: Iterator[Epoch], path: list[float], n_epochs: int, tolerance: float
) -> tuple[Epoch, Floats]:
    """The epoch at which a climb ends, and the objective after each; `path` is what came before."""
    for epoch in epochs:
        path.append(epoch.objective)
        if _is_at_its_end(path, n_epochs, tolerance):
            return epoch, np.array(path)
    raise AssertionError("epochs never end")


def _is_at_its_end(path: Sequence[float] | Floats, n_epochs: int, tolerance: float) -> bool:
    gain = path[-1] - path[-2] if len(path) > 1 else np.inf
    return bool(
        len(path) >= n_epochs or path[-1] == -np.inf or not gain > tolerance * abs(path[-1])
    )


def _n_blocks(n_cells: int, block_size: int) -> int:
    return max(1, -(-n_cells // block_size))
