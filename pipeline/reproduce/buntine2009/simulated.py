"""Models to know the truth about: topics drawn from a Dirichlet, and lengths of documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from models import LDATopics

if TYPE_CHECKING:
    from numpy.typing import NDArray

ZIPF_OFFSET = 2.7
"""Of Mandelbrot's form of Zipf's law, about that of English words."""


def draw_topics(
    n_topics: int, word_prior: NDArray[np.float64], alpha: float, rng: np.random.Generator
) -> LDATopics:
    """K topics, each ~ Dirichlet(`word_prior` (V,)), for documents with θ ~ Dirichlet(`alpha`)."""
    return LDATopics(rng.dirichlet(word_prior, size=n_topics), np.full(n_topics, alpha))


def zipf_word_prior(n_words: int, concentration: float) -> NDArray[np.float64]:
    """(V,), sums to `concentration`; the word of rank r, from 0, has a share ∝ 1 / (r + 2.7)."""
    weight = 1.0 / (np.arange(n_words) + ZIPF_OFFSET)
    prior: NDArray[np.float64] = concentration * weight / weight.sum()
    return prior


def draw_lengths(
    n_docs: int, mean: float, shape: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """(D,), 1 + negative binomial of the given `shape`: variance (mean - 1) + (mean - 1)² / shape.

    In other words Poisson, with a rate that differs between documents as Gamma(`shape`) does.
    """
    rest = mean - 1.0
    lengths: NDArray[np.int64] = 1 + rng.negative_binomial(shape, shape / (shape + rest), n_docs)
    return lengths
