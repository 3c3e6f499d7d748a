import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from evaluation import bracket_marginal, log_marginal
from evaluation.allocation.annealed import N_PARTICLES
from evaluation.allocation.annealed_runs import (
    LONG_PARTICLES,
    SLOWER,
    Ends,
    Runs,
    check_annealing_memory,
)
from evaluation.allocation.exact import exact
from evaluation.allocation.simulate import draw
from models.allocation.annealing import crossing, searches
from models.allocation.annealing import mode as mode_module
from models.allocation.annealing.crossing import N_LINES, Crossing
from models.allocation.annealing.mode import MAX_KEPT, WITHIN, distinct
from models.allocation.annealing.posterior import Posterior
from models.allocation.annealing.searches import Searches
from models.allocation.cell_counts import CellCounts
from models.allocation.cliques import TableMemoryError
from models.allocation.inference_plan import plan_of
from models.allocation.model import AllocationModel

BLOCKS = AllocationModel.nmf(6, 6, 2, 0.01)
TWO_BLOCKS = np.kron(np.eye(2, dtype=int), np.full((2, 2), 8))


@pytest.fixture
def few_generations(monkeypatch):
    monkeypatch.setattr(crossing, "APART", 3)
    monkeypatch.setattr(crossing, "TOGETHER", 3)


def searched(model, X, n_modes, n_threads=1, n_sweeps=60, steps=None):
    posterior = Posterior.of(plan_of(model, CellCounts.of(X, model)))
    on_progress = ([] if steps is None else steps).append
    return Searches(posterior, n_modes, n_sweeps, 1, n_threads, on_progress)


def settled_at(found, X, block_values):
    """Return the mode with a hidden value for each cell of the diagonal."""
    end = np.repeat(block_values, X.diagonal()).astype(np.int32)
    mean = found.posterior.chain_at(end).counts[0]
    return mode_module.mode_with(found.posterior, end, mean, 20, 0, 0)


def kept_of(found, every):
    return distinct(found.posterior, every, np.random.default_rng(0))[0]


def test_quick_chains_run_only_where_modes_are_looked_at():
    steps = []
    found = searched(AllocationModel.nmf(4, 4, 2, 0.5), TWO_BLOCKS, 2, steps=steps)
    assert not found.are_even
    of_slow = 60 * 2 * searches.SLOW
    assert sum(steps) == pytest.approx(of_slow, rel=0.1)
    found.modes()
    assert sum(steps) == pytest.approx(
        of_slow + 60 * 2 * searches.QUICK_EACH * searches.QUICK, rel=0.1
    )


def test_a_mode_that_all_searches_find_is_kept_once():
    model = AllocationModel.nmf(4, 4, 2, 0.5)
    found = searched(model, TWO_BLOCKS, 6, n_sweeps=200)
    every, n_found = found.modes()
    levels = [mode.log_marginal for mode in every]
    assert levels == sorted(levels, reverse=True)
    assert kept_of(found, every) == every[:1]
    assert n_found == N_LINES


@pytest.mark.usefixtures("few_generations")
def test_modes_that_differ_are_kept_and_those_far_below_are_not():
    model = AllocationModel.nmf(6, 6, 2, 0.01)
    X = np.kron(np.eye(3, dtype=int), np.full((2, 2), 20))  # three blocks, two of them are joined
    found = searched(model, X, 10)
    every, _ = found.modes()
    kept = kept_of(found, every)
    assert len(kept) == 3
    assert min(mode.log_marginal for mode in kept) > every[0].log_marginal - WITHIN
    repeated = [mode for mode in kept for _ in range(MAX_KEPT)]
    assert kept_of(found, repeated) == kept


