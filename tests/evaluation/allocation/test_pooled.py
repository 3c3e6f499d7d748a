import math
from dataclasses import replace

import numpy as np
import pytest

from evaluation import log_marginal, pool_marginals
from evaluation.allocation.annealed import annealed
from evaluation.allocation.exact import exact
from evaluation.allocation.marginal_estimate import MarginalEstimate
from evaluation.allocation.pooled import share_allocations
from models.allocation.annealing import searches
from models.allocation.annealing.crossing import Crossing
from models.allocation.cell_counts import CellCounts
from models.allocation.model import AllocationModel
from tests.evaluation.allocation.test_exact import counts_of

FAMILIES = {
    "nmf": [AllocationModel.nmf(3, 3, k, a=0.7) for k in (1, 2, 4)],
    "symmetric nmf": [AllocationModel.symmetric_nmf(3, k, a=0.7) for k in (2, 3)],
    "tucker": [AllocationModel.tucker((2, 3), sizes, 0.9) for sizes in ((1, 2), (2, 2), (3, 1))],
    "priors": [AllocationModel.nmf(3, 3, 2, a=a) for a in (0.1, 3.0)],
    "hidden Markov": [AllocationModel.hidden_markov(2, h, 2, 0.8) for h in (2, 3)],
}


@pytest.fixture
def always_from_modes(monkeypatch):
    """Start from modes of the searches, without crossing, also where searches agree."""
    monkeypatch.setattr(searches, "EVEN", 0.0)
    monkeypatch.setattr(searches.Searches, "long", lambda _, _n: -np.inf)
    monkeypatch.setattr(Crossing, "evolved", lambda _, line, *_rest: line)


def estimates_of(models, observed, n_repeats, seed, n_sweeps=12, n_modes=0):
    size = {"n_particles": 2, "n_sweeps": n_sweeps, "n_modes": n_modes}
    return [
        annealed(model, observed, n_repeats=n_repeats, seed=100 * seed + n, **size)
        for n, model in enumerate(models)
    ]


def assert_unbiased(models, observed, n_repeats, seed, n_sweeps=12, n_modes=0):
    truth = [exact(model, observed).log_marginal for model in models]
    estimates = estimates_of(models, observed, n_repeats, seed, n_sweeps, n_modes)
    for estimate, log in zip(pool_marginals(models, estimates), truth, strict=True):
        ratio = np.exp(estimate.repeats - log)
        error = ratio.std(ddof=1) / np.sqrt(len(ratio))
        assert abs(ratio.mean() - 1.0) < 2.58 * error + 1e-9


