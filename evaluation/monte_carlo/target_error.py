"""Samples for each document until it reaches a target standard error."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.arrays import Floats, Ints
from evaluation.document_blocks import DocumentBlock
from evaluation.estimate import LikelihoodEstimate

PILOT_SAMPLES = 50  # samples of the first pilot run, if no number is given
MIN_PILOT_SAMPLES = 20
"""Minimal number of a pilot run's samples: with fewer, an error can seem to be 0."""
STEP = 4.0  # largest growth of the samples after a step
MARGIN = 1.2  # factor of the samples that a pilot run asks for, as it is uncertain itself
UNKNOWN = 4.0  # assumed value of an unknown standard error, in multiples of the target
MAX_SAMPLES = 2**17


def sample_to_target(
    method: Callable[..., LikelihoodEstimate],
    topics: Any,
    documents: DocumentBlock,
    target: float,
    *,
    n_samples: int | None,
    seed: int,
    n_jobs: int | None,
) -> LikelihoodEstimate:
    """Return estimates with a standard error of about `target` nats for each document, or less.

    Pilot runs with more and more samples, at first `n_samples`, tell how many a document needs, as
    the error falls with their square root. They are discarded. The estimate is that of a separate
    last run, whatever its error: so no result decides whether it is kept, and estimates are as
    unbiased as those of a fixed number of samples (Stein 1945). Numbers of samples are that of the
    first pilot run times powers of two, so that there are few different ones. Documents that are
    sampled together keep their numbers, so that none depends on the samples of others.
    """
    first = max(MIN_PILOT_SAMPLES, n_samples or PILOT_SAMPLES)

    def sampled_again(
        result: LikelihoodEstimate, chosen: NDArray[np.intp], seeds: list[int]
    ) -> LikelihoodEstimate:
        """Return `result` with the `chosen` documents sampled again, `size` (D,) times each."""
        names = ("log_likelihood", "standard_error", "effective_sample_size", "n_samples")
        changed = {name: getattr(result, name).copy() for name in names}
        for n in np.unique(size[chosen]):
            rows = chosen[size[chosen] == n]
            state = np.random.SeedSequence([*seeds, int(n)]).generate_state(1, np.uint64)
            some = documents.emptied_but(rows)
            part = method(topics, some, n_samples=int(n), seed=int(state[0] >> 1), n_jobs=n_jobs)
            for name in names:
                changed[name][rows] = getattr(part, name)[rows]
        return replace(result, **changed)

    result = method(topics, documents, n_samples=first, seed=seed, n_jobs=n_jobs)
    scored = np.flatnonzero(result.n_tokens > 0)
    size = np.full(documents.n_documents, first)
    wanted = np.full(documents.n_documents, float(first))
    unsettled, n_pilots = scored, 0
    while len(unsettled):
        error = np.nan_to_num(result.standard_error[unsettled], nan=UNKNOWN * target)
        wanted[unsettled] = size[unsettled] * MARGIN * (error / target) ** 2
        is_far = wanted[unsettled] > STEP * size[unsettled]
        unsettled = unsettled[is_far & (size[unsettled] < MAX_SAMPLES)]
        size[unsettled] = _rounded(wanted[unsettled] / STEP, first)
        n_pilots += 1
        result = sampled_again(result, unsettled, [seed, 1, n_pilots])
    size[scored] = _rounded(wanted[scored], first)
    result = sampled_again(result, scored, [seed, 2])
    return replace(result, target_standard_error=target)


def _rounded(n: Floats, first: int) -> Ints:
    """Round n up to `first` times a power of two, at most about MAX_SAMPLES."""
    powers = np.ceil(np.log2(np.clip(n, first, max(first, MAX_SAMPLES)) / first))
    return first * 2 ** powers.astype(np.int64)
