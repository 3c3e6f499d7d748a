"""Model of Gamma-Poisson factor analysis: topics, and the prior of a document's scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from models.gamma_poisson.tilted import TiltedTopics
from models.topics import TopicWords, checked_share, checked_topic_word
from models.variational.fixed_topics import infer_given_topics

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from models.arrays import Floats


@dataclass(frozen=True, eq=False)
class GammaPoissonTopics(TopicWords):
    """Gamma-Poisson factor analysis with its topics fixed (Capdevila et al. 2018, eqs. 1 and 3).

        θ_dk ~ Gamma(shape r_k, scale p_k / (1 - p_k)),   y_dw ~ Poisson(Σ_k θ_dk φ_kw)

    In the literature `topic_word` is Φ, the factor loadings, whose rows need not sum to 1, `shape`
    is r, `probability` p and the scores θ. Unlike LDA it is a model of documents' lengths, too.

    Raises ValueError if shapes disagree, a weight is negative or not finite, a shape not positive,
    or a probability not strictly between 0 and 1.
    """

    shape: Floats  #: (K,), positive. In the literature this is r.
    probability: Floats  #: (K,), between 0 and 1. In the literature this is p.

    def __post_init__(self) -> None:
        topic_word, vectors = checked_topic_word(
            self.topic_word, shape=self.shape, probability=self.probability
        )
        shape, probability = vectors["shape"], vectors["probability"]
        if not np.isfinite(shape).all() or (shape <= 0).any():
            raise ValueError("shape must be positive and finite: it is r of a Gamma distribution")
        if not ((probability > 0) & (probability < 1)).all():
            raise ValueError(
                "probability must be strictly between 0 and 1: the scale of topic k is "
                f"p_k / (1 - p_k); found {probability.min():g} to {probability.max():g}"
            )
        if not topic_word.any():
            raise ValueError("topic_word needs a positive weight, found only zeros")
        self._freeze({"topic_word": topic_word, "shape": shape, "probability": probability})

    @property
    def score_shape(self) -> Floats:
        """(K,), r."""
        return self.shape

    @property
    def rate(self) -> Floats:
        """(K,), (1 - p_k) / p_k: the inverse of the scale of the scores."""
        return (1.0 - self.probability) / self.probability

    @cached_property
    def tilted(self) -> TiltedTopics:
        """LDA's topics, up to a factor, with the same posterior and likelihood."""
        return TiltedTopics.of(self.topic_word, self.shape, self.probability)

    @property
    def word_share(self) -> Floats:
        """(V,), expected counts of words over the expected length; sums to 1."""
        expected = (self.shape / self.rate) @ self.topic_word
        share: Floats = expected / expected.sum()
        return share

    def with_words(self, order: NDArray[np.intp]) -> Self:
        """The model of some of its words or all, by number; others are integrated over."""
        return type(self)(self.topic_word[:, order], self.shape, self.probability)

    def smoothed(self, share: float) -> Self:
        """Topics of which `share` is even over all words: (1 - s) φ_kw + s Φ_k / V, Φ_k = Σ_w φ_kw.
        The distribution of lengths stays. Raises ValueError if `share` is not in [0, 1).
        """
        share = checked_share(share)
        even = self.topic_word.sum(axis=1, keepdims=True) / self.n_words
        return type(self)(
            (1.0 - share) * self.topic_word + share * even, self.shape, self.probability
        )

    def thinned(self, share: float) -> Self:
        """The model of tokens kept with probability `share`; ValueError if it is not in (0, 1]."""
        if not 0 < share <= 1:
            raise ValueError(f"share must be above 0 and at most 1, found {share}")
        return type(self)(share * self.topic_word, self.shape, self.probability)

    @cached_property
    def half(self) -> tuple[Self, Floats]:
        """The model of half of a document's tokens, φ / 2, and each topic's distribution (V, K).

        The expected share of a topic in the tokens of the other half takes the place of θ̂ in
        document completion, so that the words of that half are scored and not their number, as by
        LDA.
        """
        expected = self.topic_word.sum(axis=1)  # a topic without words has no tokens either
        return self.thinned(0.5), self.word_topic / np.where(expected > 0, expected, 1.0)

    def transform(
        self,
        counts: Any,
        *,
        max_iterations: int = 200,
        tolerance: float = 1e-4,
        n_jobs: int | None = None,
    ) -> Floats:
        """Scores (D, K) of documents (D, V): the mean of the variational q(θ), a Gamma for each
        topic.

        With q(θ_dk) = Gamma(γ_dk, rate b_k), b_k = Φ_k + (1 - p_k) / p_k, the fixed point of γ is
        that of LDA with alpha = r and topics φ_kw / b_k. Fractions are allowed. Raises ValueError
        if `counts` has another number of words, or a value that is no count.
        """
        gamma = infer_given_topics(
            self._check_counts(counts),
            self.tilted.word_topic,
            self.tilted.halved_word_topic,
            self.shape,
            max_iterations=max_iterations,
            tolerance=tolerance,
            n_jobs=n_jobs,
        )
        scores: Floats = gamma / (self.topic_word.sum(axis=1) + self.rate)
        return scores

    def proportions(self, counts: Any, *, n_jobs: int | None = None) -> Floats:
        """Expected shares (D, K) of the topics in the tokens of documents: θ_dk Φ_k, normalised;
        errors as `transform`.
        """
        expected = self.transform(counts, n_jobs=n_jobs) * self.topic_word.sum(axis=1)
        shares: Floats = expected / expected.sum(axis=1, keepdims=True)
        return shares

    @classmethod
    def from_lda(cls, topic_word: ArrayLike, alpha: ArrayLike, probability: float) -> Self:
        """The model that is LDA, given how long a document is: r = alpha, and one p for all topics.
        `topic_word` (K, V) has rows that sum to 1. The length is then NB(Σ alpha, p).
        """
        shape = np.asarray(alpha, dtype=np.float64)
        each = np.full(len(shape), probability)
        return cls(np.asarray(topic_word, dtype=np.float64), shape, each)
