from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest

from models.allocation.cell_counts import CellCounts
from models.allocation.model import AllocationModel
from models.allocation.sequence import log_allocation
from pipeline.reproduce.cemgil2019.histogram import (
    EXPERIMENT,
    Histogram,
    all_allocations,
    as_json,
    compositions,
    effective_parameters,
    log_allocations,
)
from pipeline.reproduce.settings import ReproduceSettings
from tests.pipeline.reproduce.support import failing

NMF = AllocationModel.nmf(2, 3, 2, 0.7)
CP = AllocationModel.cp((2, 2, 2), 2, 3.0, b=0.4)
CHAIN = AllocationModel(
    {"j": (), "k": ("j",), "l": ("k",), "i": ("l",)},
    {"j": 2, "k": 2, "l": 3, "i": 2},
    ("i", "j"),
    a=0.01,
)
GIVEN = AllocationModel(
    {"x": ("k",), "k": ()},
    {"x": 3, "k": 2},
    ("x",),
    prior={"x": [[0.2, 1.0, 3.0], [0.5, 0.5, 0.1]], "k": [2.0, 0.3]},
)
MODELS = [NMF, CP, CHAIN, GIVEN]


def drawn(model, n_tokens=4):
    rng = np.random.default_rng(0)
    cells = np.stack([rng.integers(size, size=n_tokens) for size in model.shape], axis=1)
    return CellCounts(cells, np.ones(n_tokens, dtype=np.int64), model.shape)


@pytest.mark.parametrize(("n", "n_parts"), [(0, 3), (1, 1), (2, 3), (4, 2), (3, 5)])
def test_compositions(n, n_parts):
    rows = compositions(n, n_parts).tolist()
    naive = [list(row) for row in product(range(n + 1), repeat=n_parts) if sum(row) == n]
    assert sorted(rows) == sorted(naive)


@pytest.mark.parametrize("model", MODELS)
def test_all_tensors_and_no_other(model):
    X = drawn(model)
    tensors = all_allocations(model, X)
    n_hidden = int(np.prod([model.cardinalities[name] for name in model.hidden]))
    assert len(tensors) == np.prod([comb(n + n_hidden - 1, n) for n in X.counts.tolist()])
    assert tensors.shape[1:] == tuple(model.cardinalities.values())
    assert tensors.min() >= 0
    assert len(np.unique(tensors.reshape(len(tensors), -1), axis=0)) == len(tensors)
    hidden = tuple(1 + model.indices.index(name) for name in model.hidden)
    kept = [name for name in model.indices if name in model.visible]
    marginal = tensors.sum(axis=hidden).transpose(0, *(1 + kept.index(n) for n in model.visible))
    assert (marginal == X.dense()).all()


@pytest.mark.parametrize("model", MODELS)
def test_probabilities_are_those_of_single_tensors(model):
    tensors = all_allocations(model, drawn(model))
    found = log_allocations(model, tensors)
    complete = model.fully_visible()
    for n in np.random.default_rng(1).integers(len(tensors), size=12):
        single = log_allocation(model, CellCounts.of(tensors[n], complete))
        assert found[n] == pytest.approx(single, abs=1e-10)


@pytest.mark.parametrize("model", MODELS)
def test_effective_parameters_counted_by_hand(model):
    tensors = all_allocations(model, drawn(model))
    found = effective_parameters(model, tensors)
    for n in np.random.default_rng(2).integers(len(tensors), size=12):
        held = [dict(zip(model.indices, at, strict=True)) for at in np.argwhere(tensors[n])]
        expected = 0
        for name, parents in model.parents.items():
            expected += len({tuple(at[each] for each in (*parents, name)) for at in held})
            expected -= len({tuple(at[each] for each in parents) for at in held})
        assert found[n] == expected


