"""As many samples for each document as a wanted standard error takes."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from scipy import sparse

    from evaluation.estimate import LikelihoodEstimate

logger = logging.getLogger(__name__)

PILOT_SAMPLES = 50
"""Samples of the first look, for a method whose number is not given."""
MARGIN = 1.2
"""Samples taken beyond what the last look says, as it is uncertain itself; and how far above the
target a standard error may be in the end."""
UNKNOWN = 4.0
"""Times the target, what a standard error that is not known is taken for."""
MOST_SAMPLES = 2**20
ROUNDS = 6


def reach_standard_error(
    method: Callable[..., LikelihoodEstimate],
    topics: Any,
    counts: sparse.csr_array,
    target: float,
    *,
    n_samples: int | None,
    seed: int,
    n_jobs: int | None,
) -> LikelihoodEstimate:
    """Estimates whose standard error is near `target` nats a document, or below it.

    A first look with `n_samples` says how many each document takes (the error falls with the square
    root of them), and is then thrown away: what it happened to find decides nothing but this
    number, so the estimates are as unbiased as those of any fixed number (Stein 1945). Documents
    that miss the target by more than `MARGIN` are sampled anew, with more. The numbers are that of
    the first look times powers of two, so that there are few different ones.
    """
    first = n_samples or PILOT_SAMPLES
    result = method(topics, counts, n_samples=first, seed=seed, n_jobs=n_jobs)
    scored = result.n_tokens > 0
    if (result.standard_error[scored] == 0).all():
        return result  # nothing random
    size = np.full(counts.shape[0], first)
    waiting = np.flatnonzero(scored)
    for round_number in range(1, ROUNDS + 1):
        error = np.nan_to_num(result.standard_error[waiting], nan=UNKNOWN * target)
        factor = np.clip(MARGIN * (error / target) ** 2, 1e-6, MOST_SAMPLES)
        least = 1 if round_number == 1 else 2 * size[waiting]
        wanted = np.maximum(np.minimum(size[waiting] * factor, MOST_SAMPLES), least)
        size[waiting] = first * 2 ** np.maximum(0, np.ceil(np.log2(wanted / first))).astype(int)
        for n in np.unique(size[waiting]):
            rows = waiting[size[waiting] == n]
            fresh = np.random.SeedSequence([seed, round_number, int(n)]).generate_state(2)
            part = method(
                topics,
                counts[rows],
                n_samples=int(n),
                seed=int(fresh[0]) << 31 | int(fresh[1]) >> 1,
                n_jobs=n_jobs,
            )
            result = _with_rows(result, rows, part)
        missed = ~(result.standard_error[waiting] <= MARGIN * target)
        waiting = waiting[missed & (size[waiting] < MOST_SAMPLES)]
        if not len(waiting):
            break
    n_missed = int((~(result.standard_error[scored] <= MARGIN * target)).sum())
    if n_missed:
        logger.warning(
            "%d documents have a standard error above %g nats after at most %s samples",
            n_missed,
            target,
            f"{size.max():,}",
        )
    return result


def _with_rows(
    whole: LikelihoodEstimate, rows: np.ndarray, part: LikelihoodEstimate
) -> LikelihoodEstimate:
    """The estimate with some documents' numbers replaced."""
    names = ("log_likelihood", "standard_error", "effective_sample_size", "n_samples")
    changed = {name: getattr(whole, name).copy() for name in names}
    for name in names:
        changed[name][rows] = getattr(part, name)
    return replace(whole, **changed)
