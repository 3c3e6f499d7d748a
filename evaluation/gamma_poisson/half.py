"""Half of a document under a Gamma-Poisson model, for completion.

The model is told that it sees documents of half the length: φ / 2 of both halves. What it expects
of a topic's tokens in the other half, over all topics, stands in the place of θ̂, so that it is
scored on which words follow and not on how many, as LDA is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from evaluation.completion import completion

if TYPE_CHECKING:
    from evaluation.arrays import Floats
    from evaluation.document_blocks import DocumentBlock
    from evaluation.estimate import LikelihoodEstimate
    from models import GammaPoissonTopics

_halves: WeakKeyDictionary[GammaPoissonTopics, tuple[GammaPoissonTopics, Floats]] = (
    WeakKeyDictionary()
)
"""Models of half of a document, for the next block of documents."""


def completion_by_thinning(
    topics: GammaPoissonTopics, documents: DocumentBlock, **settings: Any
) -> LikelihoodEstimate:
    """Log-probability of the second half of each document given the first, see `completion`."""
    return completion(topics, documents, half=thinned_half, **settings)


def thinned_half(topics: GammaPoissonTopics) -> tuple[GammaPoissonTopics, Floats]:
    """The model of half of a document's tokens, and how probable words are in each topic (V, K)."""
    known = _halves.get(topics)
    if known is None:
        expected = topics.topic_word.sum(axis=1)  # a topic without words has no tokens either
        per_token = topics.word_topic / np.where(expected > 0, expected, 1.0)
        known = _halves[topics] = (topics.thinned(0.5), per_token)
    return known
