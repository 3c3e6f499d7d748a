import numpy as np
import pytest

from evaluation import log_marginal
from evaluation.allocation.modes import MAX_KEPT, WITHIN, distinct, find_modes
from evaluation.allocation.simulate import draw
from models.allocation.annealing.sweep import moves_of
from models.allocation.annealing.urn import urn_of
from models.allocation.cell_counts import CellCounts
from models.allocation.inference_plan import plan_of
from models.allocation.model import AllocationModel
from models.allocation.sequence import log_of_counts


def found_in(model, X, n_modes, n_threads=1, n_sweeps=60):
    observed = CellCounts.of(X, model)
    plan = plan_of(model, observed)
    urn, steps = urn_of(plan), []
    modes = find_modes(
        plan,
        urn,
        moves_of(plan, urn),
        log_of_counts(model, observed),
        n_modes=n_modes,
        n_particles=2,
        n_sweeps=n_sweeps,
        seed=1,
        n_threads=n_threads,
        on_progress=steps.append,
    )
    assert sum(steps) == n_modes * n_sweeps
    return plan, urn, modes


def test_a_mode_that_all_searches_find_is_kept_once():
    model = AllocationModel.nmf(4, 4, 2, 0.5)
    X = np.kron(np.eye(2, dtype=int), np.full((2, 2), 8))
    plan, urn, modes = found_in(model, X, 6, n_sweeps=200)
    levels = [mode.log_marginal for mode in modes]
    assert levels == sorted(levels, reverse=True)
    assert levels[0] - levels[-1] < 5  # errors of pilots
    assert len(distinct(plan, urn, modes, np.random.default_rng(0))) == 1
    found = log_marginal(model, X, "annealed", n_sweeps=60, n_modes=6, random_state=1)
    assert found.n_modes == 6
    assert found.n_found >= 3
    assert not found.is_unreliable


def test_modes_that_differ_are_kept_and_those_far_below_are_not():
    model = AllocationModel.nmf(6, 6, 2, 0.01)
    X = np.kron(np.eye(3, dtype=int), np.full((2, 2), 4))  # three blocks, two of them are joined
    plan, urn, modes = found_in(model, X, 12)
    kept = distinct(plan, urn, modes, np.random.default_rng(0))
    assert 2 <= len(kept) <= 3
    assert kept[0] is modes[0]
    high = [modes[0].log_marginal - WITHIN - 1, *(mode.log_marginal for mode in kept)]
    assert min(high[1:]) > high[0]
    repeated = [mode for mode in kept for _ in range(MAX_KEPT)]
    assert distinct(plan, urn, repeated, np.random.default_rng(0)) == kept


def test_runs_from_modes_agree_where_those_from_the_prior_do_not():
    model = AllocationModel.nmf(10, 10, 4, 3.0)
    X, _ = draw(model, 300, np.random.default_rng(4))
    settings = {"n_sweeps": 100, "n_repeats": 6, "random_state": 2}
    from_prior, from_modes = (
        log_marginal(model, X, "annealed", n_modes=n, **settings) for n in (0, 6)
    )
    assert from_modes.spread < 0.6 * from_prior.spread
    assert from_modes.log_marginal > from_prior.log_marginal - from_prior.standard_error


def test_one_search_that_alone_found_the_best_mode_is_not_relied_on(caplog):
    X, _ = draw(AllocationModel.nmf(12, 12, 8, 20.0), 400, np.random.default_rng(0))
    model = AllocationModel.nmf(12, 12, 6, 0.001)  # clusters form once, and rarely the same ones
    settings = {"n_sweeps": 40, "n_repeats": 3, "random_state": 0}
    found = log_marginal(model, X, "annealed", n_modes=4, **settings)
    assert found.n_found == 1
    assert found.standard_error < 0.5
    assert found.is_unreliable
    assert "one search alone found the best mode" in caplog.text
    single = log_marginal(model, X, "annealed", n_modes=1, **settings)
    assert single.n_found == single.n_modes == 1
    assert single.is_unreliable == (single.standard_error > 0.5)


def test_threads_change_no_bit():
    model = AllocationModel.nmf(4, 4, 2, 0.5)
    X = np.kron(np.eye(2, dtype=int), np.full((2, 2), 8))
    one, two = (found_in(model, X, 4, n_threads=n)[2] for n in (1, 3))
    for mode, other in zip(one, two, strict=True):
        assert mode.log_marginal == other.log_marginal
        assert np.array_equal(mode.mean, other.mean)


def test_what_is_no_number_of_modes_is_refused():
    with pytest.raises(ValueError, match="n_modes"):
        log_marginal(AllocationModel.nmf(2, 2, 2), np.eye(2), "annealed", n_modes=-1)
