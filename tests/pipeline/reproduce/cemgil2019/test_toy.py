from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from evaluation.allocation.log_marginal import log_marginal
from models.allocation.model import AllocationModel
from pipeline.reproduce.cemgil2019 import toy
from pipeline.reproduce.cemgil2019.published import LOG_MARGINAL, PUBLISHED, RANKS, A
from pipeline.reproduce.cemgil2019.scores import SORTED, WITH_MOVES, Budget, score
from pipeline.reproduce.cemgil2019.toy import BY_ORDER, MATRICES, METHODS
from pipeline.reproduce.trials import trial_name, trial_seed
from tests.pipeline.reproduce.support import failing
from tests.shared_data import shared_file

SMALL = Budget(50, 30, 2, seed=1)


def scored(matrix, a, rank, method, budget, n_jobs=None):
    X, key = MATRICES[matrix], (matrix, a, rank, method)
    model = AllocationModel.nmf(len(X), len(X.T), rank, a)
    return score(model, X, method, budget, key, n_jobs)


@pytest.mark.shared
@pytest.mark.parametrize(("matrix", "number"), [("X1", ""), ("X2", "2")])
def test_published_figures_are_those_of_the_authors(matrix, number):
    path = shared_file(f"published/bam_published_marginal_lkhd{number}.json")
    table = json.loads(path.read_text())
    assert (np.array(table["X"]) == MATRICES[matrix]).all()
    assert tuple(table["K"]) == RANKS
    assert table["a"] == pytest.approx(A)
    for method in PUBLISHED:
        published = np.array(LOG_MARGINAL[matrix, method])
        assert published.shape == (len(A), len(RANKS))
        np.testing.assert_allclose(published, table[f"log_PX_{method}"], rtol=0, atol=1e-11)


def test_exact_is_as_published():
    for matrix, a, rank in (("X1", 1e-5, 2), ("X1", 1.0, 3), ("X2", 100.0, 2)):
        found = scored(matrix, a, rank, "exact", SMALL)["log_marginal"]
        assert found == pytest.approx(toy.published(matrix, "exact", a, rank), abs=1e-8)
    assert toy.published("X1", "smc", 0.5, 2) is toy.published("X1", "smc", 1.0, 5) is None


def test_a_trial_has_random_numbers_of_its_own():
    for method in (*BY_ORDER, "vb"):
        first = scored("X1", 1.0, 2, method, SMALL)["repeats"]
        assert (scored("X1", 1.0, 2, method, SMALL, n_jobs=2)["repeats"] == first).all()
        assert (scored("X1", 1.0, 2, method, replace(SMALL, seed=2))["repeats"] != first).any()
        assert (scored("X1", 1.0, 3, method, SMALL)["repeats"] != first).any()
    keys = list(product(MATRICES, A, RANKS, METHODS))
    assert len({trial_name(*key) for key in keys}) == len(keys)
    assert len({trial_seed(0, *key) for key in keys}) == len(keys)
    assert trial_name("least squares, CD", None, 0.5, 3) == "least-squares-CD-0.5-3"
    assert trial_name(1e-5, 10**6, 10**6 + 1, 0.1234567) == "1e-05-1e+06-1000001-0.1234567"


@pytest.mark.parametrize("method", BY_ORDER)
def test_smc_of_a_small_matrix_is_unbiased(method):
    """Four standard errors; a tenth more than the truth is seen."""
    for matrix in MATRICES:
        found = scored(matrix, 1.0, 2, method, Budget(100, 100, 2, seed=1))
        exact = scored(matrix, 1.0, 2, "exact", SMALL)["log_marginal"]
        t, shifted = toy.ratio_t([found, found], np.array([exact, exact - np.log(1.1)]))
        assert abs(t) < 4 < shifted


def test_sorted_order_varies_less():
    """At 50 particles and a = .1; a deviation of 150 runs is known to a tenth or so."""
    budget, exact = Budget(50, 150, 2, seed=1), toy.published("X1", "exact", 0.1, 3)
    deviation = {
        method: np.exp(scored("X1", 0.1, 3, method, budget)["repeats"] - exact).std()
        for method in BY_ORDER
    }
    assert deviation[SORTED] < 0.6 * deviation["smc"]


def test_one_component_is_exact():
    """With one value there is nothing to sum over: no run differs, and VB is exact."""
    for method in METHODS:
        found = scored("X2", 0.1, 1, method, SMALL)
        exact = scored("X2", 0.1, 1, "exact", SMALL)["log_marginal"]
        assert found["log_marginal"] == pytest.approx(exact, abs=1e-9)
        if method in BY_ORDER:
            assert math.isnan(toy.ratio_t([found], np.array([exact]))[0])


