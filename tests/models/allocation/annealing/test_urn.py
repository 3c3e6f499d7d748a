import math

import numpy as np
import pytest

from models.allocation import joint_values
from models.allocation.annealing.urn import (
    count,
    factor,
    factors,
    log_probability,
    log_rising,
    urn_of,
)
from models.allocation.cell_counts import CellCounts
from models.allocation.cliques import TableMemoryError
from models.allocation.inference_plan import plan_of
from models.allocation.model import AllocationModel

MODELS = {
    "nmf": AllocationModel.nmf(3, 3, 3),
    "cp": AllocationModel.cp((3, 3, 2), 3, 2.0),
    "symmetric nmf": AllocationModel.symmetric_nmf(3, 2),
    "tucker": AllocationModel.tucker((3, 3), (2, 2)),
    "hidden Markov, tied": AllocationModel.hidden_markov(3, 2, 3, tied=True),
}


def urn_with_tokens(model, seed=0, n_tokens=8):
    rng = np.random.default_rng(seed)
    cells = np.stack([rng.integers(size, size=n_tokens) for size in model.shape], axis=1)
    cells[0, 0] = -1
    urn = urn_of(plan_of(model, CellCounts(cells, np.ones(n_tokens), model.shape)))
    return urn, rng


def test_rising_factorials():
    for alpha in (1e-6, 0.02, 3.0, 5e3, 1e8):
        for rho in (1e-12, 1e-4, 0.3, 1.0):
            for n in (1, 7, 9, 60, 3000):
                expected = math.fsum(math.log(alpha + rho * m) for m in range(n))
                assert log_rising(alpha, float(n), rho) == pytest.approx(
                    expected, rel=1e-11, abs=1e-9
                )
    assert log_rising(0.3, 20.0, 0.0) == pytest.approx(20 * math.log(0.3))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("rho", [0.0, 0.2, 1.0])
def test_tokens_are_exchangeable_and_their_factors_multiply_to_the_probability(name, rho):
    urn, rng = urn_with_tokens(MODELS[name])
    n_cells = len(urn.pattern_of)
    cell_of = np.repeat(np.arange(n_cells), np.diff(urn.cell_start))
    values = [int(rng.integers(urn.n_values[urn.pattern_of[cell]])) for cell in cell_of]
    for order in (np.arange(len(values)), rng.permutation(len(values))):
        counts, total = np.zeros(len(urn.alpha)), 0.0
        for token in order:
            cell, h = int(cell_of[token]), values[token]
            weights = np.zeros(int(urn.n_values.max()))
            factors(urn, counts, rho, cell, weights)
            for each in range(urn.n_values[urn.pattern_of[cell]]):
                assert weights[each] == pytest.approx(
                    factor(urn, counts, rho, cell, each), rel=1e-13
                )
            total += math.log(weights[h])
            count(urn, counts, cell, h, 1.0)
        assert log_probability(urn, counts, rho) == pytest.approx(total, rel=1e-12)


def test_where_a_joint_value_has_its_own_factors():
    def is_own(name):
        return urn_with_tokens(MODELS[name])[0].is_own.tolist()

    # where an axis is missing too, several joint values read one count
    assert is_own("nmf") == is_own("cp") == is_own("symmetric nmf") == [True, False]
    assert is_own("tucker") == is_own("hidden Markov, tied") == [False, False]


def test_the_state_does_not_grow_with_the_tensor():
    cells = np.array([[0, 0, 0], [1, 2, 1], [1, 1, 1]])
    sizes = []
    for side in (3, 3000):
        model = AllocationModel.cp((side,) * 3, 4)
        urn = urn_of(plan_of(model, CellCounts(cells, [2, 1, 3], model.shape)))
        sizes.append(sum(np.asarray(each).nbytes for each in urn))
    assert sizes[0] == sizes[1]


def test_too_many_joint_values_are_refused(monkeypatch):
    monkeypatch.setattr(joint_values, "MAX_JOINT_VALUES", 3)
    with pytest.raises(TableMemoryError, match="joint values of k1, k2"):
        urn_with_tokens(MODELS["tucker"])


def test_a_factor_that_all_joint_values_share_depends_on_all_tokens():
    model = AllocationModel(
        {"i": (), "k": ("i",), "j": ("i",)}, {"i": 2, "k": 3, "j": 2}, ("i", "j"), 1.0
    )
    observed = CellCounts(np.array([[0, 0], [0, -1], [1, 1]]), [3, 1, 2], model.shape)
    urn = urn_of(plan_of(model, observed))
    assert not urn.is_own.any()  # the table of i and j counts tokens whatever their k
