"""The estimators that Capdevila et al. 2018 compare, by the names it gives them, and one of ours.

A cell is one run of one estimator over all documents of an experiment. It depends on the model, the
documents and its seed alone, so that cells can be computed in any order, and kept.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from evaluation.document_blocks import DocumentBlock
from evaluation.methods import scoring_of
from pipeline.reproduce.buntine2009.estimators import REFINED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scipy import sparse

    from models import GammaPoissonTopics

Floats = NDArray[np.float64]

ESTIMATORS = {
    "DS": "direct-sampling",
    "HM": "harmonic-mean",
    "L2R": "left-to-right",
    "L2R exact": "left-to-right-exact",
    REFINED: "left-to-right-sequential",
}
"""The `method` of `evaluation.log_likelihood` that each is. L2R exact is L2R with the conditionals
of eq. 17 in place of eq. 21. The last is not in the paper: LDA's left to right of tilted topics."""


class Cell(NamedTuple):
    """One run of one estimator."""

    estimator: str
    n_samples: int
    repeat: int = 0


class Score(NamedTuple):
    """Log-probabilities of D documents by one cell."""

    log_likelihood: Floats
    """(D,), log p of counts and length, in nats."""
    standard_error: Floats
    """(D,), what the estimator says of its own error."""
    seconds: float

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Every field as an array by its name, for `from_arrays`."""
        return {name: np.asarray(value) for name, value in self._asdict().items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Make again what `to_arrays` took apart; a KeyError if an array is missing."""
        return cls(arrays["log_likelihood"], arrays["standard_error"], arrays["seconds"].item())


def planned(sizes: Mapping[str, Sequence[int]], n_repeats: int = 1) -> list[Cell]:
    """All cells: for each estimator its numbers of samples, each so many times; smaller ones first.

    So that something can be seen of all estimators before the longest runs begin.
    """
    cells = [
        Cell(name, size, repeat)
        for name, of_estimator in sizes.items()
        for size in of_estimator
        for repeat in range(n_repeats)
    ]
    return sorted(cells, key=lambda cell: (cell.n_samples, cell.repeat))


def steps(cell: Cell, documents: sparse.csr_array) -> float:
    """How long a cell takes, about, in samples of an estimator that goes over each document once.

    L2R goes over the words before each word; ours does so for short documents at most.
    """
    if not cell.estimator.startswith("L2R"):
        return float(cell.n_samples)
    return cell.n_samples * max(1.0, documents.nnz / documents.shape[0])


def score(
    topics: GammaPoissonTopics,
    documents: sparse.csr_array,
    cell: Cell,
    seed: int,
    n_jobs: int | None = None,
) -> Score:
    """Run an estimator over `documents` (D, V), positive int64 counts.

    Its random numbers are its own: those of another cell, or of the same one with another `seed`,
    are independent of them.
    """
    m = list(ESTIMATORS).index(cell.estimator)
    rng = np.random.default_rng([seed, m, cell.n_samples, cell.repeat])
    # Without the warnings of `log_likelihood`: how bad an estimator is is what is to be found out.
    estimator = scoring_of(topics).method(ESTIMATORS[cell.estimator]).score
    started = time.perf_counter()
    found = estimator(
        topics,
        DocumentBlock(documents),
        n_samples=cell.n_samples,
        seed=int(rng.integers(2**32)),
        n_jobs=n_jobs,
    )
    seconds = time.perf_counter() - started
    return Score(found.log_likelihood, found.standard_error, seconds)


def warm_up(
    topics: GammaPoissonTopics, documents: sparse.csr_array, estimators: Sequence[str]
) -> None:
    """Have kernels compiled, so that no cell's seconds are those of the compiler."""
    for name in estimators:
        score(topics, documents[:1], Cell(name, 2), 0)
