"""`log_marginal`: how probable a whole count tensor is under an allocation model."""

import logging
from typing import Any

from evaluation.allocation.annealed import N_MODES, N_PARTICLES, N_SWEEPS, annealed
from evaluation.allocation.exact import MAX_MEMORY, exact
from evaluation.allocation.marginal_estimate import MarginalEstimate
from evaluation.allocation.particles import by_particles
from models.allocation.cell_counts import CellCounts
from models.allocation.inference_plan import plan_of
from models.allocation.mean_field.coordinate_ascent import N_EPOCHS, MeanField, best_of_starts
from models.allocation.model import AllocationModel
from models.allocation.particles.runs import check_particle_settings
from models.allocation.reachable import check_reachable
from models.checks import check_whole
from models.seed import seed_from

logger = logging.getLogger(__name__)

TOLERANCE = 1e-10
"""Relative growth of a bound that ends a start. Published bounds of tiny matrices are
met within 1e-9."""
MARGINAL_METHODS = ("exact", "annealed", "sis", "smc", "smc-adaptive", "vb")


def log_marginal(
    model: AllocationModel,
    X: Any,
    method: str = "smc",
    *,
    n_particles: int | None = None,
    n_repeats: int = 10,
    n_sweeps: int = N_SWEEPS,
    n_modes: int = N_MODES,
    known_modes: CellCounts | None = None,
    resampling: str = "systematic",
    n_moves: int = 0,
    order: str = "random",
    max_memory: int = MAX_MEMORY,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> MarginalEstimate:
    """Return the log-probability of counts X under a model, with all hidden values summed over.

    Parameters
    ----------
    model : AllocationModel
    X : array or sparse (model.shape), or CellCounts
        Counts over the visible indices; `CellCounts` can leave an index of some tokens open.
    method : {"exact", "annealed", "sis", "smc", "smc-adaptive", "vb"}
        "exact" enumerates (few tokens); "annealed" moves whole allocations from independent tokens
        to the posterior (`evaluation.allocation.annealed`), for hundreds of tokens and more; "sis"
        weighs particles that never meet; "smc" resamples them at every token (Cemgil et al. 2019,
        algorithm 3), "smc-adaptive" when fewer than half are effective; "vb" is the evidence lower
        bound of variational Bayes, best of the repeats.
    n_particles, n_repeats : int
        Particles of each of the independent runs, whose spread is the standard error; for "vb"
        `n_repeats` starts. By default 1000 particles, 4 of "annealed", which takes twice those
        given where modes are too many to be listed.
    n_sweeps : int
        For "annealed": steps of a path from a mode, each a sweep of all tokens of each particle;
        twice or eight times as many from the prior's mean, and sixteen times as many where pilots
        from modes say that runs will vary by a nat or more (`annealed`). Where runs are nats apart,
        more sweeps are worth more than more particles or repeats.
    n_modes : int
        For "annealed": modes of the posterior that are looked at, those where the best searches
        end, and that are crossed with each other, first in two lines; from the best of them paths
        begin where the searches disagree. 0 for no searches, and paths from the prior's mean. Where
        only one of the lines, of which known modes are one, or none found the best mode
        (`MarginalEstimate.n_found` is 1), there may be better ones.
    known_modes : CellCounts, optional
        For "annealed": the `modes` of an estimate for another model of the same graph, such as one
        with fewer hidden values, with which the modes that searches find are crossed. Over modes
        and all indices of the model. Without effect where searches agree, or there are none, and
        where tokens lack indices.
    resampling : {"systematic", "stratified", "residual", "multinomial"}
    n_moves : int
        Processed tokens to rejuvenate after each token, by a Gibbs step given all others, which
        undoes early decisions. 0 as published; with many tokens, particles agree on what was
        decided by chance early, estimates of most runs are far too low, and moves are worth more
        than particles.
    order : {"random", "sorted"}
        In which tokens are taken in. As they are exchangeable any order is unbiased; "sorted", by
        cell, has a far lower variance where tokens are few.
    max_memory : int
        Bytes; what needs more is refused before it starts ("exact" when it is seen to).
    random_state : int, Generator or RandomState, optional
        Fixes the result to the bit, whatever `n_jobs`, the number of threads over repeats.

    Raises TableMemoryError if the tables of all particles take more than `max_memory`: a
    ValueError; MarginalCostError if the exact value would: a ValueError; UnreachableCellError if a
    cell with tokens has no probability, for zeros in the prior: a ValueError; PriorRangeError if
    pseudo-counts are too small for "annealed": a ValueError; ValueError if `X` does not fit the
    model or holds a value that is no count, `known_modes` do not fit them, or a setting is out of
    range.
    """
    if method not in MARGINAL_METHODS:
        raise ValueError(f"method must be one of {MARGINAL_METHODS}, found {method!r}")
    if n_particles is None:
        n_particles = N_PARTICLES if method == "annealed" else 1000
    check_particle_settings(n_particles, n_moves, resampling, order)
    check_whole("n_repeats", n_repeats, 1)
    observed = CellCounts.of(X, model)
    check_reachable(plan_of(model, observed))
    if method == "exact":
        return exact(model, observed, max_memory=max_memory)
    seed = seed_from(random_state)
    if method == "vb":
        return variational(
            model, observed, n_starts=n_repeats, seed=seed, n_jobs=n_jobs, max_memory=max_memory
        )
    common: Any = {"n_particles": n_particles, "n_repeats": n_repeats, "max_memory": max_memory}
    common |= {"seed": seed, "n_jobs": n_jobs}
    if method == "annealed":
        common |= {"n_sweeps": n_sweeps, "n_modes": n_modes, "known_modes": known_modes}
        estimate = annealed(model, observed, **common)
    else:
        of_particles: Any = {"resampling": resampling, "n_moves": n_moves, "order": order}
        estimate = by_particles(model, observed, method, **of_particles, **common)
    if estimate.is_unreliable:
        logger.warning(
            "the logs of %d runs are %.1f nats apart (standard deviation)%s: the estimate is most "
            "likely too low, by more than its standard error says; take more %s",
            n_repeats,
            estimate.spread,
            ", and no two lines of searches found as good a mode" if estimate.is_found_once else "",
            "sweeps or modes" if method == "annealed" else "moves",
        )
    return estimate


def variational(
    model: AllocationModel,
    observed: CellCounts,
    *,
    n_starts: int,
    n_epochs: int = N_EPOCHS,
    seed: int = 0,
    n_jobs: int | None = None,
    max_memory: int = MAX_MEMORY,
) -> MarginalEstimate:
    """Return the best bound of several starts, at most log p(X) (Cemgil et al. 2019, section 4.3).

    Raises TableMemoryError if the expected counts of the starts that run at the same time take more
    than `max_memory` bytes, or hidden indices have too many values to be summed over together.
    """
    optimum = best_of_starts(
        MeanField.of(model, observed, "vb"),
        n_starts=n_starts,
        n_epochs=n_epochs,
        tolerance=TOLERANCE,
        seed=seed,
        n_jobs=n_jobs,
        max_memory=max_memory,
    )
    bound, n_tokens = optimum.best.objective, observed.n_tokens
    return MarginalEstimate(bound, 0.0, "vb", "lower bound", n_tokens, optimum.objectives)
