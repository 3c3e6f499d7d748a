import numpy as np
import pytest

from evaluation import log_marginal
from models import AllocationFactors, CellCounts, UnreachableCellError
from models import AllocationModel as Model
from models.allocation.particles.posterior_sample import posterior_sample


def model_of(document, word_of_topic):
    return Model(
        {"j": (), "k": ("j",), "i": ("k",)},
        {"j": 2, "k": 2, "i": 2},
        ("i", "j"),
        prior={"j": document, "k": [[1.0, 1.0], [1.0, 1.0]], "i": word_of_topic},
    )


NO_DOCUMENT = model_of([1.0, 0.0], [[1.0, 1.0], [1.0, 1.0]])
NO_WORD = model_of([1.0, 1.0], [[1.0, 0.0], [1.0, 0.0]])
X = np.array([[2, 1], [1, 0]])


@pytest.mark.parametrize("method", ["exact", "sis", "smc", "vb"])
@pytest.mark.parametrize(
    ("model", "cell"), [(NO_DOCUMENT, "i = 0, j = 1"), (NO_WORD, "i = 1, j = 0")]
)
def test_the_cell_is_named(model, cell, method):
    with pytest.raises(UnreachableCellError, match=cell):
        log_marginal(model, X, method)


@pytest.mark.parametrize("model", [NO_DOCUMENT, NO_WORD])
def test_nothing_is_sampled_or_learned(model):
    with pytest.raises(UnreachableCellError):
        posterior_sample(model, CellCounts.of(X, model), n_particles=5)
    for method in ("smc", "vb"):
        with pytest.raises(UnreachableCellError):
            AllocationFactors(model, method).fit(X)


def test_zeros_elsewhere_do_no_harm():
    some, counts = model_of([1.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]), [[2, 0], [1, 0]]
    assert np.isfinite(log_marginal(some, counts, "exact").log_marginal)
    found = log_marginal(some, counts, "smc", n_particles=4, n_repeats=2).log_marginal
    # each word has one topic that can make it: nothing is left to chance
    assert found == pytest.approx(log_marginal(some, counts, "exact").log_marginal, rel=1e-13)
