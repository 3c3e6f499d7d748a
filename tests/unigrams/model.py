"""Mixture of unigrams: a document is of one topic, and its words are drawn from that.

z_d ~ Categorical(π),  w_dn ~ φ_{z_d}   (Nigam, McCallum, Thrun & Mitchell 2000, Sec. 3)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from models.estimator import TopicEstimator
from models.family import Family, TrainerSpec, ValidationInterval
from models.parallel import effective_n_jobs
from models.seed import seed_from
from models.topics import TopicWords, checked_share, checked_topic_word

Floats = NDArray[np.float64]

PSEUDO_COUNT = 0.1
"""Of each word in each topic and of each topic, so that nothing is impossible."""


@dataclass(frozen=True, eq=False)
class UnigramMixture(TopicWords):
    """Rows of `topic_word` sum to 1."""

    share: Floats
    """(K,), π."""

    has_one_topic_per_document = True

    def __post_init__(self):
        topic_word, vectors = checked_topic_word(self.topic_word, share=self.share)
        self._freeze({"topic_word": topic_word, **vectors})

    @property
    def word_share(self):
        return np.asarray(self.share @ self.topic_word)

    def with_words(self, order):
        return type(self)(self.topic_word[:, order], self.share)

    def smoothed(self, share):
        share = checked_share(share)
        return type(self)((1.0 - share) * self.topic_word + share / self.n_words, self.share)

    def log_joint(self, counts):
        """(D, K), log of π_k times the probability of a document's tokens in topic k."""
        with np.errstate(divide="ignore"):
            log_topic_word = np.log(self.topic_word)
        impossible = np.isneginf(log_topic_word)
        found = counts @ np.where(impossible, 0.0, log_topic_word).T
        has_impossible = counts @ impossible.T.astype(float) > 0
        return np.where(has_impossible, -np.inf, found) + np.log(self.share)

    def transform(self, counts, *, n_jobs=None):
        del n_jobs
        return np.asarray(softmax(self.log_joint(self._check_counts(counts)), axis=1))

    def proportions(self, counts, *, n_jobs=None):
        return self.transform(counts, n_jobs=n_jobs)


@dataclass
class UnigramMixtureState:
    topic_word: Floats
    share: Floats
    seed: int
    n_documents: int = 0
    n_iterations: int = 0


class EMStep(NamedTuple):
    n_documents: int
    n_passes: float


class UnigramMixtureEM(TopicEstimator):
    """Mixture of unigrams by expectation maximisation from random topics."""

    state_: UnigramMixtureState

    def __init__(
        self,
        n_topics: int = 5,
        *,
        n_iter: int = 30,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.n_iter = n_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def check_settings(self):
        self._check_integers({"n_topics": 1, "n_iter": 1}, ())
        effective_n_jobs(self.n_jobs)

    def fit(self, X, y=None):
        for _ in self.iterate(X, y):
            pass
        return self

    def resume(self, X, state):
        self._begin(X, state)
        return self

    def iterate(self, X, y=None, state=None):
        del y
        counts, state = self._begin(X, state), self.state_
        while state.n_iterations < self.n_iter:
            responsibilities = softmax(self.topics_.log_joint(counts), axis=1)
            weights = (counts.T @ responsibilities).T + PSEUDO_COUNT
            state.topic_word = weights / weights.sum(axis=1, keepdims=True)
            share = responsibilities.sum(axis=0) + PSEUDO_COUNT
            state.share = share / share.sum()
            state.n_iterations += 1
            state.n_documents += counts.shape[0]
            yield EMStep(state.n_documents, float(state.n_iterations))

    @property
    def topics_(self):
        check_is_fitted(self, "state_")
        return UnigramMixture(self.state_.topic_word, self.state_.share)

    def _begin(self, X, state):
        self.check_settings()
        counts = self._check_counts(X, reset=True)
        if state is None:
            seed, n_topics = seed_from(self.random_state), self.n_topics
            topic_word = np.random.default_rng(seed).dirichlet(np.ones(counts.shape[1]), n_topics)
            state = UnigramMixtureState(topic_word, np.full(n_topics, 1 / n_topics), seed)
        elif state.topic_word.shape != (self.n_topics, counts.shape[1]):
            raise ValueError(f"the state is of topics {state.topic_word.shape}")
        self.state_ = state
        return counts


FAMILY = Family(
    name="unigrams",
    topics={"unigrams": UnigramMixture},
    trainers=(
        TrainerSpec(
            name="unigrams",
            title="Mixture of unigrams, EM",
            model="unigrams",
            import_estimator=lambda: UnigramMixtureEM,
            state=UnigramMixtureState,
            settings=(),
            interval=ValidationInterval(documents=1000, passes=1),
            quick={"n_iter": 4},
        ),
    ),
)
