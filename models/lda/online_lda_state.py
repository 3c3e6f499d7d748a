"""State of online variational Bayes, and its report of a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from models.lda.topics import LDATopics

if TYPE_CHECKING:
    from models.arrays import Bools, Floats


@dataclass
class OnlineLDAState:
    """State of a run: with it and the same data, the next step has the same bits.

    The parameters λ of q(φ) are stored as λ_wk = eta_w + scale · excess_wk. The step
    λ ← (1-ρ) λ + ρ (eta + D/S · expected counts) then changes only the words of its batch: for all
    others it is `scale ← (1-ρ) scale`, so that its cost does not depend on the vocabulary.
    """

    excess: Floats
    """(V, K), the learned part of λ, by word so that a word's topics are contiguous."""
    scale: float
    excess_sum: Floats  #: (K,), the sum of `excess` over words.
    alpha: Floats  #: (K,).
    eta: Floats  #: (V,).
    frozen: Bools  #: (V,), words that keep λ = eta.
    n_batches: int
    n_documents: int  #: Documents seen, counted once a pass.
    seed: int  #: Seed of all random numbers, such as the order of documents.
    n_streamed: int = 0  #: Batches of `partial_fit`; `iterate` counts its passes from there.
    n_stream_documents: int = 0
    """Documents of a stream so far: in `partial_fit`, or all at once in `fit`."""
    n_stream_tokens: float = 0.0
    """Tokens of these documents; 0 if an earlier version did not count them."""
    is_started: bool = True
    """Whether topics have left their start: not before the first full batch of a stream."""
    time: float = -1.0
    """t of the next step size: steps so far, a small batch of a stream being a part of one. By
    default `n_batches`."""

    def __post_init__(self) -> None:
        if self.time < 0:
            self.time = float(self.n_batches)
        if self.n_streamed and not self.n_stream_documents:  # of an earlier version
            self.n_stream_documents = self.n_documents

    @property
    def topic_word_dirichlet(self) -> Floats:
        """λ (K, V)."""
        word_topic: Floats = self.eta[:, None] + self.scale * self.excess
        return word_topic.T

    def learn_from(self, word_topic: Floats) -> None:
        """Set λ to eta plus expected counts (V, K)."""
        self.excess, self.scale = np.where(self.frozen[:, None], 0.0, word_topic), 1.0
        self.excess_sum = self.excess.sum(axis=0)

    def append_words(self, excess: Floats) -> None:
        """Append words with the learned part `excess` (n, K) of λ and the last word's eta."""
        n_new = len(excess)
        self.excess = np.concatenate((self.excess, excess))
        self.excess_sum = self.excess_sum + excess.sum(axis=0)
        self.eta = np.append(self.eta, np.full(n_new, self.eta[-1]))
        self.frozen = np.append(self.frozen, np.zeros(n_new, np.bool_))

    def topics(self) -> LDATopics:
        """Return the posterior mean topics and the current prior."""
        return LDATopics.from_weights(self.topic_word_dirichlet, self.alpha)


@dataclass(frozen=True)
class OnlineLDAStep:
    """Report of a batch."""

    n_batches: int
    n_documents: int
    n_passes: float  #: Passes over the corpus so far, including the fraction of the present one.
    mean_iterations: float  #: Mean number of E-step iterations of a document in this batch.
    step_size: float  #: ρ_t of this batch.
