import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.allocation.allocations import Allocations
from models.allocation.annealing.known_modes import known_values
from models.allocation.cell_counts import MISSING, CellCounts
from models.allocation.inference_plan import plan_of
from models.allocation.joint_values import all_values
from models.allocation.model import AllocationModel

X = np.array([[3, 0, 1], [0, 2, 2]])


def plan_at(model, observed=X):
    return plan_of(model, CellCounts.of(observed, model))


def modes_of(plan, values):
    """Return allocations over modes and all indices, given joint values (n_tokens,) of each."""
    cell_of = np.repeat(np.arange(len(plan.observed.counts)), plan.observed.counts)
    cells = [
        np.column_stack([np.full(len(each), n), all_values(plan, cell_of, each)])
        for n, each in enumerate(values)
    ]
    sizes = [plan.model.cardinalities[name] for name in plan.model.indices]
    counts = np.ones(len(cell_of) * len(values), dtype=np.int64)
    return CellCounts(np.concatenate(cells), counts, (len(values), *sizes))


def log_probability(plan, values):
    """Return that of an allocation under the plan's model, but for the orders of its tokens."""
    (mode,) = modes_of(plan, [values]).cells[np.newaxis]
    columns = dict(zip(plan.model.indices, mode[:, 1:].T, strict=True))
    tokens = np.ones(len(mode), dtype=np.int64)
    return Allocations(mode[:, 0], columns, tokens, 1).log_probabilities(plan.model)[0]


@given(values=st.lists(st.integers(0, 4), min_size=8, max_size=8), rank=st.integers(1, 6))
def test_tokens_of_one_cluster_stay_together_if_there_are_as_many(values, rank):
    found = known_values(
        plan_at(AllocationModel.nmf(2, 3, rank)),
        modes_of(plan_at(AllocationModel.nmf(2, 3, 5)), [np.array(values, dtype=np.int32)]),
    )
    n_used = len(set(values))
    assert len(found) == (n_used <= rank)
    for each in found:
        assert set(each) == set(range(n_used))
        larger = plan_at(AllocationModel.nmf(2, 3, 5))
        same = log_probability(larger, np.array(values, dtype=np.int32))
        assert log_probability(larger, each) == pytest.approx(same, abs=1e-9)


def test_each_index_has_labels_of_its_own():
    few, many = (AllocationModel.tucker((2, 3), sizes) for sizes in ((2, 1), (4, 3)))
    values = np.array([3 * 3 + 2, 3 * 3 + 2, 0 + 2, 3 * 3 + 2, 0 + 2, 0 + 2, 0 + 2, 0 + 2])
    (found,) = known_values(plan_at(few), modes_of(plan_at(many), [values.astype(np.int32)]))
    np.testing.assert_array_equal(np.sort(np.bincount(found)), [3, 5])
    values[0] = 3 * 3 + 1  # two values of the index that has one now
    assert known_values(plan_at(few), modes_of(plan_at(many), [values.astype(np.int32)])) == []


def test_modes_that_fit_come_in_their_order():
    smaller, larger = (plan_at(AllocationModel.nmf(2, 3, rank)) for rank in (2, 3))
    every = np.array([[0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 2, 0, 1, 2, 0, 1], [2, 2, 2, 2, 2, 2, 1, 1]])
    found = known_values(smaller, modes_of(larger, every.astype(np.int32)))
    np.testing.assert_array_equal(found, [[0, 0, 0, 0, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 0, 0]])


def test_modes_of_other_graphs_or_counts_are_refused():
    plan = plan_at(AllocationModel.nmf(2, 3, 2))
    values = np.zeros((1, 8), dtype=np.int32)
    modes = modes_of(plan, values)
    with pytest.raises(TypeError, match="known_modes must be the modes of an estimate"):
        known_values(plan, modes.cells)
    with pytest.raises(ValueError, match="over modes and the indices k, i, j, of shape"):
        known_values(plan, CellCounts(modes.cells[:, 1:], modes.counts, modes.shape[1:]))
    wider = plan_at(AllocationModel.nmf(2, 4, 2), np.pad(X, ((0, 0), (0, 1))))
    with pytest.raises(ValueError, match="known_modes must be over modes"):
        known_values(wider, modes)
    fewer = plan_at(AllocationModel.nmf(2, 3, 2), np.maximum(X - 1, 0))
    with pytest.raises(ValueError, match="known_modes must have the counts of X"):
        known_values(fewer, modes)
    for axis in (0, 1):  # the number of a mode, a hidden value
        cells = modes.cells.copy()
        cells[0, axis] = MISSING
        with pytest.raises(ValueError, match="known_modes must say all indices of each token"):
            known_values(plan, CellCounts(cells, modes.counts, modes.shape))


def test_none_is_known_where_tokens_lack_indices():
    model = AllocationModel.nmf(2, 3, 2)
    modes = modes_of(plan_at(model), np.zeros((1, 8), dtype=np.int32))
    observed = CellCounts(np.array([[0, MISSING], [1, 2]]), np.array([4, 4]), (2, 3))
    assert known_values(plan_of(model, observed), modes) == []
