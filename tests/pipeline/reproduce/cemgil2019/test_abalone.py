"""Measurements in bins, the complete graph, and hidden classes beside ages."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import lgamma, log
from typing import Any

import numpy as np
import pytest

from evaluation.allocation.log_marginal import log_marginal
from evaluation.allocation.marginal_estimate import MarginalEstimate, TimedMarginal
from models.allocation.cell_counts import CellCounts
from models.allocation.model import AllocationModel
from models.allocation.sequence import log_of_counts
from pipeline.reproduce.cemgil2019.abalone import (
    CP,
    AbaloneSettings,
    Ages,
    bins_of,
    classes_of,
    complete_graph,
    model_of,
    sampled_classes,
    score,
    tensor_of,
)
from pipeline.reproduce.cemgil2019.rank_scores import (
    SCORING,
    RankCell,
    RankCurves,
    planned,
)
from pipeline.reproduce.cemgil2019.scores import WITH_MOVES, Effort

SMALL = AbaloneSettings(n_bins=2, ranks=(1, 2), effort=Effort(20, 2, 2, 3), class_rank=2)


def two_kinds(rng: np.random.Generator, n: int, axes: int = 4) -> tuple[Any, Any]:
    """(n, axes) bins, 0 or 1, of two kinds of animals, which have the likelier bin at .9."""
    kind = rng.integers(0, 2, n)
    return (rng.random((n, axes)) < 0.9) == kind[:, None].astype(bool), kind


# --- bins -----------------------------------------------------------------------------------------


def test_bins_are_the_groups_of_each_measurement_smallest_first() -> None:
    rng = np.random.default_rng(0)
    wanted = rng.integers(0, 4, (200, 2))
    wanted[:4] = np.arange(4)[:, None]
    values = np.array([0.0, 1.0, 5.0, 6.0])[wanted] + rng.uniform(-0.2, 0.2, (200, 2))
    values[:, 1] *= -100  # the largest first, on another scale
    found = bins_of(values, 4)
    assert (found[:, 0] == wanted[:, 0]).all()
    assert (found[:, 1] == 3 - wanted[:, 1]).all()


def test_bins_do_not_depend_on_the_global_random_state_or_on_rows() -> None:
    values = np.random.default_rng(1).gamma(2.0, size=(300, 2))
    found = bins_of(values, 5)
    assert (bins_of(values, 5) == found).all()
    backwards = bins_of(values[::-1], 5)[::-1]
    assert (backwards == found).mean() > 0.98  # other starts: a value between two centres may move


def test_too_few_values_for_bins() -> None:
    values = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 2.0]])
    with pytest.raises(ValueError, match="measurement 2 has 2 different values, too few for 3"):
        bins_of(values, 3)


def test_every_animal_is_a_token() -> None:
    bins = np.array([[0, 1], [0, 1], [1, 2]])
    observed = tensor_of(bins, 3)
    assert observed.shape == (3, 3)
    assert observed.dense().tolist() == [[0, 2, 0], [0, 0, 1], [0, 0, 0]]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"n_bins": 1}, "n_bins must be at least 2"),
        ({"class_rank": 1}, "class_rank must be at least 2"),
        ({"ranks": ()}, "ranks must be"),
        ({"ranks": (0, 1)}, "ranks must be"),
        ({"strengths": (1.0, 0.0)}, "strengths must be positive"),
    ],
)
def test_settings_that_make_no_sense(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        replace(AbaloneSettings(), **changes)


# --- the complete graph ---------------------------------------------------------------------------


@pytest.mark.parametrize("a", [0.001, 1.0, 7.5])
def test_the_complete_graph_is_what_the_general_way_says(a: float) -> None:
    shape = (3, 2, 4)
    X = np.random.default_rng(2).poisson(0.8, shape)
    model = AllocationModel.complete(shape, a=a)
    observed = CellCounts.of(X, model)
    found = complete_graph(observed, a)
    n, b, g = int(X.sum()), a / X.sum(), a / X.size
    naive = a * log(b) - (a + n) * log(b + 1)
    for cell in product(*map(range, shape)):
        naive += lgamma(g + X[cell]) - lgamma(g) - lgamma(X[cell] + 1)
    assert found == pytest.approx(naive, abs=1e-9)
    assert found == pytest.approx(log_of_counts(model, observed), abs=1e-9)
    exact = log_marginal(model, X, "exact").log_marginal
    assert found == pytest.approx(exact, abs=1e-9)


# --- scores ---------------------------------------------------------------------------------------


def test_a_score_depends_on_its_cell_alone() -> None:
    bins, _ = two_kinds(np.random.default_rng(3), 40)
    observed = tensor_of(bins.astype(np.int64), 2)
    cell = RankCell(CP, "smc", 1.0, 2)
    first = score(observed, cell, SMALL)
    assert (score(observed, cell, replace(SMALL, ranks=(2, 5))).repeats == first.repeats).all()
    assert (score(observed, cell, SMALL, n_jobs=2).repeats == first.repeats).all()
    other = score(observed, cell, replace(SMALL, seed=1))
    assert (other.repeats != first.repeats).all()


def test_one_class_is_exact_and_two_kinds_are_found() -> None:
    bins, _ = two_kinds(np.random.default_rng(4), 120)
    observed = tensor_of(bins.astype(np.int64), 2)
    found = {cell: score(observed, cell, SMALL) for cell in SMALL.cells if cell.a == 1.0}
    exact = log_marginal(model_of(1, 1.0, observed.shape), observed, "exact")
    for method in SCORING:
        alone = found[RankCell(CP, method, 1.0, 1)].log_marginal
        assert alone == pytest.approx(exact.log_marginal, abs=1e-8)
        assert found[RankCell(CP, method, 1.0, 2)].log_marginal > alone + 10


def estimate_of(value: float, repeats: list[float], method: str) -> TimedMarginal:
    direction: Any = "lower bound" if method == "vb" else "unbiased"
    return TimedMarginal(MarginalEstimate(value, 0.1, method, direction, 9, np.array(repeats)), 1.0)


def test_curves() -> None:
    scores = {
        cell: estimate_of(
            cell.rank, [cell.rank - 1.0, cell.rank + (cell.graph == "A")], cell.method
        )
        for cell in planned(("A", "B"), (1.0,), (1, 4))
    }
    scores[RankCell("B", "smc", 1.0, 4)] = estimate_of(9.0, [5.5, 9.5], "smc")
    scores[RankCell("A", WITH_MOVES, 1.0, 4)] = estimate_of(3.5, [3.0, 3.9], WITH_MOVES)
    curves = RankCurves(("A", "B"), (1.0,), (1, 4), scores)
    assert curves.log_marginal("A", "smc", 1.0).tolist() == [1.0, 4.0]
    assert curves.standard_error("A", "smc", 1.0).tolist() == [0.1, 0.1]
    assert curves.ends("A", "smc", 1.0).tolist() == [[0.0, 3.0], [2.0, 5.0]]
    assert curves.ends("A", "vb", 1.0).tolist() == [[1.0, 4.0], [1.0, 4.0]]
    assert curves.best_rank("B", "smc", 1.0) == 4
    assert curves.told_apart(("A", "B"), "smc", 1.0).tolist() == [False, True]
    assert curves.told_apart(("B", "A"), "smc", 1.0).tolist() == [False, True]
    assert curves.is_below_bound("A", "smc", 1.0).tolist() == [False, False]
    assert curves.is_below_bound("A", WITH_MOVES, 1.0).tolist() == [False, True]
    with pytest.raises(ValueError, match="not those"):
        replace(curves, ranks=(1, 4, 5))


# --- classes and ages -----------------------------------------------------------------------------


def test_classes_make_up_the_allocation() -> None:
    rng = np.random.default_rng(5)
    bins, classes = rng.integers(0, 2, (60, 3)), rng.integers(0, 4, 60)
    joint = np.column_stack([classes, bins])
    allocation = CellCounts(joint, np.ones(60, dtype=np.int64), (4, 2, 2, 2))
    found = classes_of(allocation, bins, rng)
    again = CellCounts(np.column_stack([found, bins]), np.ones(60, dtype=np.int64), (4, 2, 2, 2))
    assert (again.cells == allocation.cells).all()
    assert (again.counts == allocation.counts).all()
    with pytest.raises(ValueError, match="other animals"):
        classes_of(allocation, 1 - bins, rng)


def test_who_of_equal_animals_is_in_which_class_is_drawn() -> None:
    allocation = CellCounts(np.array([[0, 1], [1, 1], [0, 0]]), np.array([1, 2, 1]), (2, 2))
    bins = np.array([[1], [0], [1], [1]])
    drawn = np.array(
        [classes_of(allocation, bins, np.random.default_rng([6, i])) for i in range(600)]
    )
    assert (drawn[:, 1] == 0).all()
    share = drawn[:, [0, 2, 3]].mean(axis=0)  # each in class 1 with probability 2/3
    assert np.abs(share - 2 / 3).max() < 4 * np.sqrt(2 / 9 / 600)


def test_two_kinds_are_told_from_each_other() -> None:
    bins, kind = two_kinds(np.random.default_rng(7), 300, axes=7)
    settings = replace(SMALL, effort=Effort(100, 2, 2, 3))
    found = sampled_classes(bins.astype(np.int64), settings)
    assert set(found.tolist()) <= {0, 1}
    agree = (found == kind).mean()
    assert max(agree, 1 - agree) > 0.95
    assert (sampled_classes(bins.astype(np.int64), settings) == found).all()


def test_ages_by_class() -> None:
    rings = np.array([9, 11, 3, 5, 4, 30])
    ages = Ages.of(rings, np.array([7, 7, 2, 2, 2, 5]))
    assert ages.classes.tolist() == [1, 1, 0, 0, 0, 2]
    assert ages.n_animals.tolist() == [3, 2, 1]
    assert ages.mean.tolist() == [4.0, 10.0, 30.0]
    assert ages.standard_error == pytest.approx([1 / np.sqrt(3), 1.0, 0.0])
    assert ages.steps == pytest.approx([6 / np.sqrt(4 / 3), 20.0])
    assert ages.distribution.shape == (3, 31)
    assert ages.distribution.sum(axis=1) == pytest.approx(1.0)
    assert ages.distribution[0, 3:6] == pytest.approx(1 / 3)


def test_classes_that_say_nothing_of_age_are_not_found_to() -> None:
    rng = np.random.default_rng(8)
    classes, noise = rng.integers(0, 3, 500), rng.poisson(9.0, 500)
    found = Ages.of(noise, classes)
    assert found.kruskal_wallis[1] > 1e-4  # less than this once in 10,000
    older = Ages.of(noise + 3 * classes, classes)
    assert older.kruskal_wallis[1] < 1e-20
    assert older.explained > 0.3 > found.explained
    assert (older.classes == classes).all()
    assert Ages.of(noise, np.zeros(500, dtype=np.int64)).kruskal_wallis == (0.0, 1.0)
