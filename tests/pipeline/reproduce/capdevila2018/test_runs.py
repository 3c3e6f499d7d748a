from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from evaluation import log_likelihood
from models import BetaGammaPFA, GammaPoissonTopics
from pipeline.cache.results import ResultCache
from pipeline.reproduce import trials
from pipeline.reproduce.capdevila2018.runs import (
    ESTIMATORS,
    Budget,
    Run,
    cached_scores,
    score,
    trainer_of,
)


@pytest.fixture(scope="module")
def topics():
    weights = np.random.default_rng(0).dirichlet(np.ones(8), 3)
    return GammaPoissonTopics(weights, np.ones(3), np.full(3, 0.6))


@pytest.fixture(scope="module")
def documents():
    return sparse.csr_array(np.random.default_rng(1).poisson(0.5, (6, 8)).astype(np.int64))


def test_shorter_runs_come_first():
    assert Budget(3, {"DS": (10, 40), "L2R": (20,)}, 2).runs == [
        *(Run("DS", 10, 0), Run("DS", 10, 1)),
        *(Run("L2R", 20, 0), Run("L2R", 20, 1)),
        *(Run("DS", 40, 0), Run("DS", 40, 1)),
    ]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_run_is_one_call(name, topics, documents):
    m = list(ESTIMATORS).index(name)
    found = score(topics, documents, Run(name, 15, 2), 7)
    seed = int(np.random.default_rng([7, m, 15, 2]).integers(2**32))
    expected = log_likelihood(
        topics, documents, ESTIMATORS[name], n_samples=15, random_state=seed, n_jobs=2
    )
    assert expected.convention == "bag-and-length"
    np.testing.assert_array_equal(found["log_likelihood"], expected.log_likelihood)
    np.testing.assert_array_equal(found["standard_error"], expected.standard_error)
    assert found["seconds"] > 0


def test_runs_have_random_numbers_of_their_own(topics, documents):
    runs = [Run("DS", 15), Run("DS", 15, 1), Run("DS", 16), Run("L2R", 15)]

    def total(run, seed=1):
        return float(score(topics, documents, run, seed)["log_likelihood"].sum())

    found = [*map(total, runs), total(runs[0], 2)]
    assert len(set(found)) == 5
    assert total(runs[0]) == found[0]


def test_no_warnings_of_known_bad_estimators(topics, documents, caplog):
    for name in ESTIMATORS:
        score(topics, documents[:1], Run(name, 2), 0)
    assert not caplog.records


def test_what_takes_longer_has_more_steps(topics, documents, monkeypatch):
    seen = []

    class Progress(trials.Progress):
        def update(self, n, note=None):
            seen.append((n, note))

    monkeypatch.setattr(trials, "Progress", Progress)
    mean_words = np.mean([(row > 0).sum() for row in documents.toarray()])
    budget = Budget(3, {"DS": (5,), "L2R exact": (5,)})
    cached_scores(ResultCache().group("x"), topics, documents, budget, 1, "x")
    names = ["DS, 5 samples", "L2R exact, 5 samples"]
    assert seen[::2] == [(0, name) for name in names]
    assert [n for n, _ in seen[1::2]] == pytest.approx([5, 5 * mean_words])


def test_the_papers_training():
    rng = np.random.default_rng(2)
    counts = sparse.csr_array(rng.poisson(0.7, (30, 12)).astype(np.int64))
    budget = Budget(3, {"DS": (2,)}, n_sweeps=6, burn_in=2, seed=4)
    trainer = trainer_of(budget)
    assert len(list(trainer.iterate(counts))) == 6
    topics = trainer.topics_
    assert (topics.shape == 1.0).all()
    again = trainer_of(budget, 2).fit(counts).topics_
    seed = int(np.random.default_rng([4, 0]).integers(2**32))
    expected = BetaGammaPFA(
        3, eta=0.1, shape=1.0, learn_shape=False, n_iter=6, burn_in=2, random_state=seed
    ).fit(counts)
    for name in ("topic_word", "shape", "probability"):
        assert (getattr(topics, name) == getattr(again, name)).all()
        assert (getattr(topics, name) == getattr(expected.topics_, name)).all()
    other = trainer_of(replace(budget, seed=5)).fit(counts).topics_
    assert (other.topic_word != topics.topic_word).any()
    assert topics.topic_word.sum(axis=1) == pytest.approx(1.0)
