import numpy as np
import pytest
from scipy.stats import chi2

from evaluation import bracket_marginal, certify_marginal, log_marginal
from evaluation.allocation.annealed import annealed
from evaluation.allocation.annealed_runs import _taken
from evaluation.allocation.exact import exact
from evaluation.allocation.simulate import draw
from models.allocation.annealing import searches
from models.allocation.annealing.crossing import Crossing
from models.allocation.annealing.posterior import PriorRangeError
from models.allocation.cell_counts import CellCounts
from models.allocation.cliques import TableMemoryError
from models.allocation.model import AllocationModel
from tests.evaluation.allocation.test_exact import MODELS as SMALL
from tests.evaluation.allocation.test_exact import counts_of, with_random_prior

X1 = np.array([[2, 1, 1, 0], [0, 0, 1, 2], [0, 0, 1, 1]])
MODELS = {
    **SMALL,
    "tucker": lambda a, b: AllocationModel.tucker((2, 3), (2, 2), a, b),
    "lda": lambda a, b: AllocationModel.lda(2, 3, 2, a, b),
    "pachinko": lambda a, b: AllocationModel.pachinko(2, 3, (2, 2), a, b),
    "mixed membership": lambda a, b: AllocationModel.mixed_membership(2, 2, 2, a, b),
    "hidden Markov, untied": lambda a, b: AllocationModel.hidden_markov(2, 2, 2, a, b),
    "sum conditioned": lambda a, b: AllocationModel.sum_conditioned(2, 2, 2, 2, a, b),
}
QUICK = ("nmf, K=3", "symmetric nmf", "tucker")


@pytest.fixture
def always_from_modes(monkeypatch):
    """Start from modes also where searches agree, as on small tables, or a long one says more; from
    those of the searches, which are not crossed.
    """
    monkeypatch.setattr(searches, "EVEN", 0.0)
    monkeypatch.setattr(searches.Searches, "long", lambda _, _n: -np.inf)
    monkeypatch.setattr(Crossing, "evolved", lambda _, line, *_rest: line)


pytestmark = pytest.mark.usefixtures("always_from_modes")
STARTS = {0: 12, 4: 120}  # Sweeps by searches: weights from modes are skewed if sweeps are few


def t_of(model, observed, n_runs, seed, n_modes=0, n_sweeps=None):
    """Return how many standard errors the mean of estimated probabilities is from the exact one."""
    truth = exact(model, observed).log_marginal
    n_sweeps = n_sweeps or STARTS[n_modes]
    size = {"n_particles": 2, "n_repeats": n_runs, "n_sweeps": n_sweeps, "n_modes": n_modes}
    found = annealed(model, observed, **size, seed=seed)
    ratio = np.exp(found.repeats - truth)
    if np.allclose(ratio, 1.0, rtol=1e-9):
        return 0.0
    return float((ratio.mean() - 1) / (ratio.std(ddof=1) / np.sqrt(n_runs)))


@pytest.mark.parametrize("n_modes", STARTS)
@pytest.mark.parametrize("name", QUICK)
def test_the_probability_is_unbiased(name, n_modes):
    rng = np.random.default_rng(3)
    model = MODELS[name](0.7, 0.5)
    observed = counts_of(model, 7, rng, n_missing=1)
    assert abs(t_of(model, observed, 150, 1, n_modes)) < 2.58


@pytest.mark.slow
@pytest.mark.parametrize("n_modes", STARTS)
def test_all_graphs_ties_priors_and_missing_indices(n_modes):
    found = {}
    for m, name in enumerate(MODELS):
        rng = np.random.default_rng([5, m])
        model = MODELS[name](*(rng.gamma(1, 1, 2) + 0.2))
        for prior, each in enumerate((model, with_random_prior(model, rng))):
            for n_missing in (0, 2):
                observed = counts_of(each, 6, rng, n_missing)
                found[name, prior, n_missing] = t_of(each, observed, 1000, prior, n_modes)
    t = np.array([each for each in found.values() if each != 0.0])
    assert len(t) > 40
    assert np.abs(t).max() < 3.5, found  # of some 60
    assert chi2.sf((t**2).sum(), len(t)) > 0.01, found


