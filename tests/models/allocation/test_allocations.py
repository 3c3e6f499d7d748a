import numpy as np
import pytest

from models.allocation.allocations import Allocations
from models.allocation.cell_counts import CellCounts
from models.allocation.model import AllocationModel
from models.allocation.sequence import log_allocation, log_orders
from tests.evaluation.allocation.test_exact import with_random_prior

NMF = AllocationModel.nmf(3, 4, 2, a=0.7, b=0.5)
ZEROS = {"k": [1.0, 2.0], "i": [[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]], "j": np.ones((2, 4))}
MODELS = {
    "nmf": NMF,
    "nmf, given prior": with_random_prior(NMF, np.random.default_rng(1)),
    "zeros": AllocationModel(NMF.parents, NMF.cardinalities, NMF.visible, prior=ZEROS),
    "symmetric": AllocationModel.symmetric_nmf(3, 4),
    "cp": AllocationModel.cp((2, 3, 2), 3, 0.4),
    "tucker": AllocationModel.tucker((2, 3), (1, 2)),
    "lda": AllocationModel.lda(3, 4, 2, 0.1, 0.2),
    "tied": AllocationModel.hidden_markov(3, 2, 2, 0.8, tied=True),
}


@pytest.mark.parametrize("name", MODELS)
def test_probabilities_are_those_of_single_allocations(name):
    model, rng = MODELS[name], np.random.default_rng(2)
    shape = tuple(model.cardinalities[index] for index in model.indices)
    single = [
        CellCounts(rng.integers(0, shape, (n, len(shape))), rng.integers(1, 4, n), shape)
        for n in (5, 1, 9)
    ]
    of = np.repeat(np.arange(4), [len(each.counts) for each in single] + [0])
    cells = np.concatenate([each.cells for each in single])
    columns = dict(zip(model.indices, cells.T, strict=True))
    found = Allocations(of, columns, np.concatenate([each.counts for each in single]), 4)
    wanted = [log_allocation(model, each) - log_orders(each) for each in single]
    logs = found.log_probabilities(model)
    np.testing.assert_allclose(logs[:3], wanted, rtol=1e-12)
    assert np.isneginf(wanted).any() == (name == "zeros")
    nothing = CellCounts(np.zeros((0, len(shape)), dtype=int), [], shape)
    assert logs[3] == pytest.approx(log_allocation(model, nothing))


def test_one_sum_serves_models_of_other_sizes():
    rng = np.random.default_rng(3)
    cells = rng.integers(0, (2, 3, 4), (6, 3))
    small, large = AllocationModel.nmf(3, 4, 2, a=0.3), AllocationModel.nmf(3, 4, 9, a=1.3)
    columns = dict(zip(small.indices, cells.T, strict=True))
    found = Allocations(np.zeros(6, dtype=np.int64), columns, np.arange(1, 7), 1)
    for model in (small, large, small):
        one = CellCounts(cells, np.arange(1, 7), tuple(model.cardinalities.values()))
        wanted = log_allocation(model, one) - log_orders(one)
        assert found.log_probabilities(model) == pytest.approx([wanted])


def test_tables_of_more_entries_than_integers_count():
    n = 1 << 21
    model = AllocationModel(
        {"i": (), "j": ("i",), "k": ("i", "j")}, {"i": n, "j": n, "k": 2 * n}, ("i",)
    )
    cells = np.array([[5, n - 1, 2 * n - 1], [n - 1, n - 1, 0], [5, n - 1, 3]])
    columns = dict(zip(model.indices, cells.T, strict=True))
    found = Allocations(np.zeros(3, dtype=np.int64), columns, np.array([2, 1, 4]), 1)
    one = CellCounts(cells, [2, 1, 4], (n, n, 2 * n))
    wanted = log_allocation(model, one) - log_orders(one)
    assert found.log_probabilities(model) == pytest.approx([wanted])
