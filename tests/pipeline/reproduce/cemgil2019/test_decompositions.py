"""How factors are judged, least squares factors by projected gradients, and those of SMC and VB."""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import NMF

from models.allocation.allocation_factors import AllocationFactors
from models.allocation.model import AllocationModel
from pipeline.reproduce.cemgil2019.decompositions import (
    BAYESIAN,
    COORDINATE_DESCENT,
    PEERS,
    PROJECTED_GRADIENT,
    Decompositions,
    DecompositionsSettings,
    FactorCell,
    bayesian_factors,
    factors_of,
    qualities,
)
from pipeline.reproduce.cemgil2019.factor_quality import (
    FLOOR,
    FactorQuality,
    factor_quality,
    hoyer_sparsity,
    kl_divergence,
    squared_loss,
)
from pipeline.reproduce.cemgil2019.projected_gradient_nmf import projected_gradient_nmf
from pipeline.reproduce.cemgil2019.scores import Effort

SMALL = DecompositionsSettings(
    n_tokens=80, rank=2, strengths=(0.1, 10.0), effort=Effort(30, 2, 2, 5)
)


def blocks(seed: int = 0, shape: tuple[int, int] = (8, 6)) -> Any:
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(0.5, 2.0, (shape[0], 2)) @ rng.gamma(0.5, 2.0, (2, shape[1])))


# --- measures -------------------------------------------------------------------------------------


def test_hoyer_sparsity() -> None:
    assert hoyer_sparsity(np.full((2, 3), 0.7)) == pytest.approx(0.0, abs=1e-12)
    assert hoyer_sparsity([0, 0, 5.0, 0]) == pytest.approx(1.0)
    assert hoyer_sparsity([3.0, 4.0, 0, 0]) == pytest.approx((2 - 7 / 5) / (2 - 1))
    x = np.random.default_rng(0).gamma(0.4, size=(3, 4))
    assert hoyer_sparsity(7 * x) == pytest.approx(hoyer_sparsity(x))
    assert hoyer_sparsity(x**3) > hoyer_sparsity(x)
    assert np.isnan(hoyer_sparsity(np.zeros(3)))
    assert np.isnan(hoyer_sparsity([2.0]))


def test_losses() -> None:
    X, expected = np.array([[2, 0], [1, 3]]), np.array([[1.0, 0.5], [1.0, 4.0]])
    assert squared_loss(X, expected) == pytest.approx(1 + 0.25 + 1)
    naive = (2 * log(2) - 2 + 1) + 0.5 + 0.0 + (3 * log(3 / 4) - 3 + 4)
    assert kl_divergence(X, expected) == pytest.approx(naive)
    assert kl_divergence(X, X) == pytest.approx(0.0, abs=1e-12)
    assert kl_divergence([[1, 0]], [[0.0, 0.0]]) == float("inf")


def test_the_quality_does_not_depend_on_where_the_scale_is() -> None:
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


def test_tokens_where_none_are_expected() -> None:
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
def test_factors_that_do_not_fit(shapes: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        factor_quality(*(np.ones(shape) for shape in shapes))
    with pytest.raises(ValueError, match="W must be"):
        factor_quality(np.ones((2, 2)), -np.ones((2, 1)), np.ones((1, 2)))


# --- least squares --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_projected_gradients_reach_the_loss_of_coordinate_descent(seed: int) -> None:
    X = blocks(seed).astype(float)
    ours = min(_loss(X, *projected_gradient_nmf(X, 2, np.random.default_rng(s))) for s in range(2))
    theirs = min(_peer_loss(X, 2, s) for s in range(2))
    assert ours == pytest.approx(theirs, rel=1e-4)
    # what a start is worth without descent
    assert _loss(X, *projected_gradient_nmf(X, 2, np.random.default_rng(0), n_rounds=0)) > 2 * ours


def test_projected_gradients_end_where_no_step_helps() -> None:
    X = blocks(5).astype(float)
    W, H = projected_gradient_nmf(X, 2, np.random.default_rng(0), tolerance=1e-8, n_rounds=2000)
    assert (W >= 0).all()
    assert (H >= 0).all()
    residual = W @ H - X
    size = np.abs(X).max()
    for factor, gradient in ((W, residual @ H.T), (H, W.T @ residual)):  # Karush, Kuhn and Tucker
        assert np.abs(gradient[factor > 0]).max() < 1e-3 * size
        assert gradient[factor == 0].min(initial=0.0) > -1e-3 * size


def _loss(X: Any, W: Any, H: Any) -> float:
    return squared_loss(X, W @ H)


def _peer_loss(X: Any, rank: int, seed: int) -> float:
    peer = NMF(rank, init="random", solver="cd", tol=1e-8, max_iter=5000, random_state=seed)
    return _loss(X, peer.fit_transform(X), peer.components_)


# --- the experiment -------------------------------------------------------------------------------


def test_bayesian_factors_are_the_expected_counts() -> None:
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


def test_all_methods_run_and_each_run_has_its_own_random_numbers() -> None:
    X = blocks(7)
    for cell in SMALL.cells:
        first, second = (factors_of(X, cell, repeat, SMALL) for repeat in range(2))
        assert (first[0] != second[0]).any()
        again = factors_of(X, cell, 1, replace(SMALL, strengths=(10.0,)))
        assert (again[0] == second[0]).all()
        assert (again[1] == second[1]).all()
    cells = SMALL.cells
    assert len(cells) == len({cell.name for cell in cells}) == 2 + 2 * 3
    assert [cell.method for cell in cells if cell.a is None] == list(PEERS)
    assert all(" " not in cell.name for cell in cells)


def test_a_strong_prior_makes_factors_flat_and_least_squares_have_least_squares() -> None:
    X = blocks(8, (10, 10))
    settings = replace(SMALL, strengths=(0.01, 1e4))
    found = Decompositions("x", settings, X, {c: qualities(X, c, settings) for c in settings.cells})
    least = found.mean(FactorCell(COORDINATE_DESCENT, None)).squared_loss
    assert found.mean(FactorCell(PROJECTED_GRADIENT, None)).squared_loss >= least * (1 - 1e-3)
    for method in BAYESIAN:
        weak, strong = (found.mean(FactorCell(method, a)) for a in settings.strengths)
        assert weak.sparsity > strong.sparsity
        assert weak.squared_loss >= least * (1 - 1e-3)
        assert weak.kl_divergence < strong.kl_divergence


def test_threads_change_nothing() -> None:
    X = blocks(9)
    for method in BAYESIAN:
        cell = FactorCell(method, 0.1)
        assert (qualities(X, cell, SMALL, 2) == qualities(X, cell, SMALL, 1)).all()


def test_means_and_errors() -> None:
    runs = np.array([[0.5, 0.5, 1.0, 2.0, 0.0], [0.7, 0.5, 3.0, 2.0, 1.0]])
    cell = FactorCell("SMC", 0.1)
    found = Decompositions("x", SMALL, blocks(), {cell: runs})
    assert found.mean(cell) == pytest.approx(FactorQuality(0.6, 0.5, 2.0, 2.0, 0.5))
    assert found.standard_error(cell) == pytest.approx(FactorQuality(0.1, 0.0, 1.0, 0.0, 0.5))


@pytest.mark.parametrize(
    "changes",
    [{"n_tokens": 0}, {"rank": 0}],
)
def test_settings_that_make_no_sense(changes: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(changes))} must be at least 1"):
        replace(SMALL, **changes)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="strengths must be positive"):
        replace(SMALL, strengths=(0.0,))