@pytest.mark.parametrize("name", ["nmf", "tucker", "priors"])
def test_pooled_estimates_are_unbiased(name):
    observed = counts_of(FAMILIES[name][0], 7, np.random.default_rng(3), n_missing=1)
    assert_unbiased(FAMILIES[name], observed, 100, 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_a_thousand_pooled_estimates_are_unbiased(name):
    observed = counts_of(FAMILIES[name][0], 7, np.random.default_rng(3), n_missing=1)
    assert_unbiased(FAMILIES[name], observed, 1000, 1)


@pytest.mark.parametrize("n_repeats", [60, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.usefixtures("always_from_modes")
def test_pooled_estimates_of_runs_from_modes_are_unbiased(n_repeats):
    observed = counts_of(FAMILIES["nmf"][0], 9, np.random.default_rng(4))
    assert_unbiased(FAMILIES["nmf"], observed, n_repeats, 2, 60, 4)


def test_a_rank_whose_runs_miss_what_others_find_has_it_from_them():
    models = [AllocationModel.nmf(4, 4, k, a=0.7) for k in (2, 3, 4)]
    observed = counts_of(models[0], 12, np.random.default_rng(1))
    truth = [exact(model, observed).log_marginal for model in models]
    estimates = estimates_of(models, observed, 6, 3, n_sweeps=100)
    low = replace(estimates[1], repeats=estimates[1].repeats - 5.0)
    found = pool_marginals(models, [estimates[0], low, estimates[2]])[1]
    assert -0.2 < found.log_marginal - truth[1] < 0.1
    assert found.n_sources > 1.4


def test_estimates_that_have_no_error_stay_as_they_are():
    models = FAMILIES["nmf"]
    observed = counts_of(models[0], 8, np.random.default_rng(2))
    estimates = estimates_of(models, observed, 3, 5)
    found = pool_marginals(models, estimates)
    assert found[0] is estimates[0]  # rank 1 has one allocation
    assert found[1] is not estimates[1]
    assert found[1].standard_error > 0.0
    single = estimates_of(models, observed, 1, 5)
    assert pool_marginals(models, single) == single
    assert pool_marginals(models[1:2], estimates[1:2]) == estimates[1:2]


def test_allocations_are_of_the_counts_and_survive_files():
    model = FAMILIES["nmf"][1]
    observed = counts_of(model, 9, np.random.default_rng(7))
    estimate = log_marginal(model, observed, "annealed", n_repeats=3, n_sweeps=9, random_state=0)
    drawn = estimate.allocations
    assert drawn.shape[0] == 3
    assert drawn.shape[2:] == tuple(model.cardinalities[name] for name in model.indices)
    axes = [2 + model.indices.index(name) for name in model.visible]
    for run in range(3):
        for draw in range(drawn.shape[1]):
            here = (drawn.cells[:, :2] == (run, draw)).all(axis=1)
            seen = CellCounts(drawn.cells[here][:, axes], drawn.counts[here], model.shape)
            np.testing.assert_array_equal(seen.dense(), observed.dense())
    again = MarginalEstimate.from_arrays(estimate.to_arrays())
    np.testing.assert_array_equal(again.allocations.cells, drawn.cells)
    np.testing.assert_array_equal(again.allocations.counts, drawn.counts)
    assert again.allocations.shape == drawn.shape


@pytest.mark.parametrize(
    ("models", "share"),
    [
        ([AllocationModel.nmf(3, 4, 2), AllocationModel.nmf(3, 4, 5, a=9.0)], True),
        ([AllocationModel.nmf(3, 4, 1), AllocationModel.nmf(3, 4, 2)], True),
        ([AllocationModel.nmf(3, 3, 2), AllocationModel.symmetric_nmf(3, 2)], False),
        ([AllocationModel.nmf(3, 4, 2), AllocationModel.nmf(4, 4, 2)], False),
        ([AllocationModel.lda(3, 4, 2, 0.1, 0.2), AllocationModel.lda(3, 4, 3, 0.1, 0.2)], True),
    ],
)
def test_which_models_share_allocations(models, share):
    assert share_allocations(models) == share


def test_values_with_names_of_their_own_cannot_be_more():
    def model(n):
        k = np.arange(1.0, n + 1)
        prior = {"k": k, "i": np.ones((n, 3)), "j": np.ones((n, 3))}
        parents = {"k": (), "i": ("k",), "j": ("k",)}
        return AllocationModel(parents, {"k": n, "i": 3, "j": 3}, ("i", "j"), prior=prior)

    assert share_allocations([model(2), model(2)])
    assert not share_allocations([model(2), model(3)])


def test_what_does_not_fit_is_refused():
    models = FAMILIES["nmf"][1:]
    observed = counts_of(models[0], 8, np.random.default_rng(2))
    one, other = estimates_of(models, observed, 3, 5)
    with pytest.raises(ValueError, match="must have allocations"):
        pool_marginals(models, [one, log_marginal(models[1], observed, "vb")])
    with pytest.raises(ValueError, match=r"as many repeats each, found \[2, 3\]"):
        pool_marginals(models, [one, estimates_of(models[1:], observed, 2, 5)[0]])
    with pytest.raises(ValueError, match="one graph"):
        pool_marginals([models[0], AllocationModel.symmetric_nmf(3, 2)], [one, other])


def test_no_tokens_are_exact_under_all_models():
    models = FAMILIES["nmf"]
    nothing = CellCounts(np.zeros((0, 2), dtype=int), [], (3, 3))
    estimates = estimates_of(models, nothing, 2, 1)
    assert pool_marginals(models, estimates) == estimates


def test_many_tokens_have_fewer_draws_or_none():
    model = AllocationModel.nmf(2, 2, 2)
    for n_tokens, n_draws in ((10, 16), (50_000, 2), (300_000, None)):
        X = np.array([[n_tokens - 3, 1], [1, 1]])
        size = {"n_sweeps": 2, "n_particles": 1, "n_modes": 0, "n_repeats": 2}
        found = annealed(model, CellCounts.of(X, model), **size).allocations
        assert (found and found.shape[:2]) == (n_draws and (2, n_draws))


def test_pooling_keeps_what_is_nearly_exact():
    models = [AllocationModel.nmf(3, 3, k, a=1e6) for k in (2, 3)]
    observed = counts_of(models[0], 9, np.random.default_rng(4))
    estimates = estimates_of(models, observed, 6, 3)
    for own, found in zip(estimates, pool_marginals(models, estimates), strict=True):
        assert own.standard_error < 1e-4
        assert found.standard_error < 1.1 * own.standard_error


def test_a_repeat_is_linear_in_its_own_runs():
    """As it must be to be unbiased: their weights are from the other repeats alone."""
    models = FAMILIES["nmf"][1:]
    observed = counts_of(models[0], 8, np.random.default_rng(2))
    one, other = estimates_of(models, observed, 4, 1)
    found = []
    for times in (1, 2, 3):
        repeats = one.repeats + np.array([math.log(times), 0.0, 0.0, 0.0])
        both = pool_marginals(models, [replace(one, repeats=repeats), other])
        found.append([np.exp(each.repeats[0]) for each in both])
    once, twice, thrice = np.array(found)
    np.testing.assert_allclose(thrice - twice, twice - once, rtol=1e-6)
    assert (twice > 1.01 * once).all()