@pytest.mark.parametrize("n_modes", [0, pytest.param(4, marks=pytest.mark.slow)])
def test_all_copies_under_other_names_of_hidden_values_are_in_the_sum(n_modes):
    model = AllocationModel.nmf(3, 3, 3, 0.5)
    X = np.diag([3, 3, 3])  # its posterior has 3! modes, far apart
    assert abs(t_of(model, CellCounts.of(X, model), 200, 4, n_modes, n_sweeps=60)) < 2.58
    settings = {"n_repeats": 40, "n_sweeps": 60, "n_modes": n_modes, "random_state": 1}
    found = log_marginal(model, X, "annealed", **settings)
    one_of_six = exact(model, CellCounts.of(X, model)).log_marginal - np.log(6)
    assert found.log_marginal - one_of_six > 1.5  # a sum over one mode would be 0


@pytest.mark.parametrize(
    ("n_modes", "n_tables"), [(0, 60), (4, 15), pytest.param(4, 60, marks=pytest.mark.slow)]
)
def test_chains_back_have_the_reciprocal_as_their_mean(n_modes, n_tables):
    model, ratios = AllocationModel.nmf(3, 3, 2, 1.5), []
    for n in range(n_tables):
        observed, allocation = draw(model, 8, np.random.default_rng(n))
        truth = exact(model, observed).log_marginal
        size = {"n_repeats": 4, "n_particles": 1, "n_sweeps": 15, "n_modes": n_modes}
        back = bracket_marginal(model, observed, allocation, **size, random_state=n)
        assert not back.is_heuristic
        ratios.append(np.exp(truth - back.upper_chains).mean())
    t = (np.mean(ratios) - 1) / (np.std(ratios, ddof=1) / np.sqrt(len(ratios)))
    assert abs(t) < 2.58


@pytest.mark.slow
def test_a_certificate_closes_with_more_sweeps():
    model = AllocationModel.nmf(6, 6, 3, 4.0)
    short, long = (
        [
            certify_marginal(model, 40, n_sweeps=n, n_modes=0, n_repeats=8, random_state=s)
            for s in range(2, 5)
        ]  # from modes paths of 10 sweeps are slowed where they vary
        for n in (10, 100)
    )
    widths = np.array([[each.width for each in found] for found in (short, long)])
    assert (abs(widths[1]) < 1.0).all()
    assert widths[0].mean() > widths[1].mean() + 0.5


def test_what_an_estimate_says_and_that_threads_change_no_bit():
    model = AllocationModel.nmf(3, 4, 2)
    settings = {"n_sweeps": 30, "n_repeats": 6, "random_state": 5}
    one = log_marginal(model, X1, "annealed", **settings, n_jobs=1)
    assert (one.method, one.direction, one.n_tokens) == ("annealed", "unbiased", 9)
    assert one.n_particles == 4
    assert one.path.tokens[-1] == pytest.approx(30, abs=12)
    assert (one.path.n_ancestors >= 1).all()
    assert (one.path.effective_sample_size <= 4 + 1e-9).all()
    two = log_marginal(model, X1, "annealed", **settings, n_jobs=3)
    assert np.array_equal(one.repeats, two.repeats)


@pytest.mark.slow
def test_the_genealogy_tells_the_error_that_repeats_show():
    model = AllocationModel.nmf(4, 5, 2, a=0.3)
    observed, _ = draw(model, 30, np.random.default_rng(1))
    settings = {"n_particles": 20, "n_sweeps": 20, "seed": 0}
    found = annealed(model, observed, n_repeats=200, **settings)
    assert (found.path.n_ancestors[:, -1] < 20).any()  # some are resampled
    assert found.genealogy_error == pytest.approx(found.standard_error, rel=0.2)
    single = annealed(model, observed, n_repeats=1, **settings)
    assert single.repeats[0] == pytest.approx(found.repeats[0], abs=0.2)  # by other labels
    assert single.standard_error == single.genealogy_error > 0
    one, two = (annealed(model, observed, n_repeats=n, n_modes=0, **settings) for n in (1, 2))
    assert one.repeats[0] == two.repeats[0]
    assert np.isnan(
        annealed(model, observed, n_repeats=1, n_particles=1, n_sweeps=12, n_modes=0).standard_error
    )


@pytest.mark.parametrize("X", [X1, 0 * X1], ids=["tokens", "no token"])
@pytest.mark.parametrize(
    "model",
    [AllocationModel.nmf(3, 4, 1), AllocationModel.complete((3, 4))],
    ids=["K=1", "visible"],
)
def test_what_has_no_choice_is_exact(model, X):
    found = log_marginal(model, X, "annealed", n_repeats=2, random_state=0)
    assert found.repeats == pytest.approx(
        [exact(model, CellCounts.of(X, model)).log_marginal] * 2, rel=1e-11
    )


