"""Topics of all families: non-negative weights of words."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from models.counts import checked_counts
from models.variational.halved_weights import HalvedWeights, halved_weights

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from scipy import sparse

    from models.arrays import Floats, Ints


class Edges(NamedTuple):
    """Pairs of words that depend on each other, in each topic."""

    topic: Ints
    words: Ints
    weight: Floats  # (E,): positive if the words occur together, negative if they avoid each other


@dataclass(frozen=True, eq=False)
class TopicWords:
    """K topics over V words, each a row of finite weights, none negative."""

    topic_word: Floats  #: (K, V). In the literature these are φ or β.

    has_one_topic_per_document: ClassVar[bool] = False

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        """Pickle fields without cached arrays: unpickled, these would be writeable, another type to
        kernels.
        """
        return type(self), tuple(getattr(self, each.name) for each in fields(self))

    @property
    def n_topics(self) -> int:
        """K."""
        return int(self.topic_word.shape[0])

    @property
    def n_words(self) -> int:
        """V."""
        return int(self.topic_word.shape[1])

    @cached_property
    def word_topic(self) -> Floats:
        """The topics by word (V, K), as inference reads them; computed once."""
        word_topic = np.ascontiguousarray(self.topic_word.T)
        word_topic.setflags(write=False)
        return word_topic

    @cached_property
    def halved_word_topic(self) -> HalvedWeights:
        """`word_topic` as inference of new documents reads it, 4 bytes a weight; computed once."""
        return halved_weights(self.word_topic)

    def top_words(self, n: int = 10) -> NDArray[np.intp]:
        """Return indices (K, n) of the heaviest words of each topic; ties in vocabulary order."""
        return np.argsort(-self.topic_word, axis=1, kind="stable")[:, :n]

    @property
    def word_share(self) -> Floats:
        """Expected share (V,) of each word in the tokens of all documents; sums to 1."""
        raise NotImplementedError

    def with_words(self, order: NDArray[np.intp]) -> Self:
        """Return the same model over its words in another order (V,)."""
        raise NotImplementedError

    def smoothed(self, share: float) -> Self:
        """Return the model with `share` of each topic spread evenly over all words."""
        raise NotImplementedError

    @property
    def edges(self) -> Edges | None:
        """Pairs of words that depend on each other given the topics; None if no words do."""
        return None

    @property
    def score_shape(self) -> Floats | None:
        """Shapes (K,) of the Gamma prior of the topics' scores; None without such a prior."""
        return None

    @property
    def half(self) -> tuple[TopicWords, Floats] | None:
        """The model of a random half of each document's tokens, and the distribution over words
        (V, K) of a token of each topic; None if there is no such model.
        """
        return None

    def transform(self, counts: Any, *, n_jobs: int | None = None) -> Floats:
        """Return the topics (D, K) of documents (D, V): proportions, or scores of factors."""
        raise NotImplementedError

    def proportions(self, counts: Any, *, n_jobs: int | None = None) -> Floats:
        """Return expected shares (D, K) of topics in documents (D, V); rows sum to 1."""
        raise NotImplementedError

    def _check_counts(self, counts: Any) -> sparse.csr_array:
        """Return `counts` (D, V) as sorted CSR, fractions allowed; errors as `checked_counts`."""
        return checked_counts(counts, self.n_words, whole=False)

    def _freeze(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Set fields to these arrays and make them read-only."""
        for name, array in arrays.items():
            array.setflags(write=False)
            object.__setattr__(self, name, array)


class Weights(Protocol):
    """Weights of V words in K topics, none negative."""

    @property
    def topic_word(self) -> Floats:
        """(K, V), none negative."""

    @property
    def word_topic(self) -> Floats:
        """(V, K), the topics by word."""

    @property
    def n_topics(self) -> int:
        """K."""

    @property
    def n_words(self) -> int:
        """V."""


class WeightedTopics(Weights, Protocol):
    """Topics of LDA up to a factor: the part of a model that LDA's estimators need.
    Rows of topics may sum to less than 1: estimates of the probability of tokens are then estimates
    of E_θ[∏_l Σ_k θ_k φ_k,j_l], θ ~ Dirichlet(alpha).
    """

    @property
    def alpha(self) -> Floats:
        """(K,), positive."""


def checked_topic_word(topic_word: Any, **parameters: Any) -> tuple[Floats, dict[str, Floats]]:
    """Return float64 copies of `topic_word` (K, V) and parameters (K,) of its topics.
    Raises ValueError if shapes disagree, or a weight is negative or not finite.
    """
    weights = np.array(topic_word, dtype=np.float64, ndmin=2, order="C")
    vectors = {
        name: np.array(value, dtype=np.float64, ndmin=1) for name, value in parameters.items()
    }
    for name, vector in vectors.items():
        if weights.ndim != 2 or vector.ndim != 1 or weights.shape[0] != vector.shape[0]:
            raise ValueError(
                f"topic_word must be (n_topics, n_words) and {name} (n_topics,), "
                f"found {weights.shape} and {vector.shape}"
            )
    if not weights.size:
        raise ValueError(f"topic_word needs a topic and a word, found shape {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("topic_word must hold finite weights, none negative")
    return weights, vectors


def checked_share(share: float) -> float:
    """Return a share of smoothing. Raises ValueError if the share is not in [0, 1)."""
    if not 0 <= share < 1:
        raise ValueError(f"smoothing must be from 0 to below 1, found {share}")
    return share
