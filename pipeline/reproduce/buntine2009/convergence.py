"""Buntine 2009, Figures 1 and 2: estimates of one document against the number of samples.

The figures show one run of each estimator. Here each is run `n_runs` times with other random
numbers, and the root mean square of its error tells speed from luck: it falls as one over the root
of the number of samples where an estimator converges to the exact value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evaluation.document_blocks import DocumentBlock
from evaluation.lda.exact import exact
from evaluation.lda.simulate import simulated_documents
from pipeline.reproduce.buntine2009.estimators import ESTIMATORS
from pipeline.reproduce.buntine2009.simulated import draw_topics

if TYPE_CHECKING:
    from collections.abc import Callable

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ConvergenceSettings:
    """What is drawn; the model and the document are the paper's by default.

    Raises
    ------
    ValueError
        If there is no size, one is below 2, or there is no run.
    """

    sizes: tuple[int, ...] = (50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 20_000)
    n_runs: int = 1
    gamma: float = 0.5
    n_topics: int = 5
    n_words: int = 1000
    length: int = 16
    alpha: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.sizes or min(self.sizes) < 2:
            raise ValueError(f"sizes must be numbers of samples from 2 on, found {self.sizes}")
        if self.n_runs < 1:
            raise ValueError(f"n_runs must be at least 1, found {self.n_runs}")


@dataclass(frozen=True, eq=False)
class Convergence:
    """Estimates of -log2 p(document) a word: M estimators, N sample sizes, R runs."""

    settings: ConvergenceSettings
    estimators: tuple[str, ...]
    """(M,), in the order of `ESTIMATORS`."""
    exact: float
    estimate: Floats
    """(M, N, R); the figures show run 0."""

    @property
    def root_mean_square_error(self) -> Floats:
        """(M, N) over runs."""
        result: Floats = np.sqrt(((self.estimate - self.exact) ** 2).mean(axis=2))
        return result


def convergence(
    settings: ConvergenceSettings, on_run: Callable[[], object] | None = None
) -> Convergence:
    """Draw the document and estimate; `on_run` is called after each of M · R runs.

    All sizes of one run have the seed in common, so that a larger size of an estimator that makes
    its samples one after the other contains the smaller ones, as in the figures.
    """
    rng = np.random.default_rng(settings.seed)
    word_prior = np.full(settings.n_words, settings.gamma)
    topics = draw_topics(settings.n_topics, word_prior, settings.alpha, rng)
    document, _ = simulated_documents(topics, [settings.length], rng)
    seeds = rng.integers(2**32, size=(len(ESTIMATORS), settings.n_runs))
    bits = settings.length * np.log(2.0)
    estimate = np.empty((len(ESTIMATORS), len(settings.sizes), settings.n_runs))
    for m, estimator in enumerate(ESTIMATORS.values()):
        for run in range(settings.n_runs):
            for i, size in enumerate(settings.sizes):
                found = estimator(
                    topics, DocumentBlock(document), n_samples=size, seed=int(seeds[m, run])
                )
                estimate[m, i, run] = -found.log_likelihood[0] / bits
            if on_run is not None:
                on_run()
    truth = -float(exact(topics, DocumentBlock(document)).log_likelihood[0]) / bits
    return Convergence(settings, tuple(ESTIMATORS), truth, estimate)
