from __future__ import annotations

import math

import numpy as np
import pytest

import pipeline.reproduce.buntine2009.convergence as experiment
from evaluation.lda.simulate import simulated_documents
from pipeline.reproduce.buntine2009.convergence import ConvergenceSettings, convergence
from pipeline.reproduce.buntine2009.estimators import ESTIMATORS, REFINED
from pipeline.reproduce.buntine2009.simulated import draw_topics
from tests.oracles.lda_likelihood import log_probability_by_polynomial

SMALL = {"n_topics": 3, "n_words": 12, "length": 6, "seed": 3}


def test_the_exact_value() -> None:
    found = convergence(ConvergenceSettings(sizes=(2,), **SMALL))
    rng = np.random.default_rng(3)
    topics = draw_topics(3, np.full(12, 0.5), 0.1, rng)
    document, _ = simulated_documents(topics, [6], rng)
    truth = log_probability_by_polynomial(document.toarray()[0], topics.topic_word, topics.alpha)
    assert found.exact == pytest.approx(-truth / math.log(2) / 6, abs=1e-10)


def test_estimates_are_of_their_size_and_run(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int]] = []

    def seen_by(topics, counts, *, n_samples, seed):
        seen.append((n_samples, seed))
        return ESTIMATORS["MFI 1st"](topics, counts, n_samples=n_samples, seed=seed)

    monkeypatch.setattr(experiment, "ESTIMATORS", {"a": seen_by, "b": seen_by})
    calls: list[None] = []
    settings = ConvergenceSettings(sizes=(5, 9, 3), n_runs=2, **SMALL)
    found = convergence(settings, lambda: calls.append(None))
    assert found.estimate.shape == (2, 3, 2)
    assert [size for size, _ in seen] == [5, 9, 3] * 4
    seeds = [seed for _, seed in seen]
    assert all(len(set(seeds[i : i + 3])) == 1 for i in range(0, 12, 3))  # a run has one
    assert len(set(seeds)) == 4
    assert len(calls) == 4


def test_errors_by_hand() -> None:
    found = convergence(ConvergenceSettings(sizes=(4, 8), n_runs=3, **SMALL))
    for m in range(len(ESTIMATORS)):
        for i in range(2):
            squares = [(value - found.exact) ** 2 for value in found.estimate[m, i]]
            assert found.root_mean_square_error[m, i] == pytest.approx(math.sqrt(sum(squares) / 3))


def test_what_converges_and_what_does_not() -> None:
    found = convergence(ConvergenceSettings(sizes=(20, 2000), n_runs=12, seed=1))
    of = {name: m for m, name in enumerate(found.estimators)}
    fall = found.root_mean_square_error[:, 1] / found.root_mean_square_error[:, 0]
    # √100 times less, up to what 12 runs tell of it.
    assert fall[of["LRS"]] < 0.4
    assert fall[of[REFINED]] < 0.4
    assert fall[of["HM"]] > 0.4


def test_a_seed_fixes_every_bit() -> None:
    settings = ConvergenceSettings(sizes=(10,), n_runs=2, **SMALL)
    first, again = convergence(settings), convergence(settings)
    assert (first.estimate == again.estimate).all()
    other = convergence(ConvergenceSettings(sizes=(10,), n_runs=2, **(SMALL | {"seed": 4})))
    assert first.exact != other.exact


@pytest.mark.parametrize("bad", [{"sizes": ()}, {"sizes": (10, 1)}, {"n_runs": 0}])
def test_bad_settings(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        ConvergenceSettings(**bad)  # type: ignore[arg-type]
