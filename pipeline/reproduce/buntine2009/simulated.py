"""Known models: topics drawn from a Dirichlet, and lengths of documents."""

from typing import Any

import numpy as np

from evaluation.arrays import Floats, Ints, Rng
from evaluation.document_blocks import DocumentBlock
from evaluation.lda.simulate import simulated_documents
from models import LDATopics

ZIPF_OFFSET = 2.7  # Offset of Mandelbrot's form of Zipf's law, about that of English words


def draw_topics(n_topics: int, word_prior: Floats, alpha: float, rng: Rng) -> LDATopics:
    """Draw K topics ~ Dirichlet(`word_prior` (V,)), for documents with θ ~ Dirichlet(`alpha`)."""
    return LDATopics(rng.dirichlet(word_prior, size=n_topics), np.full(n_topics, alpha))


def draw_document(budget: Any, gamma: float, rng: Rng) -> tuple[LDATopics, DocumentBlock]:
    """Draw topics ~ Dirichlet(`gamma`) over V words, and a document of them of L tokens."""
    words = np.full(budget.n_words, gamma)
    topics = draw_topics(budget.n_topics, words, budget.alpha, rng)
    return topics, DocumentBlock(simulated_documents(topics, [budget.length], rng)[0])


def zipf_word_prior(n_words: int, concentration: float) -> Floats:
    """Return (V,), sums to `concentration`; the share of rank r, from 0, is ∝ 1 / (r + 2.7)."""
    weight = 1.0 / (np.arange(n_words) + ZIPF_OFFSET)
    prior: Floats = concentration * weight / weight.sum()
    return prior


def draw_lengths(n_docs: int, mean: float, shape: float, rng: Rng) -> Ints:
    """Draw (D,), 1 + negative binomial: variance (mean - 1) + (mean - 1)² / `shape`. In other words
    Poisson, with a rate that differs between documents as Gamma(`shape`) does.
    """
    return 1 + rng.negative_binomial(shape, shape / (shape + (mean - 1.0)), n_docs)
