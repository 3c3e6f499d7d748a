"""Topics of LDA, with the prior of a document's topic proportions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from models.topics import TopicWords, checked_share, checked_topic_word
from models.variational.cvb0 import infer_by_cvb0
from models.variational.fixed_topics import infer_given_topics
from models.variational.likely_topics import MAX_TOPICS, LikelyTopics, likely_topics

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy import sparse

    from corpora.formats.mallet_state import MalletState
    from models.arrays import Floats

INFERENCES = ("variational", "cvb0")
FEWEST_PASSES, MOST_PASSES, TOKENS_A_PASS = 3, 200, 200.0
"""Passes over a document by CVB0, and one for each so many tokens if that is more."""


@dataclass(frozen=True, eq=False)
class LDATopics(TopicWords):
    """LDA with its topics fixed: θ_d ~ Dirichlet(alpha), each word from Σ_k θ_dk topic_word_k.

    In the literature the topics are φ or β, and alpha is α. Rows of `topic_word` sum to 1.

    Raises ValueError if shapes disagree, a value is negative or not finite, alpha is not positive,
    or a row of `topic_word` does not sum to 1 within 1e-5 (within that, rows are normalised
    exactly).
    """

    alpha: Floats  #: (K,), positive.

    def __post_init__(self) -> None:
        topic_word, vectors = checked_topic_word(self.topic_word, alpha=self.alpha)
        alpha = vectors["alpha"]
        if not np.isfinite(alpha).all() or (alpha <= 0).any():
            raise ValueError("alpha must be positive and finite")
        sums = topic_word.sum(axis=1)
        if (np.abs(sums - 1.0) > 1e-5).any():
            k = int(np.argmax(np.abs(sums - 1.0)))
            raise ValueError(
                f"each row of topic_word must sum to 1, row {k} sums to {sums[k]:.8g}: "
                "divide each row by its sum"
            )
        # Normalised rows stay as they are, so that saving and loading change no bit.
        topic_word /= np.where(np.abs(sums - 1.0) > 1e-12, sums, 1.0)[:, None]
        self._freeze({"topic_word": topic_word, "alpha": alpha})

    @property
    def word_share(self) -> Floats:
        """(V,), probability of each word as a token of a new document; sums to 1."""
        share: Floats = self.alpha @ self.topic_word / self.alpha.sum()
        return share

    @property
    def half(self) -> tuple[Self, Floats]:
        """The model itself, for half of a document, and its topics by word (V, K)."""
        return self, self.word_topic

    def with_words(self, order: NDArray[np.intp]) -> Self:
        """Return the same model over its words in another order (V,)."""
        return type(self)(self.topic_word[:, order], self.alpha)

    def smoothed(self, share: float) -> Self:
        """Return topics with a `share` s in [0, 1) spread evenly over words: (1 - s) φ + s / V.
        No word is impossible then, and the probability of known words falls a little.
        Raises ValueError if `share` is not in [0, 1).
        """
        share = checked_share(share)
        return type(self)((1.0 - share) * self.topic_word + share / self.n_words, self.alpha)

    def proportions(self, counts: Any, *, n_jobs: int | None = None) -> Floats:
        """Return expected shares (D, K) of the topics in documents' tokens, as `transform`."""
        return self.transform(counts, n_jobs=n_jobs)

    @cached_property
    def _likely(self) -> LikelyTopics:
        """The likeliest topics of each word, which CVB0 reads; computed once."""
        return likely_topics(self.word_topic)

    def transform(
        self,
        counts: Any,
        *,
        inference: str = "variational",
        max_iterations: int | None = None,
        tolerance: float | None = None,
        n_jobs: int | None = None,
    ) -> Floats:
        """Return topic proportions (D, K) of documents (D, V). Fractions are allowed.

        `inference` is "variational" or "cvb0":

        - "variational": the mean of q(θ) at its fixed point (Hoffman, Blei & Bach 2010). A document
          is done when an iteration changes γ by less than `tolerance`, on average over topics, 1e-4
          by default, or after `max_iterations`, 200.
        - "cvb0": collapsed variational inference of order zero (Asuncion et al. 2009), nearly as
          fast as a sweep of sampling with many topics: it iterates the few topics of which the
          words of a document say most, with the 48 likeliest topics of each word and the mean of
          the others (in documents of more than 1,000 tokens, with all). A document is done when a
          pass moves less than `tolerance` of its tokens, 0.002, or after `max_iterations`: 3, or
          one for each 200 tokens if that is more, and a first pass. A document that so few topics
          cannot explain is left to the other, with its defaults, as are all of more than 65,535
          topics.

        Raises ValueError if `counts` has another number of words, or a value that is no count, or
        for another inference.
        """
        counts = self._check_counts(counts)
        if inference not in INFERENCES:
            raise ValueError(f"inference must be one of {', '.join(INFERENCES)}: {inference!r}")
        if inference == "cvb0":
            return self._transform_by_cvb0(counts, max_iterations, tolerance, n_jobs)
        dirichlet = infer_given_topics(
            counts,
            self.word_topic,
            self.halved_word_topic,
            self.alpha,
            max_iterations=200 if max_iterations is None else max_iterations,
            tolerance=1e-4 if tolerance is None else tolerance,
            n_jobs=n_jobs,
        )
        dirichlet /= dirichlet.sum(axis=1, keepdims=True)
        return dirichlet

    def _transform_by_cvb0(
        self,
        counts: sparse.csr_array,
        max_iterations: int | None,
        tolerance: float | None,
        n_jobs: int | None,
    ) -> Floats:
        """Return proportions (D, K); of some documents those of the mean field."""
        if self.n_topics > MAX_TOPICS:
            return self.transform(counts, n_jobs=n_jobs)
        passes = np.full(counts.shape[0], max_iterations or 0, dtype=np.int64)
        if max_iterations is None:
            n_tokens = np.minimum(counts.sum(axis=1), TOKENS_A_PASS * MOST_PASSES)
            passes = np.maximum(FEWEST_PASSES, n_tokens // TOKENS_A_PASS).astype(np.int64)
        proportions, is_inferred = infer_by_cvb0(
            counts,
            self.word_topic,
            self._likely,
            self.alpha,
            passes,
            0.002 if tolerance is None else tolerance,
            n_jobs=n_jobs,
        )
        if not is_inferred.all():
            proportions[~is_inferred] = self.transform(counts[~is_inferred], n_jobs=n_jobs)
        return proportions

    @classmethod
    def from_weights(cls, topic_word_weight: ArrayLike, alpha: ArrayLike) -> Self:
        """Return topics from non-negative weights (K, V), such as counts or Dirichlet parameters.
        `alpha` may be a number for all topics.
        """
        weight = np.asarray(topic_word_weight, dtype=np.float64)
        prior = np.asarray(alpha, dtype=np.float64)
        sums = weight.sum(axis=1, keepdims=True)
        if not (sums > 0).all():
            raise ValueError("every topic needs a word of positive weight")
        return cls(weight / sums, np.broadcast_to(prior, weight.shape[:1]))

    @classmethod
    def from_sklearn(cls, model: Any) -> Self:
        """Return posterior mean topics of a fitted `LatentDirichletAllocation` of scikit-learn."""
        return cls.from_weights(model.components_, model.doc_topic_prior_)

    @classmethod
    def from_gensim(cls, model: Any) -> Self:
        """Return posterior mean topics of a `gensim.models.LdaModel` or `LdaMulticore`."""
        return cls.from_weights(model.state.get_lambda(), model.alpha)

    @classmethod
    def from_tomotopy(cls, model: Any) -> Self:
        """Return posterior mean topics of a trained `tomotopy.LDAModel`, over its `used_vocabs`.
        Words that tomotopy dropped (`min_cf`, `rm_top`) have no column.
        Raises TypeError if the model is of another kind: HDPModel and others are derived from
        LDAModel; ValueError if the model has not been trained.
        """
        if type(model).__name__ != "LDAModel":
            raise TypeError(f"expected a tomotopy LDAModel, found a {type(model).__name__}")
        if not len(model.used_vocabs):
            raise ValueError("the tomotopy model has no words yet: train it first")
        return cls.from_weights([model.get_topic_word_dist(k) for k in range(model.k)], model.alpha)

    @classmethod
    def from_mallet(cls, state: MalletState) -> Self:
        """Return posterior mean topics of MALLET's state, φ_kw ∝ n_kw + beta.
        Raises ValueError if the state does not say alpha and beta, or is empty.
        """
        if state.alpha is None or state.beta is None:
            raise ValueError("the state does not say alpha and beta, without which it is no model")
        if not state.vocabulary:
            raise ValueError("the state has no tokens")
        return cls.from_weights(state.n_kw + state.beta, state.alpha)

    @classmethod
    def from_ldac(cls, log_topic_word: ArrayLike, alpha: ArrayLike) -> Self:
        """Return topics of lda-c, from log φ (K, V), which is -100 for words without tokens.
        `alpha` may be a number for all topics.
        """
        return cls.from_weights(np.exp(np.asarray(log_topic_word, dtype=np.float64)), alpha)
