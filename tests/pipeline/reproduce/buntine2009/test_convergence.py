import math
from dataclasses import replace

import numpy as np
import pytest

import pipeline.reproduce.buntine2009.convergence as experiment
from evaluation.lda.simulate import simulated_documents
from pipeline.cache.results import ResultCache
from pipeline.reproduce.buntine2009.convergence import ConvergenceBudget, as_json
from pipeline.reproduce.buntine2009.estimators import ESTIMATORS, REFINED
from pipeline.reproduce.buntine2009.simulated import draw_topics
from tests.oracles.lda_likelihood import log_probability_by_polynomial

SMALL = ConvergenceBudget((4, 8), n_runs=3, n_topics=3, n_words=12, length=6, seed=3)


def convergence(budget):
    ResultCache().clear()
    return experiment.convergence(budget)


def test_the_exact_value():
    found, _ = convergence(SMALL)
    rng = np.random.default_rng(3)
    topics = draw_topics(3, np.full(12, 0.5), 0.1, rng)
    document, _ = simulated_documents(topics, [6], rng)
    truth = log_probability_by_polynomial(document.toarray()[0], topics.topic_word, topics.alpha)
    assert found == pytest.approx(-truth / math.log(2) / 6, abs=1e-10)


def test_estimates_are_of_their_size_and_run(monkeypatch):
    seen = []

    def seen_by(topics, counts, *, n_samples, seed):
        seen.append((n_samples, seed))
        return ESTIMATORS["MFI 1st"](topics, counts, n_samples=n_samples, seed=seed)

    monkeypatch.setattr(experiment, "ESTIMATORS", {"a": seen_by, "b": seen_by})
    _, estimates = convergence(replace(SMALL, sizes=(5, 9, 3), n_runs=2))
    assert {name: each.shape for name, each in estimates.items()} == {"a": (2, 3), "b": (2, 3)}
    assert [size for size, _ in seen] == [5, 9, 3] * 4
    seeds = [seed for _, seed in seen]
    assert all(len(set(seeds[i : i + 3])) == 1 for i in range(0, 12, 3))  # a run has one
    assert len(set(seeds)) == 4


def test_errors_by_hand():
    truth, estimates = convergence(SMALL)
    rows = iter(as_json(SMALL, truth, estimates)["rows"])
    for name, estimate in estimates.items():
        for size, values in zip(SMALL.sizes, estimate.T.tolist(), strict=True):
            row, squares = next(rows), [(value - truth) ** 2 for value in values]
            assert (row["estimator"], row["samples"]) == (name, size)
            assert row["root_mean_square_error"] == pytest.approx(math.sqrt(sum(squares) / 3))
            assert row["estimate"] == values[0]
    assert not list(rows)


def test_what_converges_and_what_does_not():
    truth, estimates = convergence(ConvergenceBudget((20, 2000), n_runs=12, seed=1))
    errors = {name: np.sqrt(((of - truth) ** 2).mean(axis=0)) for name, of in estimates.items()}
    fall = {name: error[1] / error[0] for name, error in errors.items()}
    # √100 times less, up to what 12 runs tell of it.
    assert max(fall["LRS"], fall[REFINED]) < 0.4 < fall["HM"]


def test_a_seed_fixes_every_bit():
    first, again, other = map(convergence, (SMALL, SMALL, replace(SMALL, seed=4)))
    assert first[0] == again[0] != other[0]
    assert all((first[1][name] == again[1][name]).all() for name in ESTIMATORS)