def test_a_heuristic_bracket():
    model = AllocationModel.nmf(3, 4, 2)
    size = {"n_sweeps": 100, "n_repeats": 20, "n_modes": 0}  # weights back from modes are skewed
    found = bracket_marginal(model, X1, **size, random_state=0)
    truth = exact(model, CellCounts.of(X1, model)).log_marginal
    assert found.is_heuristic
    assert found.lower.log_marginal == pytest.approx(truth, abs=0.3)
    assert found.upper == pytest.approx(truth, abs=0.3)
    assert found.width == found.upper - found.lower.log_marginal


def test_what_does_not_fit_is_refused():
    model = AllocationModel.nmf(3, 4, 2)
    observed, allocation = draw(model, 9, np.random.default_rng(0))
    with pytest.raises(TableMemoryError, match="more than max_memory"):
        log_marginal(model, X1, "annealed", max_memory=100)
    with pytest.raises(ValueError, match="n_sweeps"):
        log_marginal(model, X1, "annealed", n_sweeps=0)
    with pytest.raises(ValueError, match="the counts of X"):
        bracket_marginal(model, X1, allocation, n_sweeps=2)
    with pytest.raises(ValueError, match="say all indices"):
        bracket_marginal(model, observed, observed, n_sweeps=2)


def test_pseudo_counts_whose_products_underflow_are_refused():
    X = np.array([[3, 1], [0, 2]])
    small = AllocationModel.nmf(2, 2, 2, a=1e-30)
    size = {"n_sweeps": 200, "n_repeats": 4, "n_modes": 4, "random_state": 0}
    found = log_marginal(small, X, "annealed", **size)
    truth = log_marginal(small, X, "exact").log_marginal
    # Of 60 seeds none was off by more than 2.4 nats; a pseudo-count too many or too few is 69
    assert abs(found.log_marginal - truth) < 10
    with pytest.raises(PriorRangeError, match="those of 2e-61 have a product"):
        log_marginal(AllocationModel.nmf(2, 2, 2, a=1e-60), X, "annealed", **size)
    many = AllocationModel.cp((2,) * 40, 2, a=1e-8)
    with pytest.raises(PriorRangeError, match="up to 40 pseudo-counts"):
        log_marginal(many, CellCounts(np.zeros((1, 40), dtype=int), [3], (2,) * 40), "annealed")


def test_labels_are_free_at_the_end_of_a_path_from_a_mode():
    """Where they are free in part, weights lack some of the 4! orders of these clusters."""
    model = AllocationModel.nmf(4, 4, 4, 0.01)
    X = CellCounts.of(np.diag([6, 6, 6, 6]), model)
    found = annealed(model, X, n_repeats=40, n_sweeps=60, n_modes=4, seed=1)
    assert found.modes.shape[0] == 1
    ratio = np.exp(found.repeats - exact(model, X).log_marginal)
    assert abs(ratio.mean() - 1) < 2.58 * ratio.std(ddof=1) / np.sqrt(len(ratio)) < 0.2


def test_known_modes_leave_the_probability_unbiased():
    few, model = (AllocationModel.nmf(3, 3, rank, 0.3) for rank in (2, 3))
    X = CellCounts.of(np.diag([3, 3, 2]), model)
    size = {"n_particles": 2, "n_repeats": 150, "n_sweeps": 60, "n_modes": 4, "seed": 5}
    known = annealed(few, X, **size).modes
    found, plain = (annealed(model, X, known_modes=each, **size) for each in (known, None))
    assert not np.array_equal(found.repeats, plain.repeats)
    settings = {name: value for name, value in size.items() if name != "seed"} | {"n_repeats": 2}
    short, without = (
        log_marginal(model, X, "annealed", known_modes=each, random_state=5, **settings)
        for each in (known, None)
    )
    assert not np.array_equal(short.repeats, without.repeats)
    ratio = np.exp(found.repeats - exact(model, X).log_marginal)
    assert abs(ratio.mean() - 1) < 2.58 * ratio.std(ddof=1) / np.sqrt(len(ratio))


def test_a_start_is_taken_as_often_as_its_share_of_the_estimate_says():
    rng, logs = np.random.default_rng(8), np.log([0.2, 0.5, 0.3])
    taken = [_taken(logs, [0.0, *rng.random(2)]) for _ in range(4000)]
    shares = np.bincount(taken, minlength=3) / 4000
    np.testing.assert_allclose(shares, [0.2, 0.5, 0.3], atol=0.02)  # 2.6 standard errors
    assert _taken(np.array([-np.inf, -3.0]), [0.0, 0.9]) == 1
    assert _taken(np.array([-3.0, -np.inf]), [0.0, 0.0]) == 0
    assert _taken(np.full(2, -np.inf), [0.0, 0.5]) == 0
