"""Capdevila et al. 2018, Figure 3: log-likelihood of real documents against the samples spent.

βΓ-PFA of up to 100 topics over the whole vocabulary: nobody knows the exact values, but estimators
that are unbiased rise towards them from below, the harmonic mean falls towards them from above, and
which of them does so with fewer samples, and in less time, can be seen.

The paper scores documents that it trained on, too; here those that are scored are held out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pipeline.reproduce.buntine2009.estimators import REFINED
from pipeline.reproduce.capdevila2018.documents import (
    TooFewDocumentsError,
    draw_rows,
    trained_topics,
    used_words,
    whole_counts,
)
from pipeline.reproduce.capdevila2018.scores import Cell, planned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scipy import sparse

    from models import GammaPoissonTopics
    from pipeline.reproduce.capdevila2018.scores import Score

Floats = NDArray[np.float64]

LARGEST_SHARE = 0.2
"""Of the documents, that are held out."""


@dataclass(frozen=True)
class ConvergenceSettings:
    """The protocol; the defaults are the paper's, but that L2R is not in all sizes.

    Raises
    ------
    ValueError
        If a number is too small to make sense, or burn-in leaves no sweep.
    """

    n_topics: int = 100
    n_documents: int = 1000
    """Scored at most, and at most a fifth of all."""
    sizes: dict[str, tuple[int, ...]] = field(
        default_factory=lambda: {
            "DS": (10, 30, 100, 300, 1000, 3000, 10_000),
            "HM": (10, 30, 100, 300, 1000, 3000, 10_000),
            "L2R": (10, 30, 100, 300, 1000),
            REFINED: (10, 30, 100, 300, 1000),
        }
    )
    """Numbers of samples of each estimator."""
    n_sweeps: int = 1000
    burn_in: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        lowest = {
            "n_topics": 1,
            "n_documents": 2,
            "burn_in": 0,
            "n_sweeps": self.burn_in + 1,
        }
        for name, least in lowest.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, found {getattr(self, name)}")
        if not self.sizes or min(map(min, self.sizes.values())) < 2:
            raise ValueError(f"sizes must be numbers of samples from 2 on, found {self.sizes}")

    @property
    def cells(self) -> list[Cell]:
        """All runs of all estimators."""
        return planned(self.sizes)


@dataclass(frozen=True, eq=False)
class HeldOutDocuments:
    """One corpus in two."""

    training: sparse.csr_array
    """(N - D, V)"""
    documents: sparse.csr_array
    """(D, V), those that are scored."""

    @property
    def n_tokens(self) -> int:
        """Tokens that are scored."""
        return int(self.documents.sum())


def held_out(counts: sparse.csr_array, settings: ConvergenceSettings) -> HeldOutDocuments:
    """Draw the documents to score from those that are not empty; words of no document are left out.

    Raises
    ------
    TooFewDocumentsError
        If there are fewer than two.
    """
    whole = used_words(whole_counts(counts))
    usable = np.flatnonzero(np.diff(whole.indptr))
    n_scored = min(settings.n_documents, int(LARGEST_SHARE * len(usable)))
    if n_scored < 2:
        raise TooFewDocumentsError(
            f"of {len(usable)} documents with any word, a fifth are scored: at least 10 are needed"
        )
    rows = draw_rows(usable, n_scored, settings.seed)
    rest = np.setdiff1d(np.arange(whole.shape[0]), rows)
    return HeldOutDocuments(whole[rest], whole[rows])


def train(
    split: HeldOutDocuments,
    settings: ConvergenceSettings,
    n_jobs: int | None = None,
    on_sweep: Callable[[], object] | None = None,
) -> GammaPoissonTopics:
    """The model that all estimators are asked about."""
    sweeps = settings.n_sweeps, settings.burn_in
    return trained_topics(
        split.training, settings.n_topics, sweeps, settings.seed, n_jobs=n_jobs, on_sweep=on_sweep
    )


@dataclass(frozen=True, eq=False)
class Convergence:
    """One corpus: what each estimator says of D documents after each number of samples."""

    name: str
    settings: ConvergenceSettings
    split: HeldOutDocuments
    log_likelihood: dict[str, Floats]
    """By estimator (S, D), nats a document."""
    standard_error: dict[str, Floats]
    """By estimator (S, D), what it says of its own error; NaN where it says nothing."""
    seconds: dict[str, Floats]
    """By estimator (S,)."""

    @property
    def total(self) -> dict[str, Floats]:
        """By estimator (S,), the log-likelihood of all documents, in nats."""
        return {name: each.sum(axis=1) for name, each in self.log_likelihood.items()}

    @property
    def total_standard_error(self) -> dict[str, Floats]:
        """By estimator (S,), of sampling, as it says itself."""
        return {name: np.sqrt((each**2).sum(axis=1)) for name, each in self.standard_error.items()}

    @property
    def reference(self) -> float:
        """What totals are compared with: that of our estimator with most samples."""
        return float(self.total[REFINED][-1])


def convergence(
    name: str,
    settings: ConvergenceSettings,
    split: HeldOutDocuments,
    scores: Mapping[Cell, Score],
) -> Convergence:
    """The arrays of all `scores`, which must be those of the settings' cells.

    Raises
    ------
    ValueError
        If they are others.
    """
    if set(scores) != set(settings.cells):
        raise ValueError("the cells are not those of the settings")
    by_estimator = {
        estimator: [scores[Cell(estimator, size)] for size in sizes]
        for estimator, sizes in settings.sizes.items()
    }
    return Convergence(
        name,
        settings,
        split,
        {m: np.stack([each.log_likelihood for each in of]) for m, of in by_estimator.items()},
        {m: np.stack([each.standard_error for each in of]) for m, of in by_estimator.items()},
        {m: np.array([each.seconds for each in of]) for m, of in by_estimator.items()},
    )