def test_rows_by_hand():
    runs = np.log([0.5, 1.0, 1.5, 2.0])
    values = {"exact": (-3.0, -2.2, -2.1), "smc": (-3.0, -2.0, -2.5), "vb": (-4.0, -3.2, -3.1)}
    values[SORTED] = values["exact"]
    scores = {
        ("X1", 0.5, rank, method): {
            "log_marginal": values[method][k],
            "standard_error": (0.0, 0.3, 0.4)[k],
            "repeats": values["exact"][k] + runs + (method == SORTED),
        }
        for (k, rank), method in product(enumerate((1, 2, 3)), METHODS)
    }
    rows = toy.matrix_rows(scores, "X1", 0.5, (1, 2, 3))
    assert [row["rank"] for row in rows] == [1, 2, 3]
    assert [row["error"]["smc"] for row in rows] == pytest.approx([0.0, 0.2, -0.4])
    assert [row["error"][SORTED] for row in rows] == [0.0, 0.0, 0.0]
    deviation = np.std(np.exp(runs), ddof=1)
    assert [row["t"]["smc"] for row in rows] == pytest.approx([0.25 / (deviation / 2)] * 3)
    assert rows[0]["t"][SORTED] > rows[0]["t"]["smc"]
    share = np.exp(values["smc"])
    odds = np.log(share / share.sum()).tolist()
    assert [row["log_odds"]["smc"] for row in rows] == pytest.approx(odds)
    assert [row["published"]["smc"] for row in rows] == [None] * 3
    failed = failing(toy.EXPERIMENT, {"rows": rows})
    assert failed["SMC: prefers the rank that exact does"] == [
        "X1 a = 0.5 (K = 2 for 3, by 0.5 ± 0.5)"
    ]


def test_the_error_of_log_odds_by_simulation():
    means, errors = np.array([-3.0, -2.0, -2.5]), np.array([0.001, 0.003, 0.004])
    draws = np.random.default_rng(0).normal(means, errors, (20_000, 3))
    simulated = toy.log_odds(draws).std(axis=0)
    # A standard deviation of 20,000 draws is known to half a percent.
    found = toy.log_odds_error(toy.log_odds(means), errors)
    np.testing.assert_allclose(found, simulated, rtol=0.025)


def made_up(change, noise=0.01):
    """A result at the published figures, but for changes to X1 at K = 2 of some methods."""
    ratio = np.log(1 + noise * np.resize([1.0, -1.0], 100))
    scores = {}
    for matrix, a, rank, method in product(MATRICES, (0.1, 1.0), RANKS, METHODS):
        value = toy.published(matrix, "exact" if method in BY_ORDER else method, a, rank)
        assert value is not None
        value += change.get(method, 0.0) if (matrix, rank) == ("X1", 2) else 0.0
        scores[matrix, a, rank, method] = {
            "log_marginal": value,
            "standard_error": 0.1 * noise,
            "repeats": value + ratio,
        }
    places = product(MATRICES, (0.1, 1.0))
    return {"rows": [row for at in places for row in toy.matrix_rows(scores, *at, RANKS)]}


def test_findings():
    # VB of X2 prefers K = 2, where exact prefers 3 and 4: so it is published.
    vb_of_2 = ["X2 a = 0.1 (K = 2 for 3)", "X2 a = 1 (K = 2 for 4)"]
    places = ["X1 a = 0.1", "X1 a = 1"]
    assert list(failing(toy.EXPERIMENT, made_up({})).values()) == [vb_of_2]
    low = failing(toy.EXPERIMENT, made_up({"smc": -2.0}))
    assert (
        "X1 a = 0.1 (K = 1 for 2, by 1.4 ± 0.0014)" in low["SMC: prefers the rank that exact does"]
    )
    assert len(low["SMC: where not, by less than 2.58 standard errors"]) == 2
    assert low["SMC: within 0.02 nats of exact from a = 0.1 on"] == [
        f"{place} K = 2 (-2.000 ± 0.001)" for place in places
    ]
    assert len(low["SMC: p / exact is 1, |t| < 2.58 in all 16 that vary"]) == 2
    other = failing(toy.EXPERIMENT, made_up({SORTED: -2.0}))
    assert len(other["SMC, sorted order: within 0.02 nats of exact from a = 0.1 on"]) == 2
    assert not any(claim.startswith("SMC:") for claim in other)
    still = failing(toy.EXPERIMENT, made_up({"smc": 1e-7}, noise=0.0))
    exactly = still["SMC: the exact value where its runs do not vary, to 1e-8 nats"]
    assert exactly == [f"{place} K = 2" for place in places]
    vb = failing(toy.EXPERIMENT, made_up({"vb": 9.0}))
    assert vb["VB is below exact"] == [f"{place} K = 2" for place in places]
    assert vb["VB prefers another rank for X1 up to a = 1"] == places
    worse = failing(toy.EXPERIMENT, made_up({"vb": -1e-4}))
    assert len(worse["VB is at least as high as published, to 1e-6 nats"]) == 2
    wrong = failing(toy.EXPERIMENT, made_up({"exact": 1e-6}))
    assert wrong["exact is as published, to 1e-8 nats"] == [f"{place} K = 2" for place in places]


def test_smc_with_moves_has_fewer_particles():
    budget = Budget(n_particles=50, n_repeats=3, n_moves=7, seed=4)
    assert Budget(n_particles=2).n_particles_with_moves == 2
    model, X = AllocationModel.nmf(3, 4, 2, 1.0), MATRICES["X1"]
    found = score(model, X, WITH_MOVES, budget, ("a trial",))
    seed = trial_seed(4, "a trial")
    same = log_marginal(model, X, "smc", n_particles=5, n_repeats=3, n_moves=7, random_state=seed)
    assert (found["repeats"] == same.repeats).all()
    assert found["n_particles"] == budget.n_particles_with_moves == 5
