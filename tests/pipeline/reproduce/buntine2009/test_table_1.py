from __future__ import annotations

import math
import statistics

import numpy as np
import pytest

import pipeline.reproduce.buntine2009.table_1 as experiment
from evaluation.document_blocks import DocumentBlock
from evaluation.lda.exact import exact
from evaluation.lda.simulate import simulated_documents
from pipeline.reproduce.buntine2009.estimators import ESTIMATORS, REFINED
from pipeline.reproduce.buntine2009.simulated import draw_topics
from pipeline.reproduce.buntine2009.table_1 import PUBLISHED, Table1, Table1Settings, table_1
from tests.oracles.lda_likelihood import log_probability_by_polynomial

SMALL = Table1Settings(n_pairs=3, gammas=(0.5, 3.0), n_words=12, length=5, n_samples=20, seed=4)


def test_errors_are_those_of_the_estimates_in_bits_a_word() -> None:
    found = table_1(SMALL)
    assert found.error.shape == found.standard_error.shape == (2, len(ESTIMATORS), 3)
    for g, gamma in enumerate(SMALL.gammas):
        for pair in range(3):
            rng = np.random.default_rng([4, g, pair])
            topics = draw_topics(4, np.full(12, gamma), 0.1, rng)
            document, _ = simulated_documents(topics, [5], rng)
            truth = log_probability_by_polynomial(
                document.toarray()[0], topics.topic_word, topics.alpha
            )
            for m, estimator in enumerate(ESTIMATORS.values()):
                seed = int(rng.integers(2**32))
                estimate = estimator(topics, DocumentBlock(document), n_samples=20, seed=seed)
                bits = (-estimate.log_likelihood[0] + truth) / math.log(2) / 5
                assert found.error[g, m, pair] == pytest.approx(bits, abs=1e-10)
                assert found.standard_error[g, m, pair] == pytest.approx(
                    estimate.standard_error[0] / math.log(2) / 5
                )


def test_statistics_by_hand() -> None:
    settings = Table1Settings(n_pairs=4, gammas=(1.0,), length=2)
    errors = [0.1, -0.2, 0.4, 0.5]
    found = Table1(
        settings, ("made up",), np.array([[errors]]), np.array([[[0.05, 0.05, 0.2, 0.3]]])
    )
    mean, deviation = statistics.mean(errors), statistics.stdev(errors)
    assert found.mean[0, 0] == pytest.approx(mean)
    assert found.standard_deviation[0, 0] == pytest.approx(deviation)
    assert found.student_t[0, 0] == pytest.approx(mean / (deviation / 2))
    assert found.coverage[0, 0] == 3 / 4  # all but -0.2
    ratios = [2 ** (-2 * error) for error in errors]
    assert found.ratio[0, 0] == pytest.approx(statistics.mean(ratios))
    assert found.ratio_standard_error[0, 0] == pytest.approx(statistics.stdev(ratios) / 2)


def test_an_estimator_of_known_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def right(topics, documents, **settings):
        return exact(topics, documents)

    def too_high(topics, documents, **settings):
        found = exact(topics, documents)
        found.log_likelihood[:] += 1.0
        return found

    monkeypatch.setattr(experiment, "ESTIMATORS", {"exact": right})
    assert (table_1(SMALL).error == 0).all()
    assert (table_1(SMALL).coverage == 1).all()
    monkeypatch.setattr(experiment, "ESTIMATORS", {"too high": too_high})
    found = table_1(SMALL)
    assert found.estimators == ("too high",)
    np.testing.assert_allclose(found.error, -1 / (5 * math.log(2)))
    np.testing.assert_allclose(found.ratio, math.e)
    assert (found.coverage == 0).all()


def test_a_seed_fixes_every_bit() -> None:
    first, again = table_1(SMALL), table_1(SMALL)
    assert (first.error == again.error).all()
    other = table_1(Table1Settings(**{**vars(SMALL), "seed": 5}))
    assert (first.error != other.error).any()
    # More pairs begin with the same.
    more = table_1(Table1Settings(**{**vars(SMALL), "n_pairs": 4}))
    assert (more.error[:, :, :3] == first.error).all()


def test_every_pair_is_announced() -> None:
    calls: list[None] = []
    table_1(SMALL, lambda: calls.append(None))
    assert len(calls) == 6


def test_harmonic_mean_is_far_off_and_the_sequential_ones_are_not() -> None:
    found = table_1(Table1Settings(n_pairs=60, gammas=(0.2, 1.0), seed=1))
    of = {name: m for m, name in enumerate(found.estimators)}
    off = np.abs(found.ratio - 1) / found.ratio_standard_error
    for name in ("LRS", REFINED):
        assert (off[:, of[name]] < 4).all()
    assert off[1, of["HM"]] > 4
    assert (found.student_t[:, of["HM"]] < -5).all()
    assert (np.abs(found.student_t[:, of["LRS"]]) < 5).all()


@pytest.mark.slow
def test_what_the_paper_concludes() -> None:
    found = table_1(Table1Settings(n_pairs=300, seed=2))
    of = {name: m for m, name in enumerate(found.estimators)}
    off = np.abs(found.ratio - 1) / found.ratio_standard_error
    for name in ("LRS", REFINED):
        assert (off[:, of[name]] < 4).all()
    # The logarithm is lower than that of the mean by half the variance, which LRS has more of.
    bits = found.settings.length * math.log(2)
    expected = found.standard_deviation**2 * bits / 2
    excess = (found.mean - expected) / (found.standard_deviation / math.sqrt(300))
    assert (np.abs(excess[:, [of["LRS"], of[REFINED]]]) < 4).all()
    assert (found.student_t[:3, of["HM"]] < -5).all()
    deviation = found.standard_deviation
    assert (deviation[:, of["LRS"]] <= deviation[:, of["LR"]]).all()
    assert (deviation[:, of[REFINED]] <= deviation[:, of["LRS"]]).all()
    assert (deviation[:, of["LR"]] > deviation[:, of[REFINED]]).all()


def test_published_figures_agree_with_each_other() -> None:
    """Student's t of 100 pairs is ten means over the deviation, up to what rounding leaves."""

    def agree(mean: float, deviation: float, t: float) -> bool:
        return math.isclose(10 * mean / deviation, t, rel_tol=0.05, abs_tol=0.002)

    assert sorted(PUBLISHED) == sorted(Table1Settings().gammas)
    for rows in PUBLISHED.values():
        assert set(rows) == set(ESTIMATORS) - {REFINED}
        assert all(agree(*row) for row in rows.values())
    assert not agree(0.000796, 0.0502, 1.58)  # the misprint


@pytest.mark.parametrize("bad", [{"n_pairs": 1}, {"n_samples": 1}])
def test_bad_settings(bad: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        Table1Settings(**bad)
