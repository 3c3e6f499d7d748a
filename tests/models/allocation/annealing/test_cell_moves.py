import math

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import chisquare

from models.allocation.annealing import cell_moves
from models.allocation.annealing.cell_moves import (
    MAX_CELL,
    cell_scratch,
    resample_cell,
    whole_cells,
)
from models.allocation.annealing.urn import count, factor, log_probability, urn_of
from models.allocation.cell_counts import CellCounts
from models.allocation.inference_plan import plan_of
from models.allocation.model import AllocationModel
from tests.models.allocation.annealing.test_fiber_moves import filled

X = np.array([[3, 1, 2], [0, 2, 1]])
SYMMETRIC = np.array([[3, 3, 2], [0, 1, 1], [1, 0, 0]])
TENSOR = np.zeros((2, 2, 2), int)
TENSOR[0, 0, 0], TENSOR[0, 0, 1], TENSOR[1, 1, 1] = 3, 2, 4


def urn_for(model, data):
    return urn_of(plan_of(model, CellCounts.of(data, model)))


def check(found, share):
    """The numbers `found` fit probabilities, and no uniform ones."""
    n_draws = found.sum()
    frequent = share * n_draws > 5
    found = np.append(found[frequent], found[~frequent].sum())
    wanted = np.append(share[frequent], share[~frequent].sum()) * n_draws
    is_drawn = wanted > 0
    assert found[~is_drawn].sum() == 0
    assert chisquare(found[is_drawn], wanted[is_drawn]).pvalue > 0.001
    uniform = np.full(is_drawn.sum(), n_draws / is_drawn.sum())
    assert chisquare(found[is_drawn], uniform).pvalue < 1e-6  # another law would be seen


@pytest.mark.parametrize(
    ("model", "X", "cell", "rho"),
    [
        (AllocationModel.nmf(2, 3, 3, 0.9), X, 0, 1.0),
        (AllocationModel.nmf(2, 3, 3, 0.9), X, 2, 0.3),
        (AllocationModel.symmetric_nmf(3, 3, 0.9), SYMMETRIC, 0, 1.0),  # reads an entry twice
        (AllocationModel.symmetric_nmf(3, 2, 2.0), SYMMETRIC, 1, 0.5),
        (AllocationModel.cp((2, 2, 2), 3, 0.4), TENSOR, 2, 1.0),
    ],
)
def test_a_cell_is_drawn_from_its_conditional(model, X, cell, rho):
    urn = urn_for(model, X)
    pattern = urn.pattern_of[cell]
    n_values, m = int(urn.n_values[pattern]), int(np.diff(urn.cell_start)[cell])
    rng = np.random.default_rng(0)
    values = rng.integers(0, n_values, X.sum()).astype(np.int32)
    tokens = np.arange(urn.cell_start[cell], urn.cell_start[cell + 1])
    expected = {}
    for code in range(n_values**m):
        values[tokens] = code // n_values ** np.arange(m) % n_values
        counts = filled(urn, values)
        key = counts.tobytes()
        expected[key] = expected.get(key, 0.0) + np.exp(log_probability(urn, counts, rho))
    seen, scratch = dict.fromkeys(expected, 0), cell_scratch(urn, whole_cells(urn))
    for _ in range(4000):
        resample_cell(urn, counts, values, rho, cell, scratch, rng)
        seen[counts.tobytes()] += 1
    assert np.array_equal(counts, filled(urn, values))
    share = np.array(list(expected.values())) / sum(expected.values())
    check(np.array(list(seen.values())), share)


@pytest.mark.parametrize("order", [2, 3, 5])
@pytest.mark.parametrize("a", [1e-6, 1.0, 1e4])
def test_large_cells_of_tensors_are_within_the_range_of_numbers(order, a):
    """With few tokens elsewhere the ends of a cell's numbers may be its only probable ones."""
    data = np.zeros((2,) * order, int)
    data[(0,) * order], data[(1,) * order] = MAX_CELL, 7
    urn = urn_for(AllocationModel.cp(data.shape, 2, a=a), data)
    values = np.zeros(MAX_CELL + 7, dtype=np.int32)
    counts, m = filled(urn, values), MAX_CELL
    logs = np.zeros((2, m + 1))
    count(urn, counts, 0, 0, -float(m))
    for h in (0, 1):
        for i in range(m):
            logs[h, i + 1] = logs[h, i] + math.log(factor(urn, counts, 1.0, 0, h))
            count(urn, counts, 0, h, 1.0)
        count(urn, counts, 0, h, -float(m))
    count(urn, counts, 0, 0, float(m))
    s = np.arange(m + 1)
    log_share = logs[0] + logs[1, ::-1] - gammaln(s + 1) - gammaln(m - s + 1)
    share = np.exp(log_share - np.logaddexp.reduce(log_share))
    found, scratch, rng = (
        np.zeros(m + 1),
        cell_scratch(urn, whole_cells(urn)),
        np.random.default_rng(1),
    )
    for _ in range(1000):
        resample_cell(urn, counts, values, 1.0, 0, scratch, rng)
        found[(values[:m] == 0).sum()] += 1
    check(found, share)


def test_cells_that_are_moved_token_by_token(monkeypatch):
    """Single tokens, large cells, many joint values, and values that share their factors."""
    data = np.array([[1, 2, MAX_CELL], [MAX_CELL + 1, 0, 3]])
    assert whole_cells(urn_for(AllocationModel.nmf(2, 3, 4), data)).tolist() == [
        *(False, True, True),
        *(False, True),
    ]
    monkeypatch.setattr(cell_moves, "MAX_WEIGHTS", 12)
    urn = urn_for(AllocationModel.nmf(2, 3, 4), data)
    is_whole = whole_cells(urn)
    assert is_whole.tolist() == [False, True, False, False, False]
    assert len(cell_scratch(urn, is_whole).weights) == 12
    assert not whole_cells(urn_for(AllocationModel.tucker((2, 3), (2, 2)), data)).any()


def test_an_impossible_value_is_not_drawn_where_all_weights_underflow():
    """A cell of 64 tokens, all of a value that is nearly impossible beside 2 million elsewhere."""
    model = AllocationModel.nmf(2, 2, 3)
    prior = {name: np.ones(model.table_shape(name)) for name in model.parents}
    prior["i"][1, 0], prior["i"][2, 0] = 1e-240, 0.0
    model = AllocationModel(model.parents, model.cardinalities, model.visible, a=1.0, prior=prior)
    urn = urn_for(model, np.array([[64, 0], [0, 2_000_000]]))
    values = np.zeros(2_000_064, dtype=np.int32)
    counts, scratch = np.zeros(len(urn.alpha)), cell_scratch(urn, whole_cells(urn))
    count(urn, counts, 0, 0, 64.0)
    count(urn, counts, 1, 0, 2e6)
    before = counts.sum()
    for _ in range(5):
        resample_cell(urn, counts, values, 1.0, 0, scratch, np.random.default_rng(0))
        assert not (values == 2).any()
    assert counts.sum() == before
