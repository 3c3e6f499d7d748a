"""Quick trainers and small models of every family, the one that only tests know included.

A new family has `quick` settings and other `ways` in the specs of its trainers, and adds to
`MODEL_OF` how its topics are made: the tests of the contract need no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from evaluation import methods
from models import GammaPoissonTopics, LDATopics, LPMRFClusters, LPMRFTopics, families, parallel
from tests import unigrams
from tests.unigrams.model import UnigramMixture

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

    from models.family import Trainer, TrainerSpec

FAMILIES = (*families.FAMILIES, unigrams.FAMILY)
SCORINGS = (*methods.SCORINGS, *unigrams.SCORINGS)
TRAINERS = {trainer.name: trainer for family in FAMILIES for trainer in family.trainers}
TOPICS = {name: kind for family in FAMILIES for name, kind in family.topics.items()}


# --- trainers -------------------------------------------------------------------------------------

LOWEST = {"burn_in": 0, "word_budget": 0, "staleness": 0, "n_temperatures": 2}
"""Lowest values of settings that are whole numbers; of all others it is 1."""
SINGLE_THREADED = ("unigrams",)
"""Trainers that never take more than one thread."""
CHECKED_QUICKLY = ("online", "unigrams")
"""Trainers that scikit-learn's checks take no more than seconds for."""


@dataclass(frozen=True, eq=False)
class Case:
    spec: TrainerSpec
    settings: Mapping[str, Any]
    way: str = ""

    def __str__(self) -> str:
        return f"{self.spec.name}{self.way}"

    def build(self, n_topics: int = 3, **settings: Any) -> Trainer:
        chosen = {k: v for k, v in self.spec.chosen_by.items() if k in self.spec.settings}
        return self.spec.estimator(
            **{"n_topics": n_topics, "random_state": 0, **chosen, **self.settings, **settings}
        )


CASES = tuple(Case(spec, spec.quick) for spec in TRAINERS.values())
"""Every trainer once."""
WAYS = tuple(
    Case(spec, {**spec.quick, **way}, "".join(f"-{k}={v}" for k, v in way.items()))
    for spec in TRAINERS.values()
    for way in spec.ways
)

BLOCKS = {
    "models.gamma_poisson.factor_updates.ENTRIES_A_BLOCK": 20,
    "models.gibbs.sweep.WORD_BLOCK": 4,
    "models.gibbs.sweep.ITEM_BLOCK": 4,
    "models.gibbs.tokens.TOKENS_A_CELL": 10,
    "models.lda.e_step.DOCUMENT_BLOCK": 4,
    "models.lda.e_step.WORD_BLOCK": 4,
    "models.lda.m_step.WORD_BLOCK": 4,
    "models.poisson_mrf.smc_partition.CHAINS_AT_ONCE": 2,
    "models.poisson_mrf.node_regressions.NODE_BLOCK": 2,
    "models.poisson_mrf.topic_matrices.DOCUMENT_BLOCK": 4,
    "models.poisson_mrf.topic_model.DOCUMENT_BLOCK": 4,
    "models.variational.inference.DOCUMENT_BLOCK": 4,
}
"""Sizes of the blocks of work that threads share out, so that small data are several."""


def make_blocks_small(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Let small data be several blocks of work; the sizes of the pools of threads that do it."""
    for name, size in BLOCKS.items():
        monkeypatch.setattr(name, size)
    pools, pool_of = set(), parallel._pool
    monkeypatch.setattr(parallel, "_pool", lambda n: pools.add(n) or pool_of(n))
    return pools


def training_counts(n_docs=40, n_words=10, seed=0):
    """Counts (D, V) of which each document has a token, and none of more than a few."""
    counts = np.random.default_rng(seed).poisson(0.8, size=(n_docs, n_words)).astype(np.int32)
    counts[:, 0] += counts.sum(axis=1) == 0
    return sparse.csr_array(counts)


# --- topics ---------------------------------------------------------------------------------------


def gamma_poisson_of(topic_word, prior):
    rng = np.random.default_rng(7)
    weight = np.asarray(topic_word) * rng.uniform(1.0, 9.0, (len(prior), 1))
    return GammaPoissonTopics(weight, prior, rng.uniform(0.2, 0.8, len(prior)))


def fields_of(kind):
    """Function that makes Poisson MRFs of a kind, in which some words bar each other."""

    def model_of_weights(topic_word, prior):
        rng, (n_topics, n_words) = np.random.default_rng(7), np.shape(topic_word)
        pairs = [(k, s, t) for k in range(n_topics) for t in range(n_words) for s in range(t)]
        edges = np.array([each for each in pairs if rng.random() < 0.6]).reshape(-1, 3)
        table = np.cumsum(rng.exponential(0.2, (n_topics, 9)), axis=1)
        table[:, 0] = 0.0
        return kind(
            topic_word,
            edges[:, 0],
            edges[:, 1:],
            -rng.exponential(0.1, len(edges)),
            np.where(np.arange(n_topics) % 2, np.inf, 5.0),
            table,
            prior,
        )

    return model_of_weights


MODEL_OF = {
    LDATopics: LDATopics,
    GammaPoissonTopics: gamma_poisson_of,
    LPMRFClusters: fields_of(LPMRFClusters),
    LPMRFTopics: fields_of(LPMRFTopics),
    UnigramMixture: lambda topic_word, prior: UnigramMixture(topic_word, prior / np.sum(prior)),
}
"""Functions of weights (K, V) whose rows sum to 1 and a positive prior (K,) to topics."""


def model_of(kind, n_topics=3, n_words=6, seed=0):
    """Topics of a kind, in which every word is possible."""
    rng = np.random.default_rng(seed)
    topic_word = rng.dirichlet(np.ones(n_words), n_topics) + 1e-9
    topic_word /= topic_word.sum(axis=1, keepdims=True)
    return MODEL_OF[kind](topic_word, rng.gamma(1.0, 1.0, n_topics) + 0.1)


def may_have_zeros(kind):
    """Whether a word can be impossible in topics of a kind."""
    try:
        MODEL_OF[kind](np.eye(2), np.ones(2))
    except ValueError:
        return False
    return True


def documents(n_docs=9, n_words=6, seed=1, mean=1.0):
    """Counts (D, V), some of no words, among them the first and the last."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(mean, (n_docs, n_words))
    counts[rng.random(n_docs) < 0.2] = 0
    counts[[0, -1]] = 0
    return sparse.csr_array(counts.astype(np.int64))
