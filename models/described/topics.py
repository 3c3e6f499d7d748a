"""Topics of any origin: their words, weights of words if known, shares in documents if known.

The least that a topic model tells is a list of words for each topic. Most tell weights too, and the
shares of topics in documents; few a prior, without which documents have no likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from models.lda.topics import LDATopics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from models.arrays import Floats
    from models.saved import SavedModel

TOP_WORDS = 50  # Words of a topic that are told of weights


@dataclass(frozen=True, eq=False)
class DescribedTopics:
    """K topics as some program described them.

    Raises ValueError if the parts contradict each other.
    """

    words: tuple[tuple[str, ...], ...]
    """(K,), words of each topic, the heaviest first; a topic may have none."""
    vocabulary: tuple[str, ...] = ()  #: (V,), words of the columns of `topic_word`.
    topic_word: Floats | None = None
    """(K, V), finite weights, not necessarily distributions: they may be negative. None if only
    words are known."""
    doc_topic: Floats | None = None
    """(D, K), weights of topics in documents; a row of zeros is a document of no topic."""
    doc_ids: tuple[str, ...] | None = None
    """(D,), ids of the documents of `doc_topic`; None if they are known by their order alone."""
    alpha: Floats | None = None  #: (K,), Dirichlet prior of topics in documents, if known.

    def __post_init__(self) -> None:
        n_topics = len(self.words)
        if not n_topics:
            raise ValueError("there is no topic")
        for k, words in enumerate(self.words):
            if len(set(words)) != len(words):
                raise ValueError(f"topic {k} has a word twice: {' '.join(words[:10])}")
        if self.topic_word is not None:
            wanted = (n_topics, len(self.vocabulary))
            if self.topic_word.shape != wanted:
                raise ValueError(
                    f"topic_word must be {wanted}, of {n_topics} topics and "
                    f"{len(self.vocabulary)} words, found {self.topic_word.shape}"
                )
            if not np.isfinite(self.topic_word).all():
                raise ValueError("topic_word must hold finite weights")
            if len(set(self.vocabulary)) != len(self.vocabulary):
                raise ValueError("a word is in the vocabulary twice")
        self._check_documents(n_topics)
        if self.alpha is not None and (
            self.alpha.shape != (n_topics,)
            or not (np.isfinite(self.alpha) & (self.alpha > 0)).all()
        ):
            raise ValueError(
                f"alpha must be {n_topics} positive numbers, one a topic, found {self.alpha}"
            )

    def _check_documents(self, n_topics: int) -> None:
        if self.doc_topic is None:
            return
        if self.doc_topic.ndim != 2 or self.doc_topic.shape[1] != n_topics:
            raise ValueError(
                f"doc_topic must be (n_docs, {n_topics}), a column a topic, found "
                f"{self.doc_topic.shape}"
            )
        if not np.isfinite(self.doc_topic).all():
            raise ValueError("doc_topic must hold finite weights")
        if self.doc_ids is not None:
            if len(self.doc_ids) != len(self.doc_topic):
                raise ValueError(
                    f"doc_ids must be {len(self.doc_topic)}, one a row, found {len(self.doc_ids)}"
                )
            if len(set(self.doc_ids)) != len(self.doc_ids):
                raise ValueError("a document has weights of topics twice: ids must be different")

    @classmethod
    def from_weights(
        cls,
        topic_word: Any,
        vocabulary: Sequence[str],
        doc_topic: Any = None,
        doc_ids: Sequence[str] | None = None,
        alpha: Any = None,
        words: Sequence[Sequence[str]] | None = None,
    ) -> Self:
        """Return topics of weights (K, V); words are the heaviest, unless `words` are given.

        `alpha` is a number, or one for each topic. Raises ValueError if the arrays contradict each
        other.
        """
        weights = np.array(topic_word, dtype=np.float64, ndmin=2)
        named = tuple(map(str, vocabulary))
        if weights.ndim != 2 or weights.shape[1] != len(named):
            raise ValueError(
                f"topic_word must be (n_topics, {len(named)}), a column a word of the vocabulary, "
                f"found {weights.shape}"
            )
        if not np.isfinite(weights).all():
            raise ValueError("topic_word must hold finite weights")
        prior = None
        if alpha is not None:
            prior = np.array(alpha, dtype=np.float64)
            prior = np.full(len(weights), prior) if prior.ndim == 0 else prior
        return cls(
            heaviest_words(weights, named) if words is None else _as_tuples(words),
            named,
            weights,
            None if doc_topic is None else np.array(doc_topic, dtype=np.float64),
            None if doc_ids is None else tuple(map(str, doc_ids)),
            prior,
        )

    @classmethod
    def from_words(
        cls,
        words: Sequence[Sequence[str]],
        doc_topic: Any = None,
        doc_ids: Sequence[str] | None = None,
    ) -> Self:
        """Return topics of words alone, the heaviest first."""
        return cls(
            _as_tuples(words),
            doc_topic=None if doc_topic is None else np.array(doc_topic, dtype=np.float64),
            doc_ids=None if doc_ids is None else tuple(map(str, doc_ids)),
        )

    @classmethod
    def of(cls, saved: SavedModel) -> Self:
        """Return the topics of a model of our families; it has its own inference and likelihood."""
        weights = saved.topics.topic_word
        return cls(heaviest_words(weights, saved.vocabulary), saved.vocabulary, weights)

    @property
    def n_topics(self) -> int:
        """K."""
        return len(self.words)

    @property
    def are_distributions(self) -> bool:
        """Whether there are weights, none negative, and some in each topic."""
        weights = self.topic_word
        return weights is not None and bool((weights >= 0).all() and weights.any(axis=1).all())

    @property
    def lda(self) -> LDATopics | None:
        """Topics of LDA, by which documents have a likelihood; None if `no_likelihood` says why."""
        if self.no_likelihood or self.topic_word is None or self.alpha is None:
            return None
        return LDATopics.from_weights(self.topic_word, self.alpha)

    @property
    def no_likelihood(self) -> str:
        """Reason why documents have no likelihood under these topics; empty if they have one."""
        if self.topic_word is None:
            return "word lists have no weights"
        if (self.topic_word < 0).any():
            return "weights are negative"
        if not self.are_distributions:
            return "a topic has no weight"
        if self.alpha is None:
            return "no prior of topics in documents (alpha)"
        return ""


def heaviest_words(
    weights: Floats, vocabulary: Sequence[str], n: int = TOP_WORDS
) -> tuple[tuple[str, ...], ...]:
    """Return the `n` heaviest words of each topic (K, V), without those of weight 0 or less."""
    order = np.argsort(-weights, axis=1, kind="stable")[:, :n]
    return tuple(
        tuple(vocabulary[w] for w in some if weights[k, w] > 0)
        for k, some in enumerate(order.tolist())
    )


def _as_tuples(words: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    for k, some in enumerate(words):
        if isinstance(some, str):
            raise ValueError(f"topic {k} must be a list of words, found the text {some[:60]!r}")  # noqa: TRY004
    return tuple(tuple(str(word) for word in some if str(word)) for some in words)
