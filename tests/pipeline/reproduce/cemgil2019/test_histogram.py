from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import comb

import numpy as np
import pytest

from models.allocation.cell_counts import CellCounts
from models.allocation.model import AllocationModel
from models.allocation.sequence import log_allocation
from pipeline.reproduce.cemgil2019.histogram import (
    Histogram,
    HistogramSettings,
    all_allocations,
    compositions,
    effective_parameters,
    histogram,
    log_allocations,
)

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


def drawn(model: AllocationModel, n_tokens: int = 4) -> CellCounts:
    rng = np.random.default_rng(0)
    cells = np.stack([rng.integers(size, size=n_tokens) for size in model.shape], axis=1)
    return CellCounts(cells, np.ones(n_tokens, dtype=np.int64), model.shape)


@pytest.mark.parametrize(("n", "n_parts"), [(0, 3), (1, 1), (2, 3), (4, 2), (3, 5)])
def test_compositions(n: int, n_parts: int) -> None:
    rows = compositions(n, n_parts).tolist()
    naive = [list(row) for row in product(range(n + 1), repeat=n_parts) if sum(row) == n]
    assert sorted(rows) == sorted(naive)


@pytest.mark.parametrize("model", MODELS)
def test_all_tensors_and_no_other(model: AllocationModel) -> None:
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
def test_probabilities_are_those_of_single_tensors(model: AllocationModel) -> None:
    tensors = all_allocations(model, drawn(model))
    found = log_allocations(model, tensors)
    complete = model.fully_visible()
    for n in np.random.default_rng(1).integers(len(tensors), size=12):
        single = log_allocation(model, CellCounts.of(tensors[n], complete))
        assert found[n] == pytest.approx(single, abs=1e-10)


@pytest.mark.parametrize("model", MODELS)
def test_effective_parameters_counted_by_hand(model: AllocationModel) -> None:
    tensors = all_allocations(model, drawn(model))
    found = effective_parameters(model, tensors)
    for n in np.random.default_rng(2).integers(len(tensors), size=12):
        held = [dict(zip(model.indices, at, strict=True)) for at in np.argwhere(tensors[n])]
        expected = 0
        for name, parents in model.parents.items():
            expected += len({tuple(at[each] for each in (*parents, name)) for at in held})
            expected -= len({tuple(at[each] for each in parents) for at in held})
        assert found[n] == expected


def test_a_tensor_of_nmf_by_hand() -> None:
    """Two tokens in one cell, apart: 2 + 2 + 2 - 1 - 2 - 2 parameters, or together: 0."""
    X = CellCounts.of([[2]], model := AllocationModel.nmf(1, 1, 2))
    tensors = all_allocations(model, X)
    apart = (tensors > 0).sum(axis=(1, 2, 3)) == 2
    assert effective_parameters(model, tensors).tolist() == np.where(apart, 1, 0).tolist()


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="are more than"):
        all_allocations(AllocationModel.nmf(3, 3, 10), drawn(AllocationModel.nmf(3, 3, 10), 20))
    with pytest.raises(ValueError, match="observed of all tokens"):
        all_allocations(NMF, CellCounts([[0, -1]], [1], NMF.shape))  # type: ignore[arg-type]
    symmetric = AllocationModel.symmetric_nmf(2, 2)
    with pytest.raises(ValueError, match="tied"):
        log_allocations(symmetric, np.zeros((1, 2, 2, 2), dtype=np.int64))


def test_the_experiment() -> None:
    calls: list[int] = []
    settings = HistogramSettings(a=(1.0, 1e-2, 1e-6, 1e-10))
    found = histogram(settings, lambda: calls.append(1))
    assert len(calls) == 4
    assert found.log_pi.shape == (4, 6**2 * 3**5)
    np.testing.assert_allclose(found.log_sum, found.exact, rtol=0, atol=1e-10)
    assert found.exact[0] == pytest.approx(-20.093149263557, abs=1e-8)  # as published
    # The slope of log π(S) over log a is d_EP + 1 for each S; it is not d_EP, nor d_EP + 2.
    assert (np.diff(found.limit_error) < 0).all()
    assert found.limit_error[-1] < 1e-3
    assert replace(found, d_ep=found.d_ep + 1).limit_error[-1] > 0.9
    assert found.are_separate.tolist() == [False, True, True, True]
    assert np.diff(found.spacing)[-1] == pytest.approx(np.log(1e-4), rel=1e-3)
    assert (np.diff(found.explained) > 0).all()


def test_statistics_by_hand() -> None:
    settings = HistogramSettings(a=(1.0, 0.1))
    log_pi = np.array([[-1.0, -2.0, -3.0, -4.0], [-1.0, -3.0, -2.0, -5.0]])
    found = Histogram(settings, log_pi, np.array([0, 1, 1, 3]), np.zeros(2))
    values, lowest, highest = found.levels
    assert values.tolist() == [0, 1, 3]
    assert lowest.tolist() == [[-1, -3, -4], [-1, -3, -5]]
    assert highest.tolist() == [[-1, -2, -4], [-1, -2, -5]]
    assert found.are_separate.tolist() == [True, True]
    for row, spacing, explained in zip(log_pi, found.spacing, found.explained, strict=True):
        slope, _ = np.polyfit([0, 1, 1, 3], row, 1)
        assert spacing == pytest.approx(slope)
        assert explained == pytest.approx(np.corrcoef([0, 1, 1, 3], row)[0, 1] ** 2)
    assert found.log_sum[0] == pytest.approx(np.log(np.exp(log_pi[0]).sum()))
    mixed = Histogram(settings, log_pi, np.array([1, 0, 1, 3]), np.zeros(2))
    assert mixed.are_separate.tolist() == [False, False]


@pytest.mark.parametrize("bad", [{"rank": 0}, {"a": (1.0,)}, {"a": (0.1, 1.0)}, {"a": (1.0, 0.0)}])
def test_bad_settings(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        HistogramSettings(**bad)  # type: ignore[arg-type]
