import math
from dataclasses import replace
from itertools import product
from statistics import fmean, stdev

import numpy as np
import pytest

import pipeline.reproduce.buntine2009.table_1 as experiment
from evaluation.document_blocks import DocumentBlock
from evaluation.lda.exact import exact
from evaluation.lda.simulate import simulated_documents
from pipeline.reproduce.buntine2009.estimators import ESTIMATORS, REFINED
from pipeline.reproduce.buntine2009.simulated import draw_topics
from pipeline.reproduce.buntine2009.table_1 import (
    EXPERIMENT,
    PUBLISHED,
    Table1Budget,
    as_json,
    statistics,
    table_1,
)
from tests.oracles.lda_likelihood import log_probability_by_polynomial
from tests.pipeline.reproduce.support import reproduced

SMALL = Table1Budget(n_pairs=3, gammas=(0.5, 3.0), n_words=12, length=5, n_samples=20, seed=4)


def errors(budget):
    """Errors (G, M, P)."""
    return np.array([table_1(budget, gamma)["error"] for gamma in budget.gammas])


def test_errors_are_those_of_the_estimates_in_bits_a_word():
    for g, gamma in enumerate(SMALL.gammas):
        found = table_1(SMALL, gamma)
        assert found["error"].shape == found["standard_error"].shape == (len(ESTIMATORS), 3)
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
                assert found["error"][m, pair] == pytest.approx(bits, abs=1e-10)
                assert found["standard_error"][m, pair] == pytest.approx(
                    estimate.standard_error[0] / math.log(2) / 5
                )


def test_statistics_by_hand():
    errors = [0.1, -0.2, 0.4, 0.5]
    found = statistics(np.array([errors]), np.array([[0.05, 0.05, 0.2, 0.3]]), 2)
    mean, deviation = fmean(errors), stdev(errors)
    ratios = [2 ** (-2 * error) for error in errors]
    expected = {
        "mean": mean,
        "standard_deviation": deviation,
        "t": mean / (deviation / 2),
        "coverage": 3 / 4,  # all but -0.2
        "ratio": fmean(ratios),
        "ratio_standard_error": stdev(ratios) / 2,
    }
    assert {name: values.item() for name, values in found.items()} == pytest.approx(expected)


@pytest.mark.parametrize("nats", [0.0, 1.0])
def test_an_estimator_of_known_error(nats, monkeypatch):
    def estimator(topics, documents, **settings):
        found = exact(topics, documents)
        found.log_likelihood[:] += nats
        return found

    monkeypatch.setattr(experiment, "ESTIMATORS", {"x": estimator})
    found = table_1(SMALL, 3.0)
    of_pairs = statistics(**found, length=5)
    np.testing.assert_allclose(found["error"], -nats / (5 * math.log(2)), atol=1e-15)
    np.testing.assert_allclose(of_pairs["ratio"], math.exp(nats))
    assert of_pairs["coverage"] == [nats == 0]


def test_a_seed_fixes_every_bit():
    first = errors(SMALL)
    assert (first == errors(SMALL)).all()
    assert (first != errors(replace(SMALL, seed=5))).any()
    # More pairs begin with the same.
    assert (errors(replace(SMALL, n_pairs=4))[:, :, :3] == first).all()


def by_estimator(budget):
    """Statistics (G,) by estimator."""
    found = [statistics(**table_1(budget, gamma), length=14) for gamma in budget.gammas]
    return {
        name: {each: np.array([of[each][m] for of in found]) for each in found[0]}
        for m, name in enumerate(ESTIMATORS)
    }


def off(row):
    return np.abs(row["ratio"] - 1) / row["ratio_standard_error"]


def test_harmonic_mean_is_far_off_and_the_sequential_ones_are_not():
    of = by_estimator(Table1Budget(n_pairs=60, gammas=(0.2, 1.0), seed=1))
    assert (off(of["LRS"]) < 4).all()
    assert (off(of[REFINED]) < 4).all()
    assert off(of["HM"])[1] > 4
    assert (of["HM"]["t"] < -5).all()
    assert (np.abs(of["LRS"]["t"]) < 5).all()


@pytest.mark.slow
def test_what_the_paper_concludes():
    of = by_estimator(Table1Budget(n_pairs=300, seed=2))
    for name in ("LRS", REFINED):
        assert (off(of[name]) < 4).all()
        # The logarithm is lower than that of the mean by half the variance, which LRS has more of.
        mean, deviation = of[name]["mean"], of[name]["standard_deviation"]
        excess = (mean - deviation**2 * 14 * math.log(2) / 2) / (deviation / math.sqrt(300))
        assert (np.abs(excess) < 4).all()
    assert (of["HM"]["t"][:3] < -5).all()
    lr, lrs, refined = (of[name]["standard_deviation"] for name in ("LR", "LRS", REFINED))
    assert (lrs <= lr).all()
    assert (refined <= lrs).all()
    assert (lr > refined).all()


def test_published_figures_agree_with_each_other():
    """Student's t of 100 pairs is ten means over the deviation, up to what rounding leaves."""

    def agree(mean, deviation, t):
        return math.isclose(10 * mean / deviation, t, rel_tol=0.05, abs_tol=0.002)

    assert set(PUBLISHED) == set(product(Table1Budget().gammas, set(ESTIMATORS) - {REFINED}))
    assert all(agree(*row) for row in PUBLISHED.values())
    assert not agree(0.000796, 0.0502, 1.58)  # the misprint


def test_the_table_of_pairs(no_pictures, tmp_path):
    result = reproduced("buntine-table-1", "--pairs", 4, "--seed", 3, cwd=tmp_path)
    found = statistics(**table_1(Table1Budget(n_pairs=4, seed=3), 0.2), length=14)
    assert len(result["rows"]) == 4 * len(ESTIMATORS)
    row = result["rows"][1]
    assert (row["gamma"], row["estimator"]) == (0.2, "MFI 1st")
    assert {name: row[name] for name in found} == {name: of[1] for name, of in found.items()}
    assert row["published"] == {"mean": 0.0018, "standard_deviation": 0.0114, "t": 1.58}
    assert result["rows"][5]["published"] is None
    cells = experiment.EXPERIMENT.tables(result)[0].cells[1]
    assert cells[:2] == ["MFI 1st", f"{row['mean']:.5f}".replace("-", "−")]
    assert cells[-3:] == ["0.00180", "0.0114", "1.58"]


def test_findings_say_where_they_fail():
    budget = Table1Budget(n_pairs=2, gammas=(0.5, 3.0), n_words=20, length=3)
    found = {(gamma,): table_1(budget, gamma) for gamma in budget.gammas}
    at_half, at_three = (found[gamma,]["error"] for gamma in budget.gammas)
    hm, lrs = (list(ESTIMATORS).index(name) for name in ("HM", "LRS"))

    def places():
        return [each.fails_at for each in EXPERIMENT.findings(as_json(budget, found))]

    for error in (at_half, at_three):
        error[:] = np.array([-1e-3, 1e-3])  # t = 0, all alike
        error[hm] = np.array([-2.0, -2.1])
    assert places() == [[]] * 6
    at_three[lrs] = np.array([0.1, 0.1001])
    at_half[hm] = at_half[lrs] = at_three[hm] = np.array([-1.0, 1.0])
    half, three = ["gamma = 0.5"], ["gamma = 3.0"]
    assert places() == [three, three, [], [], half, half]
