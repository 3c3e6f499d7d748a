import numpy as np
import pytest
from scipy.stats import chisquare

from models.allocation.annealing import fiber_moves
from models.allocation.annealing.fiber_moves import divide_fiber, fibers_of, products_for
from models.allocation.annealing.token_moves import split_cell
from models.allocation.annealing.urn import count, log_probability, urn_of
from models.allocation.cell_counts import MISSING, CellCounts
from models.allocation.inference_plan import plan_of
from models.allocation.model import AllocationModel

X = np.array([[3, 1, 2], [0, 2, 1]])


def fibers_for(model, data):
    plan = plan_of(model, CellCounts.of(data, model))
    urn = urn_of(plan)
    return urn, fibers_of(plan, urn), plan.observed.cells


def filled(urn, values):
    counts = np.zeros(len(urn.alpha))
    cell_of = np.repeat(np.arange(len(urn.pattern_of)), np.diff(urn.cell_start))
    for cell, h in zip(cell_of, values, strict=True):
        count(urn, counts, int(cell), int(h), 1.0)
    return counts


SYMMETRIC = np.array([[1, 3, 2], [0, 1, 1], [1, 0, 0]])


@pytest.mark.parametrize(
    ("model", "X", "fiber", "rho"),
    [
        (AllocationModel.nmf(2, 3, 2, 0.9), X, 0, 1.0),
        (AllocationModel.nmf(2, 3, 2, 0.9), X, 2, 0.3),
        (AllocationModel.symmetric_nmf(3, 2, 0.9), SYMMETRIC, 0, 1.0),
        (AllocationModel.symmetric_nmf(3, 2, 2.0), SYMMETRIC, 1, 0.5),
    ],
)
def test_with_two_values_a_fiber_is_drawn_from_its_conditional(model, X, fiber, rho):
    urn, fibers, _ = fibers_for(model, X)
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2, X.sum()).astype(np.int32)
    cells = fibers.cell[fibers.start[fiber] : fibers.start[fiber + 1]]
    tokens = np.concatenate(
        [np.arange(urn.cell_start[cell], urn.cell_start[cell + 1]) for cell in cells]
    )
    expected = {}
    for code in range(2 ** len(tokens)):
        values[tokens] = code >> np.arange(len(tokens)) & 1
        counts = filled(urn, values)
        key = counts.tobytes()
        expected[key] = expected.get(key, 0.0) + np.exp(log_probability(urn, counts, rho))
    seen, n_draws = dict.fromkeys(expected, 0), 4000
    products = products_for(urn, fibers)
    for _ in range(n_draws):
        divide_fiber(urn, fibers, counts, values, rho, fiber, products, rng)
        seen[counts.tobytes()] += 1
    assert np.array_equal(counts, filled(urn, values))
    share = np.array(list(expected.values())) / sum(expected.values())
    frequent = share * n_draws > 5
    found = np.array(list(seen.values()))
    found = np.append(found[frequent], found[~frequent].sum())
    wanted = np.append(share[frequent], share[~frequent].sum()) * n_draws
    is_drawn = wanted > 0
    assert chisquare(found[is_drawn], wanted[is_drawn]).pvalue > 0.001
    uniform = np.full(is_drawn.sum(), n_draws / is_drawn.sum())
    assert chisquare(found[is_drawn], uniform).pvalue < 1e-6  # another law would be seen


def test_fibers_of_matrices_and_tensors():
    _, fibers, cells = fibers_for(AllocationModel.nmf(2, 3, 2), X)
    found = [cells[part].tolist() for part in np.split(fibers.cell, fibers.start[1:-1])]
    assert found == [[[0, 1], [1, 1]], [[0, 2], [1, 2]], [[0, 0], [0, 1], [0, 2]], [[1, 1], [1, 2]]]
    tensor = np.zeros((2, 2, 2), int)
    tensor[0, 0, 0] = tensor[0, 0, 1] = tensor[1, 1, 1] = 1
    _, fibers, _ = fibers_for(AllocationModel.cp((2, 2, 2), 2), tensor)
    assert np.diff(fibers.start).tolist() == [2]


def test_a_tied_table_that_a_token_reads_twice_leaves_its_cell_out():
    data = np.array([[2, 1, 1], [1, 0, 1], [0, 0, 3]])
    _, fibers, cells = fibers_for(AllocationModel.symmetric_nmf(3, 2), data)
    used = cells[fibers.cell]
    assert len(used) > 0
    assert (used[:, 0] != used[:, 1]).all()