def test_modes_of_another_model_are_among_those_found(monkeypatch):
    monkeypatch.setattr(Crossing, "evolved", lambda _, line, *_rest: line)
    X = CellCounts.of(np.kron(np.eye(3, dtype=int), np.full((2, 2), 20)), BLOCKS)
    block = np.repeat(X.cells[:, 0] // 2, X.counts)
    one, other = (np.array(values, dtype=np.int32)[block] for values in ((0, 0, 1), (1, 0, 0)))
    monkeypatch.setattr(Searches, "_lines", property(lambda self: [self._crossing.modes_at([one])]))
    found = searched(BLOCKS, X, 2)
    (alone,), _ = found.modes()
    modes, n_found = replace(found, known=[other]).modes()
    assert n_found == 2
    assert {partition(mode.end, block) for mode in modes} == {((0, 1), (2,)), ((0,), (1, 2))}
    assert partition(alone.end, block) == ((0, 1), (2,))


def partition(end, block):
    """Return the blocks that have a hidden value in common."""
    return tuple(sorted({tuple(np.unique(block[end == value])) for value in end}))


@pytest.mark.slow
@pytest.mark.parametrize(("n_particles", "n_repeats"), [(1, 150), (3, 200)])
def test_a_sum_over_several_modes_is_unbiased(monkeypatch, n_particles, n_repeats):
    monkeypatch.setattr(searches, "EVEN", 0.0)
    monkeypatch.setattr(mode_module, "SAME", 2.0)  # which none is
    monkeypatch.setattr(mode_module, "MAX_KEPT", 5)
    kept = []

    def watched(*args):
        kept.append(distinct(*args))
        return kept[-1]

    monkeypatch.setattr("evaluation.allocation.annealed_runs.distinct", watched)
    model, X = AllocationModel.nmf(3, 3, 2, 0.01), np.diag([3, 3, 3])  # which two are joined?
    settings = {"n_sweeps": 80, "n_modes": 12, "random_state": 1, "n_particles": n_particles}
    found = bracket_marginal(model, X, n_repeats=n_repeats, **settings)
    truth = exact(model, CellCounts.of(X, model)).log_marginal
    assert len(kept[0][0]) == 5
    ratio = np.exp(found.lower.repeats - truth)
    assert abs(ratio.mean() - 1) < 2.58 * ratio.std(ddof=1) / np.sqrt(n_repeats)
    assert ratio.std() < 1.5
    back = np.exp(truth - found.upper_chains)
    assert abs(back.mean() - 1) < 0.1  # ends of forward runs are nearly draws of the posterior
    if n_particles > 1:
        assert found.lower.genealogy_error == pytest.approx(found.lower.standard_error, rel=0.5)


@pytest.mark.slow
@pytest.mark.parametrize("even", [0.0, np.inf], ids=["long", "as long as searches say"])
def test_runs_from_modes_are_unbiased_however_long(monkeypatch, even):
    monkeypatch.setattr(searches, "EVEN", 0.0)
    monkeypatch.setattr("evaluation.allocation.annealed_runs.EVEN", even)
    monkeypatch.setattr(Searches, "long", lambda _, _n: -np.inf)
    is_long = even == 0.0
    if is_long:  # then runs start from two modes, with 3 particles and 2
        monkeypatch.setattr(mode_module, "SAME", 2.0)  # which none is
    model, X = (
        AllocationModel.nmf(3, 4, 3, 0.05),
        np.array([[2, 1, 1, 0], [0, 3, 1, 2], [1, 0, 1, 1]]),
    )
    settings = {
        "n_sweeps": 120,
        "n_modes": 6,
        "random_state": 1,
        "n_particles": 5 if is_long else 2,
    }
    found = log_marginal(model, X, "annealed", n_repeats=400, **settings)
    ratio = np.exp(found.repeats - exact(model, CellCounts.of(X, model)).log_marginal)
    assert abs(ratio.mean() - 1) < 2.58 * ratio.std(ddof=1) / 20
    assert ratio.std() < 2.0
    n_steps, n_of_best = (120 * SLOWER, 3) if is_long else (120, 2)
    assert found.n_particles == n_of_best
    assert found.path.tokens[-1] == pytest.approx(n_steps, rel=0.2)


def test_the_rules_for_labels_of_a_run_are_those_that_fit_pilots_and_all_others():
    fits, none = np.array([[0.0, 5.0, 4.0], [0.0, 1.0, 2.0], [9.0, 0.0, 0.0]]), np.zeros(3)
    values = np.zeros((1, 5), dtype=np.int32)
    runs = [
        2 * [Ends(none, none, each / 2, np.zeros(3, dtype=np.int64), values, 0.0)] for each in fits
    ]
    for of_pilots, wanted in ((none, [0, 0, 1]), (np.array([0.0, 0.0, 3.5]), [0, 0, 2])):
        labelled = SimpleNamespace(labels=SimpleNamespace(fits=of_pilots))
        assert Runs._rules(labelled, runs) == wanted
    assert Runs._rules(labelled, runs[:1]) == [2]
    assert Runs._rules(SimpleNamespace(labels=None), runs) == [0, 0, 0]


@pytest.mark.parametrize(
    ("rank", "a", "average"), [(6, 0.001, mode_module.FEW), (8, 200.0, mode_module.MANY)]
)
def test_counts_are_averaged_over_as_many_sweeps_as_make_pilots_vary_less(rank, a, average):
    X, _ = draw(AllocationModel.nmf(12, 12, 8, 20.0), 400, np.random.default_rng(0))
    found = searched(AllocationModel.nmf(12, 12, rank, a), X, 4, n_sweeps=400)
    assert found._average == average


def test_runs_from_modes_agree_where_those_from_the_prior_do_not():
    model = AllocationModel.nmf(16, 16, 4, 5.0)
    X, _ = draw(model, 300, np.random.default_rng(4))
    settings = {"n_sweeps": 40, "n_repeats": 6, "random_state": 1}
    from_prior, from_modes = (
        log_marginal(model, X, "annealed", n_modes=n, **settings) for n in (0, 6)
    )
    assert from_modes.n_found > 0
    assert from_modes.spread < 0.6 * from_prior.spread
    assert from_modes.log_marginal > from_prior.log_marginal - from_prior.standard_error


def test_where_searches_agree_runs_take_their_path_from_the_prior():
    model, settings = AllocationModel.lda(8, 8, 4, 0.5, 0.1), {"n_repeats": 4, "random_state": 1}
    X = np.kron(np.eye(4, dtype=int), np.full((2, 2), 2))  # with modes beyond number
    found, of_prior = (
        log_marginal(model, X, "annealed", n_modes=n, n_sweeps=n_sweeps, **settings)
        for n, n_sweeps in ((8, 300), (0, round(searches.SLOW * 300)))
    )
    assert len(found.searches) == 8
    assert found.searches.std(ddof=1) < searches.EVEN
    assert found.n_found == 0
    assert np.array_equal(found.repeats, of_prior.repeats)
    assert not found.is_unreliable


def test_an_estimate_below_that_of_the_searches_is_not_relied_on(monkeypatch):
    monkeypatch.setattr(searches, "EVEN", 0.0)
    monkeypatch.setattr(mode_module, "MAX_KEPT", 1)
    monkeypatch.setattr(Searches, "long", lambda _, _n: -np.inf)
    X = np.kron(np.eye(4, dtype=int), np.full((2, 2), 3))  # which two blocks are joined?
    model, settings = AllocationModel.nmf(8, 8, 2, 0.05), {"n_repeats": 4, "random_state": 5}
    found = log_marginal(model, X, "annealed", n_modes=8, n_sweeps=100, **settings)
    assert found.log_marginal < -139.4  # by long paths it is -138.9
    assert found.standard_error < 0.5  # no other reason tells
    assert found.n_found > 1
    assert found.is_unreliable


@pytest.mark.usefixtures("few_generations")
@pytest.mark.slow
def test_modes_that_are_too_many_to_be_listed_are_summed_from_the_prior(monkeypatch):
    monkeypatch.setattr(searches, "EVEN", 0.0)
    monkeypatch.setattr(mode_module, "MAX_KEPT", 1)
    X = np.kron(np.eye(4, dtype=int), np.full((2, 2), 3))
    model, settings = AllocationModel.nmf(8, 8, 2, 0.05), {"n_repeats": 4, "random_state": 4}
    found = log_marginal(model, X, "annealed", n_modes=8, n_sweeps=100, **settings)
    assert found.n_found == 0
    assert found.path.tokens[-1] == pytest.approx(100 * searches.LONG, rel=0.1)
    assert found.n_particles == LONG_PARTICLES * N_PARTICLES
    of_prior = log_marginal(model, X, "annealed", n_modes=0, n_sweeps=1500, **settings)
    error = np.hypot(found.standard_error, of_prior.standard_error)
    assert abs(found.log_marginal - of_prior.log_marginal) < 3 * error < 0.3
    assert not found.is_unreliable


@pytest.mark.parametrize(
    ("levels", "has_more"),
    [
        ([2.0], True),
        ([-11.0], False),
        ([-9.0, 4.0, -9.0, -9.0], True),  # the mean is 2.6
        ([0.5, 2.0, -9.0, -9.0], False),  # the mean is 0.8
    ],
)
def test_more_long_populations_tell_where_one_is_near_the_modes(monkeypatch, levels, has_more):
    found = searched(AllocationModel.nmf(3, 3, 3, 0.001), np.diag([24, 24, 24]), 4)
    asked = []
    monkeypatch.setattr(Searches, "long", lambda _, n: asked.append(n) or levels[n])
    modes = [SimpleNamespace(log_marginal=math.log(0.5))] * 2  # of 0 nats together
    assert found.has_more_than(modes) == has_more
    assert asked == list(range(len(levels)))


@pytest.mark.parametrize(("above", "are_too_many"), [(9.9, False), (10.1, True)])
def test_modes_of_lines_far_below_a_long_population_are_too_many(monkeypatch, above, are_too_many):
    model = AllocationModel.nmf(3, 3, 3, 0.001)
    found = searched(model, np.diag([24, 24, 24]), 4)
    mode = SimpleNamespace(log_marginal=math.log(1 / 3))
    monkeypatch.setattr(Searches, "_lines", [[mode, mode], [mode]])  # of 0 nats together
    monkeypatch.setattr(Searches, "long", lambda _, _n: above)
    assert found.modes_are_too_many == are_too_many


def test_modes_that_are_too_many_are_not_crossed_with_each_other(monkeypatch):
    monkeypatch.setattr(searches, "EVEN", 0.0)
    monkeypatch.setattr(Searches, "long", lambda _, _n: 0.0)
    monkeypatch.setattr(Crossing, "together", lambda *_: pytest.fail("crossed"))
    model, settings = AllocationModel.nmf(3, 3, 3, 0.001), {"n_repeats": 2, "random_state": 1}
    X = np.diag([24, 24, 24])
    found = log_marginal(model, X, "annealed", n_modes=4, n_sweeps=60, **settings)
    assert found.n_found == 0
    assert found.n_particles == LONG_PARTICLES * N_PARTICLES
    assert found.path.tokens[-1] == pytest.approx(60 * searches.LONG, rel=0.1)


@pytest.mark.usefixtures("few_generations")
@pytest.mark.slow
def test_crossing_finds_better_modes_whatever_the_threads(monkeypatch):
    X, _ = draw(AllocationModel.nmf(12, 12, 8, 20.0), 400, np.random.default_rng(0))
    model = AllocationModel.nmf(12, 12, 6, 0.001)  # clusters form once, and rarely the same ones
    one, three, uncrossed = (searched(model, X, 4, n, n_sweeps=80) for n in (1, 3, 1))
    every = [[mode.log_marginal for mode in found.modes()[0]] for found in (one, three)]
    assert every[0] == every[1]
    monkeypatch.setattr(Crossing, "evolved", lambda _, line, *_rest: line)
    before, _ = uncrossed.modes()
    assert every[0][0] > before[0].log_marginal + 1.0


@pytest.mark.usefixtures("few_generations")
@pytest.mark.slow
def test_a_line_that_alone_found_the_best_mode_is_not_relied_on(caplog):
    X, _ = draw(AllocationModel.nmf(12, 12, 8, 20.0), 400, np.random.default_rng(0))
    model = AllocationModel.nmf(12, 12, 12, 0.001)  # clusters form once, and rarely the same ones
    settings = {"n_sweeps": 40, "n_repeats": 3, "random_state": 1}
    found = log_marginal(model, X, "annealed", n_modes=4, **settings)
    assert found.n_found == 1
    assert replace(found, standard_error=0.1).is_unreliable
    assert not replace(found, standard_error=0.1, n_found=2).is_unreliable
    assert replace(found, standard_error=0.1, n_sources=3.0).is_unreliable  # they share the mode
    assert "no two lines of searches found as good a mode" in caplog.text


def test_a_mode_far_below_the_best_is_not_as_good():
    X = np.diag([70, 70, 70])
    found = searched(AllocationModel.nmf(3, 3, 3, 0.001), X, 4)
    best, joined = (settled_at(found, X, values) for values in ((0, 1, 2), (0, 1, 1)))
    assert best.log_marginal > joined.log_marginal + WITHIN
    assert found._is_as_good(settled_at(found, X, (2, 0, 1)), best)  # the same, under other labels
    assert not found._is_as_good(joined, best)


@pytest.mark.parametrize("a", [1e-15, 1e-3])
def test_a_mode_without_doubt_is_annealed_all_the_same(monkeypatch, a):
    monkeypatch.setattr(searches, "EVEN", 0.0)
    model, X = AllocationModel.nmf(3, 3, 3, a), np.diag([3, 3, 3])
    for mode in searched(model, X, 4, n_sweeps=100).modes()[0]:
        assert len(mode.pilot.path.reinforcement) > 50
        assert mode.pilot.path.reinforcement[-2] < 1.0


def test_threads_change_no_bit():
    one, two = (
        searched(AllocationModel.nmf(4, 4, 2, 0.5), TWO_BLOCKS, 4, n_threads=n).modes()[0]
        for n in (1, 3)
    )
    for mode, other in zip(one, two, strict=True):
        assert mode.log_marginal == other.log_marginal
        assert np.array_equal(mode.mean, other.mean)


def needed_memory(rank, n_particles, n_modes):
    model = AllocationModel.nmf(100, 100, rank)
    plan = plan_of(model, CellCounts.of(np.ones((100, 100), dtype=int), model))
    with pytest.raises(TableMemoryError) as error:
        check_annealing_memory(plan, n_particles, 1, 1, 0, n_modes)
    return int(str(error.value).split(" need ")[1].split(" MiB")[0].replace(",", "")) * 2**20


def test_where_there_is_one_allocation_modes_take_no_memory():
    assert needed_memory(1, 10_000, 8) == needed_memory(1, 10_000, 0)


def test_labels_take_memory_beside_particles():
    def needed(n_modes):
        n_particles = 10_000 if n_modes else LONG_PARTICLES * 10_000  # of long runs
        return needed_memory(20, n_particles, n_modes)

    of_mode = 8 * 20 * 100 * 100  # a share of each hidden value in each cell
    assert needed(MAX_KEPT) > needed(0) + MAX_KEPT * of_mode
    assert needed(MAX_KEPT) < needed(0) + 10 * MAX_KEPT * of_mode  # scratch is of threads


def test_what_is_no_number_of_modes_is_refused():
    with pytest.raises(ValueError, match="n_modes"):
        log_marginal(AllocationModel.nmf(2, 2, 2), np.eye(2), "annealed", n_modes=-1)
