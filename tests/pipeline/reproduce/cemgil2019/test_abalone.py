"""Measurements in bins, the complete graph, and hidden classes beside ages."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from math import lgamma, log
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest

from corpora import CorpusFormatError
from evaluation.allocation.log_marginal import log_marginal
from evaluation.allocation.marginal_estimate import MarginalEstimate
from models.allocation.cell_counts import CellCounts
from models.allocation.model import AllocationModel
from models.allocation.sequence import log_of_counts
from pipeline.cache.results import ResultCache
from pipeline.reproduce.cemgil2019 import abalone, scores
from pipeline.reproduce.cemgil2019.abalone import (
    COLUMNS,
    CP,
    AbaloneBudget,
    ages_of,
    bins_of,
    classes_of,
    complete_graph,
    read_abalone,
    sampled_classes,
    tensor_of,
)
from pipeline.reproduce.cemgil2019.letters import GRAPHS, NMF, SYMMETRIC, _preferred, models_of
from pipeline.reproduce.cemgil2019.scores import (
    ANNEALED,
    SCORING,
    WITH_MOVES,
    Curves,
    score,
    score_rows,
)
from pipeline.reproduce.settings import ReproduceSettings
from tests.pipeline.reproduce.support import abalone_lines, places, shifted
from tests.shared_data import shared_file

SMALL = AbaloneBudget(20, 2, 2, 3, n_modes=4, n_sweeps=100, n_bins=2, class_rank=2)


def two_kinds(rng, n, axes=4):
    """(n, axes) bins, 0 or 1, of two kinds of animals, which have the likelier bin at .9."""
    kind = rng.integers(0, 2, n)
    return (rng.random((n, axes)) < 0.9) == kind[:, None].astype(bool), kind


def test_bins_are_the_groups_of_each_measurement_smallest_first():
    rng = np.random.default_rng(0)
    wanted = rng.integers(0, 4, (200, 2))
    wanted[:4] = np.arange(4)[:, None]
    values = np.array([0.0, 1.0, 5.0, 6.0])[wanted] + rng.uniform(-0.2, 0.2, (200, 2))
    values[:, 1] *= -100  # the largest first, on another scale
    found = bins_of(values, 4)
    assert (found[:, 0] == wanted[:, 0]).all()
    assert (found[:, 1] == 3 - wanted[:, 1]).all()


def test_bins_do_not_depend_on_the_global_random_state_or_on_rows():
    values = np.random.default_rng(1).gamma(2.0, size=(300, 2))
    found = bins_of(values, 5)
    assert (bins_of(values, 5) == found).all()
    backwards = bins_of(values[::-1], 5)[::-1]
    assert (backwards == found).mean() > 0.98  # other starts: a value between two centres may move


def test_too_few_values_for_bins():
    values = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 2.0]])
    with pytest.raises(ValueError, match="measurement 2 has 2 different values, too few for 3"):
        bins_of(values, 3)


def test_every_animal_is_a_token():
    bins = np.array([[0, 1], [0, 1], [1, 2]])
    observed = tensor_of(bins, 3)
    assert observed.shape == (3, 3)
    assert observed.dense().tolist() == [[0, 2, 0], [0, 0, 1], [0, 0, 0]]


@pytest.mark.parametrize("a", [0.001, 1.0, 7.5])
def test_the_complete_graph_is_what_the_general_way_says(a):
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


def test_one_class_is_exact_and_two_kinds_are_found():
    bins, _ = two_kinds(np.random.default_rng(4), 120)
    observed = tensor_of(bins.astype(np.int64), 2)
    models = {rank: AllocationModel.cp(observed.shape, rank, a=1.0) for rank in (1, 2)}
    exact = log_marginal(models[1], observed, "exact").log_marginal
    for method in SCORING:
        alone, two = (
            score(models[rank], observed, method, SMALL, (CP, method, 1.0, rank))["log_marginal"]
            for rank in (1, 2)
        )
        assert alone == pytest.approx(exact, abs=1e-8)
        assert two > alone + 10


def test_rows_and_curves(monkeypatch):
    def made_score(_, X, method, budget, key, n_jobs):
        assert (X, budget, n_jobs) == ("X", levels, 2)
        graph, _, _, rank = key
        value, repeats = float(rank), [rank - 1.0, rank + float(graph == NMF)]
        changed = {
            (SYMMETRIC, "smc", 4): (9.0, [5.5, 9.5]),
            (NMF, WITH_MOVES, 4): (3.5, [3.0, 3.9]),
            (SYMMETRIC, WITH_MOVES, 4): (-np.inf, [-np.inf, -np.inf]),
        }
        value, repeats = changed.get((graph, method, rank), (value, repeats))
        direction = "lower bound" if method == "vb" else "unbiased"
        made = MarginalEstimate(value, 0.1, method, direction, 9, np.array(repeats))
        return made.to_arrays()

    levels = SimpleNamespace(strengths=(1.0,), ranks=(1, 4))
    given = ResultCache().group("kind", seed=1), models_of(3), "X", levels, "x", 2
    monkeypatch.setattr(scores, "score", made_score)
    monkeypatch.setattr(scores, "pooled", lambda _, found: found)
    found = score_rows(*given)
    monkeypatch.setattr(scores, "score", mock.Mock())
    assert found == score_rows(*given)
    assert len(found["rows"]) == len(found["best"]) * 2 == 2 * 2 * 4
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    curves = Curves(found)
    assert (curves.graphs, curves.strengths, curves.ranks.tolist()) == (GRAPHS, (1.0,), [1, 4])
    assert curves.of(NMF, "smc", 1.0).tolist() == [1.0, 4.0]
    assert curves.of(SYMMETRIC, WITH_MOVES, 1.0).tolist() == [1.0, -np.inf]
    assert curves.of(NMF, "smc", 1.0, "lowest_repeat").tolist() == [0.0, 3.0]
    assert curves.of(NMF, "smc", 1.0, "highest_repeat").tolist() == [2.0, 5.0]
    assert curves.of(NMF, "vb", 1.0, "lowest_repeat").tolist() == [1.0, 4.0]
    assert curves.best[SYMMETRIC, "smc", 1.0]["rank"] == 4
    by_annealing = curves.best[NMF, ANNEALED, 1.0]
    assert by_annealing["probability"] == pytest.approx(1 / (1 + np.exp(-3)))
    assert by_annealing["near"] == []
    assert curves.best[NMF, WITH_MOVES, 1.0]["near"] == []
    assert curves.best[NMF, "vb", 1.0]["probability"] is None
    assert curves.is_below_bound(NMF, "smc", 1.0).tolist() == [False, False]
    assert curves.is_below_bound(NMF, WITH_MOVES, 1.0).tolist() == [False, True]
    fails = np.array([True, True])
    below = ["rank 1", "rank 4 (below VB's bound)"]
    assert curves.at(fails, GRAPHS, WITH_MOVES, 1.0) == below
    failed = {each.text: each.fails_at for each in curves.above_bound()}
    assert failed["a = 1, NMF: SMC with moves no lower than the bound of VB"] == ["rank 4"]
    assert failed["a = 1, NMF: SMC no lower than the bound of VB"] == []
    assert _preferred(curves, "smc", 1.0)["not_told_apart"] == [1]


def test_classes_make_up_the_allocation():
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


def test_who_of_equal_animals_is_in_which_class_is_drawn():
    allocation = CellCounts(np.array([[0, 1], [1, 1], [0, 0]]), np.array([1, 2, 1]), (2, 2))
    bins = np.array([[1], [0], [1], [1]])
    drawn = np.array(
        [classes_of(allocation, bins, np.random.default_rng([6, i])) for i in range(600)]
    )
    assert (drawn[:, 1] == 0).all()
    share = drawn[:, [0, 2, 3]].mean(axis=0)  # each in class 1 with probability 2/3
    assert np.abs(share - 2 / 3).max() < 4 * np.sqrt(2 / 9 / 600)


def test_two_kinds_are_told_from_each_other():
    bins, kind = two_kinds(np.random.default_rng(7), 300, axes=7)
    budget = replace(SMALL, n_particles=100)
    found = sampled_classes(bins.astype(np.int64), budget)
    assert set(found.tolist()) <= {0, 1}
    agree = (found == kind).mean()
    assert max(agree, 1 - agree) > 0.95
    assert (sampled_classes(bins.astype(np.int64), budget) == found).all()


def test_ages_by_class():
    rings = np.array([9, 11, 3, 5, 4, 30])
    ages = ages_of(rings, np.array([7, 7, 2, 2, 2, 5]))
    classes = ages["classes"]
    assert [each["animals"] for each in classes] == [3, 2, 1]
    assert [each["mean_rings"] for each in classes] == [4.0, 10.0, 30.0]
    errors = [each["standard_error"] for each in classes]
    assert errors == pytest.approx([1 / np.sqrt(3), 1.0, 0.0])
    assert ages["steps_in_standard_errors"] == pytest.approx([6 / np.sqrt(4 / 3), 20.0])
    distribution = np.array([each["distribution"] for each in classes])
    assert distribution.shape == (3, 31)
    assert distribution.sum(axis=1) == pytest.approx(1.0)
    assert distribution[0, 3:6] == pytest.approx(1 / 3)


def test_classes_that_say_nothing_of_age_are_not_found_to():
    rng = np.random.default_rng(8)
    classes, noise = rng.integers(0, 3, 500), rng.poisson(9.0, 500)
    found, older = ages_of(noise, classes), ages_of(noise + 3 * classes, classes)
    assert found["probability"] > 1e-4  # less than this once in 10,000
    assert older["probability"] < 1e-20
    assert older["explained"] > 0.3 > found["explained"]
    assert [each["animals"] for each in older["classes"]] == np.bincount(classes).tolist()
    one = ages_of(noise, np.zeros(500, dtype=np.int64))
    assert (one["kruskal_wallis"], one["probability"]) == (0.0, 1.0)


def test_findings_tell_where_they_fail(quick, place):
    given = ReproduceSettings(table=str(place / "abalone.csv"), threads=1)
    result = abalone.EXPERIMENT.run(given).result
    rings, classes = np.arange(60) % 3 + 5, np.arange(60) // 20
    result["ages"] |= ages_of(rings, classes)
    for by, failed in ((-1e6, 1), (1e6, 0)):
        made = result | {"rows": [shifted(row, by) for row in result["rows"]]}
        failed_at = places(abalone.EXPERIMENT, made)
        of_graph = [at for claim, at in failed_at.items() if "CP above" in claim]
        assert [len(each) for each in of_graph] == [failed] * 14
        assert all(each[0].startswith("rank 3") for each in of_graph if each)
        of_ages = [at for claim, at in failed_at.items() if "ages" in claim]
        assert of_ages == [["classes 1 and 2", "classes 2 and 3"]]
        (differ,) = (at for claim, at in failed_at.items() if "in age" in claim)
        assert differ[0].startswith("p = ")
    result["ages"]["classes"].pop()
    of_ages = [at for claim, at in places(abalone.EXPERIMENT, result).items() if "ages" in claim]
    assert of_ages[0][-1] == "1 classes, which are empty"


def test_abalone_with_or_without_a_header(tmp_path):
    lines = abalone_lines(5)
    path = tmp_path / "a.csv"
    found = []
    for header in (
        None,
        ",".join(COLUMNS),
        "sex,length,diameter,height,whole weight,shucked_weight,Viscera weight,Shell weight,rings",
    ):
        path.write_bytes("\r\n".join([*([header] if header else []), *lines, ""]).encode())
        found.append(read_abalone(str(path)))
    for measurements, rings in found:
        assert measurements.shape == (5, 7)
        assert measurements[0].tolist() == [float(x) for x in lines[0].split(",")[1:8]]
        assert rings.tolist() == [int(line.split(",")[-1]) for line in lines]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no row"),
        (",".join(COLUMNS) + "\n", "no row"),
        ("Sex,Length\nM,1\n", "line 1: expected the columns"),
        ("M,1,1,1,1,1,1,1\n", "line 1: expected M, F or I"),
        ("M,1,1,1,1,1,1,1,9\nX,1,1,1,1,1,1,1,9\n", "line 2: expected M, F or I"),
        ("M,1,1,1,1,1,1,1,9\nM,1,1,-1,1,1,1,1,9\n", "line 2"),
        ("M,1,1,1,1,1,1,1,9.5\n", "line 1"),
        ("M,1,1,nan,1,1,1,1,9\n", "line 1"),
        ("M,1,1,x,1,1,1,1,9\n", "line 1"),
        ("M,1,1,1,1,1,1,1,9\n" * 9, "measurement 1 has 1 different values"),
    ],
)
def test_abalones_that_cannot_be_read(text, complaint, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(CorpusFormatError, match=complaint):
        abalone.EXPERIMENT.run(ReproduceSettings(table=str(path), threads=1))
    path.write_bytes(b"M,1,\xff\xfe")
    with pytest.raises(CorpusFormatError, match="no CSV of abalones"):
        read_abalone(str(path))


@pytest.mark.shared
def test_the_real_abalones():
    measurements, rings = read_abalone(str(shared_file("abalone/abalone.csv")))
    assert measurements.shape == (4177, 7)
    assert (rings.min(), rings.max()) == (1, 29)