def test_a_tensor_of_nmf_by_hand():
    """Two tokens in one cell, apart: 2 + 2 + 2 - 1 - 2 - 2 parameters, or together: 0."""
    X = CellCounts.of([[2]], model := AllocationModel.nmf(1, 1, 2))
    tensors = all_allocations(model, X)
    apart = (tensors > 0).sum(axis=(1, 2, 3)) == 2
    assert effective_parameters(model, tensors).tolist() == np.where(apart, 1, 0).tolist()


def test_what_is_refused():
    with pytest.raises(ValueError, match="are more than"):
        all_allocations(AllocationModel.nmf(3, 3, 10), drawn(AllocationModel.nmf(3, 3, 10), 20))
    with pytest.raises(ValueError, match="observed of all tokens"):
        all_allocations(NMF, CellCounts([[0, -1]], [1], NMF.shape))
    symmetric = AllocationModel.symmetric_nmf(2, 2)
    with pytest.raises(ValueError, match="tied"):
        log_allocations(symmetric, np.zeros((1, 2, 2, 2), dtype=np.int64))


def test_the_experiment():
    result = EXPERIMENT.run(ReproduceSettings()).result
    rows = result["rows"]
    assert result["allocations"] == 6**2 * 3**5
    assert sum(level["allocations"] for level in result["levels"]) == 6**2 * 3**5
    assert rows[1]["exact"] == pytest.approx(-20.093149263557, abs=1e-8)  # as published
    assert not failing(EXPERIMENT, result)
    # The slope of log π(S) over log a is d_EP + 1 for each S; it is not d_EP, nor d_EP + 2.
    assert rows[-1]["limit_error"] < 1e-3
    assert rows[0]["limit_error"] is None
    assert [row["levels_are_separate"] for row in rows[1:]] == [False, False, *[True] * 3]
    assert rows[-1]["spacing"] - rows[-2]["spacing"] == pytest.approx(np.log(1e-6), rel=1e-3)


def test_statistics_by_hand():
    log_pi = np.array([[-1.0, -2.0, -3.0, -4.0], [-1.0, -3.0, -2.0, -5.0]])
    found = as_json(Histogram(log_pi, np.array([0, 1, 1, 3]), np.zeros(2)), (1.0, 0.1))
    assert [level["effective_parameters"] for level in found["levels"]] == [0, 1, 3]
    assert found["levels"][1] == {
        "effective_parameters": 1,
        "allocations": 2,
        "log_pi": {"1": [-3.0, -2.0], "0.1": [-3.0, -2.0]},
    }
    for row, values in zip(found["rows"], log_pi, strict=True):
        slope, _ = np.polyfit([0, 1, 1, 3], values, 1)
        assert row["levels_are_separate"]
        assert row["spacing"] == pytest.approx(slope)
        assert row["above_log_a"] == pytest.approx(slope - np.log(row["a"]))
        assert row["explained"] == pytest.approx(np.corrcoef([0, 1, 1, 3], values)[0, 1] ** 2)
        assert row["log_sum"] == pytest.approx(np.log(np.exp(values).sum()))
        assert row["distinct"] == 4
    slopes = (log_pi[1] - log_pi[0]) / np.log(0.1)
    worst = np.abs(slopes - [1, 2, 2, 4]).max()
    assert found["rows"][1]["limit_error"] == pytest.approx(worst)
    mixed = as_json(Histogram(log_pi, np.array([1, 0, 1, 3]), np.zeros(2)), (1.0, 0.1))
    assert not any(row["levels_are_separate"] for row in mixed["rows"])


def test_findings():
    rng = np.random.default_rng(0)
    found = Histogram(rng.normal(-9, 1, (2, 50)), rng.integers(3, 9, 50), np.zeros(2))
    result = as_json(found, (1e-2, 1e-4))
    result["rows"][0]["explained"] = 1.0
    failed = failing(EXPERIMENT, result)
    assert len(failed) == 5
    assert all("a = 0.0001" in at for at in failed.values())
