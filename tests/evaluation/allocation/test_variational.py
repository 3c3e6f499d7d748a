import json

import numpy as np
import pytest

from evaluation.allocation.exact import exact
from evaluation.allocation.log_marginal import variational
from models.allocation.cell_counts import CellCounts
from models.allocation.cliques import TableMemoryError
from models.allocation.model import AllocationModel
from tests.shared_data import shared_file

X1 = np.array([[2, 1, 1, 0], [0, 0, 1, 2], [0, 0, 1, 1]])


def observed_of(model):
    return CellCounts.of(X1, model)


def test_what_an_estimate_says():
    model = AllocationModel.nmf(3, 4, 2)
    estimate = variational(model, observed_of(model), n_starts=5, seed=2)
    assert (estimate.method, estimate.direction) == ("vb", "lower bound")
    assert (estimate.standard_error, estimate.n_tokens, estimate.repeats.shape) == (0.0, 9, (5,))
    assert estimate.log_marginal == estimate.repeats.max()
    assert estimate.log_marginal < exact(model, observed_of(model)).log_marginal


def test_one_hidden_value_leaves_no_gap_and_an_epoch_more_is_no_worse():
    model = AllocationModel.nmf(3, 4, 1)
    estimate = variational(model, observed_of(model), n_starts=1)
    assert estimate.log_marginal == pytest.approx(-20.227060056769, abs=1e-11)
    model = AllocationModel.nmf(3, 4, 3, a=10.0)
    bounds = [
        variational(model, observed_of(model), n_starts=3, n_epochs=n).repeats for n in (1, 5, 50)
    ]
    assert (np.diff(bounds, axis=0) >= -1e-11).all()


def test_what_does_not_fit_is_refused():
    model = AllocationModel.nmf(3, 4, 2)
    with pytest.raises(TableMemoryError, match="more memory"):
        variational(model, observed_of(model), n_starts=1, max_memory=10)


def test_threads_change_no_bit():
    model = AllocationModel.nmf(3, 4, 3)
    one = variational(model, observed_of(model), n_starts=6, seed=1)
    other = variational(model, observed_of(model), n_starts=6, seed=1, n_jobs=2)
    assert one.repeats.tobytes() == other.repeats.tobytes()


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize("name", ["marginal_lkhd", "marginal_lkhd2"])
def test_published_bounds(name):
    """The best of 100 starts for 11 a and K = 1 to 4, as the paper's authors published them."""
    published = json.loads(shared_file(f"published/bam_published_{name}.json").read_text())
    X = np.array(published["X"])
    for a, bounds, truths in zip(
        published["a"], published["log_PX_vb"], published["log_PX_exact"], strict=True
    ):
        for n_topics, bound, truth in zip(published["K"], bounds, truths, strict=True):
            model = AllocationModel.nmf(*X.shape, n_topics, a=a)
            found = variational(model, CellCounts.of(X, model), n_starts=100, seed=1)
            assert found.log_marginal == pytest.approx(bound, abs=1e-6), (a, n_topics)
            assert found.log_marginal <= truth + 1e-8