def test_cells_with_other_unknown_indices_are_no_fiber():
    observed = CellCounts(np.array([[0, 1], [0, MISSING]]), np.array([2, 1]), (2, 2))
    model = AllocationModel.nmf(2, 2, 2)
    plan = plan_of(model, observed)
    assert len(fibers_of(plan, urn_of(plan)).start) == 1


def test_no_more_tokens_are_divided_than_there_is_room_for(monkeypatch):
    urn, fibers, _ = fibers_for(AllocationModel.nmf(2, 3, 2), X)
    monkeypatch.setattr(fiber_moves, "MAX_TOKENS", 4)
    products = products_for(urn, fibers)
    rng = np.random.default_rng(0)
    before = rng.integers(0, 2, X.sum()).astype(np.int32)
    counts, moved = filled(urn, before), []
    for _ in range(200):
        values = before.copy()
        divide_fiber(urn, fibers, counts, values, 1.0, 2, products, rng)
        moved.append((values != before).sum())
        assert np.array_equal(counts, filled(urn, values))
        before = values
    assert max(moved) == 4


def far_apart(n, order):
    """Return a tensor whose first fiber of n tokens joins one of two equal and large groups."""
    data = np.zeros((3,) * order, int)
    zeros = (0,) * (order - 1)
    data[(*zeros, 0)], data[(*zeros, 1)] = n // 2, n - n // 2
    for group in (1, 2):
        data[(*(group,) * (order - 1), 2)] = 20 * n
    return data


@pytest.mark.parametrize(
    ("order", "n", "ends"),
    [(3, 100, {0, 100}), (3, 400, {0, 400}), (4, 300, {300}), (5, 300, {300})],
)
def test_equal_ends_are_as_probable_however_improbable_what_lies_between(order, n, ends):
    """Beyond the range of floating-point numbers tokens stay; they are never all on one side."""
    model = AllocationModel.cp((3,) * order, 2, 1.0)
    urn, fibers, cells = fibers_for(model, far_apart(n, order))
    values = (cells[:, 0] == 2).astype(np.int32)[np.repeat(np.arange(4), np.diff(urn.cell_start))]
    counts, seen = filled(urn, values), []
    assert log_probability(urn, counts, 1.0) == pytest.approx(
        log_probability(urn, filled(urn, np.where(np.arange(len(values)) < n, 1, values)), 1.0)
    )
    products, rng = products_for(urn, fibers), np.random.default_rng(0)
    for _ in range(40):
        divide_fiber(urn, fibers, counts, values, 1.0, 0, products, rng)
        seen.append(int((values[:n] == 0).sum()))
    assert set(seen) == ends
    assert np.array_equal(counts, filled(urn, values))
    assert len(ends) == 1 or 8 <= seen.count(0) <= 32


def test_a_cell_of_many_tokens_is_divided_like_a_fiber():
    n = 1500
    data = np.diag([n, 10 * n, 10 * n])
    urn, _, _ = fibers_for(AllocationModel.nmf(3, 3, 2, 1.0), data)
    values = np.repeat([0, 0, 1], np.diag(data)).astype(np.int32)
    counts, seen, rng = filled(urn, values), [], np.random.default_rng(0)
    weights, later = np.zeros((2, len(values) + 1))
    for _ in range(40):
        split_cell(urn, counts, values, 1.0, 0, weights, later, rng)
        seen.append(int((values[:n] == 0).sum()))
    assert set(seen) == {0, n}
    assert 8 <= seen.count(0) <= 32


def test_shared_and_own_entries_that_pull_opposite_ways():
    """A row is with the smaller group, and each of its columns with the larger one."""
    n_columns = 400
    data = np.zeros((3, n_columns + 1), int)
    data[0, :n_columns], data[1, :n_columns], data[2, n_columns] = 5, 50, 20_000
    urn, fibers, cells = fibers_for(AllocationModel.nmf(3, n_columns + 1, 2, 1.0), data)
    of_tokens = np.repeat(cells[:, 0], np.diff(urn.cell_start))
    values = (of_tokens != 1).astype(np.int32)
    counts = filled(urn, values)
    before = log_probability(urn, counts, 1.0)
    (row,) = (
        f
        for f, (first, last) in enumerate(zip(fibers.start[:-1], fibers.start[1:], strict=True))
        if (cells[fibers.cell[first:last], 0] == 0).all()
    )
    products, rng = products_for(urn, fibers), np.random.default_rng(0)
    divide_fiber(urn, fibers, counts, values, 1.0, row, products, rng)
    assert log_probability(urn, counts, 1.0) > before + 800
