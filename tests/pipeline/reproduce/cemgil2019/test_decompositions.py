"""How factors are judged, least squares factors by projected gradients, and those of SMC and VB."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
import pytest
from sklearn.decomposition import NMF

from models.allocation.allocation_factors import AllocationFactors
from models.allocation.model import AllocationModel
from pipeline.reproduce.cemgil2019.decompositions import (
    BAYESIAN,
    COORDINATE_DESCENT,
    EXPERIMENT,
    FLOOR,
    PEERS,
    PROJECTED_GRADIENT,
    FactorBudget,
    bayesian_factors,
    factor_quality,
    factors_of,
    hoyer_sparsity,
    kl_divergence,
    projected_gradient_nmf,
    qualities,
    row_of,
    squared_loss,
)
from tests.pipeline.reproduce.support import places

SMALL = FactorBudget(30, 2, 2, 5, n_modes=2, n_sweeps=20, rank=2)


def blocks(seed=0, shape=(8, 6)):
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(0.5, 2.0, (shape[0], 2)) @ rng.gamma(0.5, 2.0, (2, shape[1])))


def test_hoyer_sparsity():
    assert hoyer_sparsity(np.full((2, 3), 0.7)) == pytest.approx(0.0, abs=1e-12)
    assert hoyer_sparsity([0, 0, 5.0, 0]) == pytest.approx(1.0)
    assert hoyer_sparsity([3.0, 4.0, 0, 0]) == pytest.approx((2 - 7 / 5) / (2 - 1))
    x = np.random.default_rng(0).gamma(0.4, size=(3, 4))
    assert hoyer_sparsity(7 * x) == pytest.approx(hoyer_sparsity(x))
    assert hoyer_sparsity(x**3) > hoyer_sparsity(x)
    assert np.isnan(hoyer_sparsity(np.zeros(3)))
    assert np.isnan(hoyer_sparsity([2.0]))


def test_losses():
    X, expected = np.array([[2, 0], [1, 3]]), np.array([[1.0, 0.5], [1.0, 4.0]])
    assert squared_loss(X, expected) == pytest.approx(1 + 0.25 + 1)
    naive = (2 * log(2) - 2 + 1) + 0.5 + 0.0 + (3 * log(3 / 4) - 3 + 4)
    assert kl_divergence(X, expected) == pytest.approx(naive)
    assert kl_divergence(X, X) == pytest.approx(0.0, abs=1e-12)
    assert kl_divergence([[1, 0]], [[0.0, 0.0]]) == float("inf")


def test_the_quality_does_not_depend_on_where_the_scale_is():
    rng = np.random.default_rng(1)
    X, W, H = blocks(), rng.gamma(0.5, size=(8, 2)), rng.gamma(0.5, size=(2, 6))
    found = factor_quality(X, W, H)
    scale = np.array([3.0, 0.2])
    again = factor_quality(X, W * scale, H / scale[:, None])
    assert again._replace(unscaled_sparsity=0) == pytest.approx(found._replace(unscaled_sparsity=0))
    unscaled = (hoyer_sparsity(W) + hoyer_sparsity(H)) / 2
    assert found.unscaled_sparsity == pytest.approx(unscaled)
    assert again.unscaled_sparsity != pytest.approx(unscaled)
    assert found.squared_loss == pytest.approx(squared_loss(X, W @ H))
    assert found.kl_divergence == pytest.approx(kl_divergence(X, W @ H))
    columns = W / W.sum(axis=0)
    mean = (hoyer_sparsity(columns) + hoyer_sparsity(H * W.sum(axis=0)[:, None])) / 2
    assert found.sparsity == pytest.approx(mean)


def test_tokens_where_none_are_expected():
    X, W, H = np.array([[3, 2], [0, 1]]), np.array([[1.0], [1.0]]), np.array([[2.0, 0.0]])
    found = factor_quality(X, W, H)
    assert found.n_impossible == 3
    assert found.kl_divergence == pytest.approx(kl_divergence(X, np.maximum(W @ H, FLOOR)))
    assert factor_quality(X, W, H + 1).n_impossible == 0


@pytest.mark.parametrize(
    ("shapes", "complaint"),
    [
        (((3, 3), (3, 2), (3, 3)), "must have the shape of X"),
        (((3, 3), (2, 2), (2, 3)), "must have the shape of X"),
        (((9,), (3, 2), (2, 3)), "X must be a matrix"),
    ],
)
def test_factors_that_do_not_fit(shapes, complaint):
    with pytest.raises(ValueError, match=complaint):
        factor_quality(*(np.ones(shape) for shape in shapes))
    with pytest.raises(ValueError, match="W must be"):
        factor_quality(np.ones((2, 2)), -np.ones((2, 1)), np.ones((1, 2)))


@pytest.mark.parametrize("seed", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_projected_gradients_reach_the_loss_of_coordinate_descent(seed):
    X = blocks(seed).astype(float)
    ours = min(_loss(X, *projected_gradient_nmf(X, 2, np.random.default_rng(s))) for s in range(2))
    theirs = min(_peer_loss(X, 2, s) for s in range(2))
    assert ours == pytest.approx(theirs, rel=1e-4)
    # what a start is worth without descent
    assert _loss(X, *projected_gradient_nmf(X, 2, np.random.default_rng(0), n_rounds=0)) > 2 * ours


def test_projected_gradients_end_where_no_step_helps():
    X = blocks(5).astype(float)
    W, H = projected_gradient_nmf(X, 2, np.random.default_rng(0), tolerance=1e-8, n_rounds=2000)
    assert (W >= 0).all()
    assert (H >= 0).all()
    residual = W @ H - X
    size = np.abs(X).max()
    for factor, gradient in ((W, residual @ H.T), (H, W.T @ residual)):  # Karush, Kuhn and Tucker
        assert np.abs(gradient[factor > 0]).max() < 1e-3 * size
        assert gradient[factor == 0].min(initial=0.0) > -1e-3 * size


def _loss(X, W, H):
    return squared_loss(X, W @ H)


def _peer_loss(X, rank, seed):
    peer = NMF(rank, init="random", solver="cd", tol=1e-8, max_iter=5000, random_state=seed)
    return _loss(X, peer.fit_transform(X), peer.components_)


def test_bayesian_factors_are_the_expected_counts():
    X = blocks(6)
    model = AllocationModel.nmf(*X.shape, 2, a=0.5)
    factors = AllocationFactors(model, method="vb", n_starts=2, random_state=0).fit(X)
    W, H = bayesian_factors(factors.tables_, int(X.sum()))
    assert W.shape == (8, 2)
    assert H.shape == (2, 6)
    assert W.sum(axis=0) == pytest.approx(1.0)
    assert (W @ H).sum() == pytest.approx(X.sum())
    theta = factors.tables_
    naive = sum(X.sum() * theta["k"][k] * np.outer(theta["i"][k], theta["j"][k]) for k in range(2))
    assert pytest.approx(naive) == W @ H


def test_all_methods_run_and_each_run_has_its_own_random_numbers():
    X = blocks(7)
    for method in (*PEERS, *BAYESIAN):
        a = 0.1 if method in BAYESIAN else None
        first, second = (factors_of(X, method, a, repeat, SMALL, None) for repeat in range(2))
        assert (first[0] != second[0]).any()
        again = factors_of(X, method, a, 1, replace(SMALL, strengths=(10.0,)), None)
        assert all((one == other).all() for one, other in zip(again, second, strict=True))


def test_a_strong_prior_makes_factors_flat_and_least_squares_have_least_squares():
    X = blocks(8, (10, 10))

    def mean(method, a=None):
        return row_of(method, a, qualities(X, method, a, SMALL))

    least = mean(COORDINATE_DESCENT)["squared_loss"]
    assert mean(PROJECTED_GRADIENT)["squared_loss"] >= least * (1 - 1e-3)
    for method in BAYESIAN:
        weak, strong = (mean(method, a) for a in (0.01, 1e4))
        assert weak["sparsity"] > strong["sparsity"]
        assert weak["squared_loss"] >= least * (1 - 1e-3)
        assert weak["kl_divergence"] < strong["kl_divergence"]


def test_threads_change_nothing():
    X = blocks(9)
    for method in BAYESIAN:
        found = [qualities(X, method, 0.1, SMALL, n_jobs) for n_jobs in (1, 2)]
        assert (found[0] == found[1]).all()


def test_means_and_errors():
    row = row_of("SMC", 0.1, np.array([[0.5, 0.5, 1.0, 2.0, 0.0], [0.7, 0.5, 3.0, 2.0, 1.0]]))
    assert (row["method"], row["a"], row["unscaled_sparsity"]) == ("SMC", 0.1, 0.5)
    assert row["tokens_held_impossible"] == 0.5
    expected = {"sparsity": (0.6, 0.1), "squared_loss": (2.0, 1.0), "kl_divergence": (2.0, 0.0)}
    for name, wanted in expected.items():
        assert (row[name], row[f"{name}_standard_error"]) == pytest.approx(wanted)


def test_findings_compare_with_projected_gradients():
    values = {"sparsity": 0.5, "unscaled_sparsity": 0.5, "squared_loss": 5.0, "kl_divergence": 5.0}
    rows = [{"method": "ALS-PGD", "a": None, **values}]
    for method in BAYESIAN:
        rows.append({"method": method, "a": 0.1, **dict.fromkeys(values, 9.0)})
        rows.append({"method": method, "a": 1.0, **values, "kl_divergence": None})
        rows.append({"method": method, "a": 9.0, **dict.fromkeys(values, 0.1)})
    failed = places(EXPERIMENT, {"rows": rows})
    assert failed.pop("SMC: lower KL divergence than ALS-PGD") == ["a = 0.1", "a = 1"]
    assert failed["VB: sparser than ALS-PGD"] == ["a = 1", "a = 9"]
    assert failed["SMC: higher squared loss than ALS-PGD"] == ["a = 1", "a = 9"]
    assert len(failed) == 4 * len(BAYESIAN) - 1
    rows = [row for row in rows if row["method"] != "annealing"]  # as former results are
    assert len(places(EXPERIMENT, {"rows": rows})) == 4 * 3
