"""Allocations drawn from the posterior by particles, and their probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

from models.allocation.cell_counts import CellCounts
from models.allocation.inference_plan import InferencePlan, plan_of
from models.allocation.particles.runs import (
    MAX_MEMORY,
    RESAMPLE_BELOW,
    ParticleRun,
    check_particle_settings,
    run_particles,
)
from models.allocation.particles.state import check_memory
from models.allocation.particles.token_kernel import bring_up_to_date
from models.allocation.reachable import check_reachable
from models.allocation.rising_factorial import log_rising_factorials
from models.allocation.sequence import log_of_counts
from models.checks import check_whole

if TYPE_CHECKING:
    from models.allocation.model import AllocationModel
    from models.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class PosteriorSample:
    """Allocations drawn from the posterior, by weighted particles (eq. 3.8)."""

    model: AllocationModel
    observed: CellCounts
    weights: Floats  #: (n_kept,), sum to 1.
    log_allocation: Floats  #: (n_kept,), log π(S) of each.
    log_marginal: float  #: Estimate of log p(X).
    cell_of_token: Ints  #: (T,), cell of X of each token.
    hidden: Ints  #: (n_kept, T, n_inner), values of the indices `inner`.
    inner: tuple[str, ...]  #: Indices that are hidden, or missing of some token.

    @property
    def n_kept(self) -> int:
        """Allocations."""
        return len(self.weights)

    @property
    def most_probable(self) -> int:
        """The number of the allocation with the highest π(S)."""
        return int(self.log_allocation.argmax())

    def allocation(self, n: int) -> CellCounts:
        """One S, over `model.indices`."""
        visible, hidden = self.model.visible, self.hidden[n]
        columns = [
            hidden[:, self.inner.index(name)]
            if name in self.inner
            else self.observed.cells[self.cell_of_token, visible.index(name)]
            for name in self.model.indices
        ]
        sizes = tuple(self.model.cardinalities[name] for name in self.model.indices)
        ones = np.ones(len(self.cell_of_token), dtype=np.int64)
        return CellCounts(np.stack(columns, axis=1), ones, sizes)

    @cached_property
    def allocations(self) -> list[CellCounts]:
        """All of them; slow with many tokens and particles."""
        return [self.allocation(n) for n in range(self.n_kept)]


def posterior_sample(
    model: AllocationModel,
    observed: CellCounts,
    *,
    n_particles: int = 1000,
    n_kept: int | None = None,
    resampling: str = "systematic",
    n_moves: int = 0,
    max_memory: int = MAX_MEMORY,
    seed: int = 0,
) -> PosteriorSample:
    """Allocations of all tokens by the particles of one run, resampled when half are effective.

    With `n_kept`, so many are drawn from the particles by their weights, and have equal weights;
    else all particles are kept with theirs. Raises ValueError or TypeError if a setting is out of
    its range; TableMemoryError if the particles take more than `max_memory` bytes;
    UnreachableCellError, a ValueError, if the counts are impossible under the model.
    """
    check_particle_settings(n_particles, n_moves, resampling)
    if n_kept is not None:
        check_whole("n_kept", n_kept, 1)
    plan = plan_of(model, observed)
    check_reachable(plan)
    check_memory(plan, n_particles, 1, max_memory, keep_history=True)
    rng = np.random.default_rng([seed, n_particles])
    run = run_particles(
        plan,
        n_particles,
        rng,
        resample_below=RESAMPLE_BELOW["smc-adaptive"],
        resampling=resampling,
        n_moves=n_moves,
        keep_history=True,
    )
    weights = run.particles.weights / run.particles.weights.sum()
    slots = np.arange(n_particles)
    if n_kept is not None:
        slots = np.sort(rng.choice(n_particles, size=n_kept, p=weights))
        weights = np.full(n_kept, 1.0 / n_kept)
    inner, hidden = _hidden_values(plan, run, slots)
    constant = log_of_counts(model, observed)
    return PosteriorSample(
        model=model,
        observed=observed,
        weights=weights,
        log_allocation=constant + _log_sequences(plan, run)[slots] + _log_splits(run, hidden),
        log_marginal=constant + run.log_probability,
        cell_of_token=run.order.astype(np.int64),
        hidden=hidden,
        inner=inner,
    )


def _log_sequences(plan: InferencePlan, run: ParticleRun) -> Floats:
    """Return each particle's log-probability of tokens and hidden values, by dynamic tables."""
    n_particles = len(run.particles.weights)
    total = np.zeros(n_particles)
    at = 0
    for table in plan.dynamic:
        length = n_particles * table.n_rows * table.n_columns
        counts = run.particles.counts[at : at + length].astype(np.int64)
        shape = (table.n_rows, n_particles, table.n_columns)
        alpha = np.broadcast_to(table.alpha[:, np.newaxis, :], shape).ravel()
        terms = np.zeros(length)
        log_rising_factorials(np.ascontiguousarray(alpha), counts, terms)
        total += table.power * terms.reshape(shape).sum(axis=(0, 2))
        at += length
    return total


def _log_splits(run: ParticleRun, hidden: Ints) -> Floats:
    """Log of ∏ X! / ∏ S!: in how many ways the tokens of the cells can be split like this."""
    cells = np.sort(run.order)
    _, whole = np.unique(cells, return_counts=True)
    logs = np.full(len(hidden), gammaln(whole + 1).sum())
    for n, values in enumerate(hidden):
        _, split = np.unique(np.column_stack([run.order, values]), axis=0, return_counts=True)
        logs[n] -= gammaln(split + 1).sum()
    return logs


def _hidden_values(
    plan: InferencePlan, run: ParticleRun, slots: Ints
) -> tuple[tuple[str, ...], Ints]:
    """The hidden values of each token, of some of the particles."""
    inner = tuple(name for name in plan.model.indices if name in plan.unknown_names)
    visible = plan.model.visible
    n_tokens, n_particles = len(run.order), len(run.particles.weights)
    drawn = np.zeros((n_tokens, n_particles, plan.max_cliques), dtype=np.int32)
    if plan.n_factors:
        bring_up_to_date(run.particles)
        drawn = run.particles.counts[n_particles * plan.n_state :].reshape(drawn.shape)
    hidden = np.zeros((len(slots), n_tokens, len(inner)), dtype=np.int64)
    pattern_of = plan.arrays.pattern_of[run.order]
    for pattern, unknown in enumerate(plan.unknown):
        tokens = np.flatnonzero(pattern_of == pattern)
        n_cliques = int(np.diff(plan.arrays.clique_start)[pattern])
        chosen = drawn[np.ix_(tokens, slots)][:, :, :n_cliques].astype(np.int64)
        values = plan.unknown_values(pattern, chosen.transpose(1, 0, 2))
        for position, name in enumerate(inner):
            if name in unknown:
                hidden[:, tokens, position] = values[:, :, unknown.index(name)]
            else:
                cells = run.order[tokens]
                hidden[:, tokens, position] = plan.observed.cells[cells, visible.index(name)]
    return inner, hidden
