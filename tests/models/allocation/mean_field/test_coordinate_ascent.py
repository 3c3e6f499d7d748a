from functools import cache
from itertools import islice, product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln, psi, xlogy

from evaluation.allocation.exact import exact
from evaluation.allocation.log_marginal import log_marginal
from models.allocation import joint_values
from models.allocation.cell_counts import CellCounts
from models.allocation.cliques import TableMemoryError
from models.allocation.inference_plan import plan_of
from models.allocation.mean_field import coordinate_ascent
from models.allocation.mean_field.belief_propagation import exp_of_differences
from models.allocation.mean_field.coordinate_ascent import (
    MEAN_FIELD_METHODS,
    Epoch,
    MeanField,
    best_of_starts,
    expected_counts,
)
from models.allocation.mean_field.family_counts import counts_of_epoch, tables_of_counts
from models.allocation.mean_field.modes import multinomial_mode
from models.allocation.mean_field.start import log_factors_of, random_log_factors
from models.allocation.mean_field.table_logs import log_gamma_and_digamma
from models.allocation.model import AllocationModel as Model
from models.allocation.sequence import log_allocation, log_orders, log_total_probability

GRAPHS = {
    "nmf": lambda a: Model.nmf(4, 3, 3, a),
    "cp": lambda a: Model.cp((3, 4, 2), 2, a),
    "chain": lambda a: Model.pachinko(4, 3, (2, 3), a),
    "v-structure": lambda a: Model.mixed_membership(4, 2, 3, a),
    "tucker": lambda a: Model.tucker((3, 2, 3), (2, 2, 2), a),
    "symmetric": lambda a: Model.symmetric_nmf(4, 3, a),
    "markov": lambda a: Model.hidden_markov(4, 2, 3, a),
    "tied-markov": lambda a: Model.hidden_markov(4, 2, 3, a, tied=True),
    "missing": lambda a: Model.nmf(4, 3, 2, a),
    "tied-missing": lambda a: Model.symmetric_nmf(3, 2, a),
    "given-prior": lambda a: Model.lda(4, 5, 2, alpha=0.3, eta=0.7, a=a),
    "parts": lambda a: Model(PARTS, {"h": 2, "x": 3, "k": 2, "y": 2, "z": 2}, "xyz", a),
    "visible": lambda a: Model.complete((3, 2, 2), a),
}
PARTS = {"h": (), "x": ("h",), "k": (), "y": ("k",), "z": ("x",)}


@cache
def case(name, a=1.0, seed=0, n_cells=7, most=3):
    """A small model and sparse counts, of which some rows of tables do not occur."""
    rng, model = np.random.default_rng(seed), GRAPHS[name](a)
    cells = np.stack([rng.integers(max(1, size - 1), size=n_cells) for size in model.shape], axis=1)
    if "missing" in name:
        cells[rng.random(cells.shape) < 0.3] = -1
    return model, CellCounts(cells, rng.integers(1, most + 1, size=len(cells)), model.shape)


def random_tables(model, rng):
    tables = {}
    for group in model.table_groups():
        shape = model.table_shape(group[0])
        tables.update(dict.fromkeys(group, rng.dirichlet(np.ones(shape[-1]), size=shape[:-1])))
    return tables


def joint(model, observed, tables):
    """For each cell ∏ of the tables at all values of all indices that agree with it."""
    found = []
    for cell in observed.cells:
        known = dict(zip(model.visible, cell.tolist(), strict=True))
        ranges = [
            range(model.cardinalities[n]) if known.get(n, -1) < 0 else [known[n]]
            for n in model.indices
        ]
        of_cell = {}
        for values in product(*ranges):
            of = dict(zip(model.indices, values, strict=True))
            each = [tables[n][tuple(of[m] for m in model.family(n))] for n in model.indices]
            of_cell[values] = float(np.prod(each))
        found.append(of_cell)
    return found


def families_by_enumeration(model, observed, weights):
    counted = {name: np.zeros(model.table_shape(name)) for name in model.indices}
    for count, of_cell in zip(observed.counts, weights, strict=True):
        total = sum(of_cell.values())
        for values, weight in of_cell.items():
            of = dict(zip(model.indices, values, strict=True))
            for name in model.indices:
                at = tuple(of[m] for m in model.family(name))
                counted[name][at] += count * weight / total
    return counted


def group_counts(model, families):
    """For each table its pseudo-counts and its counts, of all that are tied."""
    groups, zero = model.table_groups(), np.zeros(())
    return [(model.pseudo_counts(g[0]), sum((families[n] for n in g), zero)) for g in groups]


def log_b(z):
    """Log of B_n, eq. 3.12."""
    return float(gammaln(z).sum() - gammaln(z.sum(axis=-1)).sum())


def log_prior(alpha, theta):
    """A Dirichlet's log density in the softmax basis."""
    return float((alpha * np.log(theta)).sum()) - log_b(alpha)


@pytest.mark.parametrize("name", GRAPHS)
def test_sums_and_expected_counts_are_those_of_enumeration(name):
    model, observed = case(name)
    tables = random_tables(model, np.random.default_rng(1))
    field = MeanField.of(model, observed, "vb")
    log_factor = log_factors_of(field.plan, tables)
    allocated, weights = field.allocate(log_factor), joint(model, observed, tables)
    counted = counts_of_epoch(field, Epoch(0.0, allocated, log_factor))
    for each, wanted in families_by_enumeration(model, observed, weights).items():
        assert_allclose(counted[each], wanted, rtol=1e-11, atol=1e-13)
    entropy = 0.0
    for count, of_cell in zip(observed.counts, weights, strict=True):
        share = np.array(list(of_cell.values())) / sum(of_cell.values())
        entropy -= count * xlogy(share, share).sum()
    assert allocated.log_ways == pytest.approx(entropy, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("method", MEAN_FIELD_METHODS)
def test_the_objective_is_the_formula_over_whole_tables(name, method):
    model, observed = case(name, a=2.5)
    field = MeanField.of(model, observed, method)
    *_, epoch = islice(field.epochs(np.random.default_rng(5)), 3)
    families = counts_of_epoch(field, epoch)
    pairs, theta = group_counts(model, families), tables_of_counts(model, families)
    log_data = log_total_probability(model, observed.n_tokens) + log_orders(observed)
    beta = sum(log_b(alpha + counts) - log_b(alpha) for alpha, counts in pairs)
    of_prior = sum(
        log_prior(alpha, theta[group[0]])
        for (alpha, _), group in zip(pairs, model.table_groups(), strict=True)
    )
    of_counts = sum(float(xlogy(families[n], theta[n]).sum()) for n in model.indices)
    cells = zip(observed.counts, joint(model, observed, theta), strict=True)
    of_cells = sum(count * np.log(sum(of_cell.values())) for count, of_cell in cells)
    log_ways = epoch.allocated.log_ways
    wanted = {"icm": of_prior + of_counts + log_ways, "em": of_prior + of_cells}
    wanted = log_data + wanted.get(method, beta + log_ways)
    assert epoch.objective == pytest.approx(wanted, rel=1e-11)


@pytest.mark.parametrize("method", MEAN_FIELD_METHODS)
def test_a_climb_that_goes_on_is_the_same(method):
    field = MeanField.of(*case("nmf", n_cells=12, most=5), method)
    wanted, path = field.climb(np.random.default_rng(3), 60, 0.0)
    for n_epochs in (1, 2, 7):
        part = field.climb(np.random.default_rng(3), n_epochs, 0.0)
        found, whole = field.climb_on(*part, 60, 0.0)
        assert (whole.tolist(), found.objective) == (path.tolist(), wanted.objective)
        assert_array_equal(found.log_factor, wanted.log_factor)
        assert_array_equal(found.allocated.counts, wanted.allocated.counts)
        assert field.climb_on(found, whole, 60, 0.0)[1] is whole  # it is at its end


def test_the_best_start_is_kept_and_climbed_to_the_end():
    field = MeanField.of(*case("nmf", n_cells=12, most=5), "vb")
    optimum = best_of_starts(field, n_starts=6, tolerance=1e-11, seed=2)
    first = [
        field.climb(np.random.default_rng([2, start]), 1000, coordinate_ascent.FIRST_TOLERANCE)
        for start in range(6)
    ]
    ranked = np.argsort([-epoch.objective for epoch, _ in first], kind="stable")
    on = ranked[: coordinate_ascent.N_FINISHED]
    whole = {s: field.climb(np.random.default_rng([2, s]), 1000, 1e-11) for s in on.tolist()}
    assert optimum.start == max(whole, key=lambda s: (whole[s][0].objective, -s))
    assert optimum.path.tolist() == whole[optimum.start][1].tolist()
    assert len(optimum.path) > len(first[optimum.start][1])
    for start in range(6):
        wanted = whole[start][0] if start in whole else first[start][0]
        assert optimum.objectives[start] == wanted.objective
    again = best_of_starts(field, n_starts=6, tolerance=1e-11, seed=2, n_jobs=3)
    assert again.objectives.tolist() == optimum.objectives.tolist()
    model, observed = case("nmf")
    optimum = best_of_starts(MeanField.of(model, observed, "vb"), n_starts=6, seed=4)
    assert optimum.best.objective == optimum.objectives.max() == optimum.path[-1]
    assert optimum.start == int(np.argmax(optimum.objectives))


@pytest.mark.parametrize("name", [n for n in GRAPHS if "missing" not in n])
def test_dual_em_climbs_the_probability_of_the_allocation(name):
    model, observed = case(name)
    field = MeanField.of(model, observed, "dual-em")
    optimum = best_of_starts(field, n_starts=3)
    allocation = field.mode_of(optimum.best.allocated)
    assert optimum.best.objective == pytest.approx(log_allocation(model, allocation), rel=1e-12)
    visible = [model.indices.index(each) for each in model.visible]
    again = CellCounts(allocation.cells[:, visible], allocation.counts, model.shape)
    assert_array_equal(again.cells, observed.cells)
    assert_array_equal(again.counts, observed.counts)


def test_icm_is_the_probability_of_allocation_and_tables():
    """log p(S, θ) = log π(S) + log p(θ | S), with the posterior Dirichlet in the softmax basis."""
    model, observed = case("nmf")
    field = MeanField.of(model, observed, "icm")
    best = best_of_starts(field, n_starts=3).best
    families = counts_of_epoch(field, best)
    theta = tables_of_counts(model, families)
    alpha = {name: model.pseudo_counts(name) + families[name] for name in model.indices}
    posterior = sum(log_prior(alpha[name], theta[name]) for name in model.indices)
    wanted = log_allocation(model, field.mode_of(best.allocated)) + posterior
    assert best.objective == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("method", MEAN_FIELD_METHODS)
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("a", [1e-5, 3.0])
def test_no_epoch_makes_the_objective_worse(name, method, a):
    model, observed = case(name, a, seed=3)
    field = MeanField.of(model, observed, method)
    for seed in range(2):
        epochs = islice(field.epochs(np.random.default_rng(seed)), 12)
        path = np.array([epoch.objective for epoch in epochs])
        assert np.isfinite(path).all()
        assert (np.diff(path) >= -1e-11 * np.abs(path[1:])).all()


@pytest.mark.parametrize("name", GRAPHS)
def test_the_bound_is_below_the_marginal_likelihood(name):
    for a in (0.01, 20.0):
        model, observed = case(name, a, n_cells=3, most=1)
        optimum = best_of_starts(MeanField.of(model, observed, "vb"), n_starts=4)
        truth = exact(model, observed).log_marginal
        assert (optimum.objectives <= truth + 1e-9).all()
        if name == "visible":
            assert optimum.best.objective == pytest.approx(truth, rel=1e-12)


@pytest.mark.parametrize("a", [1e-5, 1.0, 100.0])
def test_with_one_hidden_value_the_bound_is_the_marginal_likelihood(a):
    for model in [Model.nmf(3, 4, 1, a), Model.cp((3, 4), 1, a), Model.symmetric_nmf(4, 1, a)]:
        observed = CellCounts.of(np.random.default_rng(0).poisson(0.8, model.shape), model)
        bound = best_of_starts(MeanField.of(model, observed, "vb"), n_starts=1).best.objective
        assert bound == pytest.approx(exact(model, observed).log_marginal, rel=1e-12)


@pytest.mark.parametrize("method", ["vb", "em"])
@pytest.mark.parametrize("name", GRAPHS)
def test_it_converges_to_an_allocation_that_reproduces_itself(name, method):
    model, observed = case(name, a=2.0)
    epochs = MeanField.of(model, observed, method).epochs(np.random.default_rng(1))
    before = next(epochs).allocated.counts
    for epoch in islice(epochs, 20_000):
        if np.abs(epoch.allocated.counts - before).max(initial=0.0) < 1e-8:
            return
        before = epoch.allocated.counts
    pytest.fail("it still moves after 20,000 epochs")


def test_the_first_epoch_of_nmf_by_the_papers_formulas():
    """Φ ∝ exp(E log θ) with E log θ_ik = ψ(a_ik + ES_ik) - ψ(a_k + ES_k), for all cells at once."""
    model, observed = case("nmf")
    field = MeanField.of(model, observed, "vb")
    first, second = islice(field.epochs(np.random.default_rng(2)), 2)
    of = counts_of_epoch(field, first)
    a, n_k, n_i, n_j = model.a, 3, 4, 3
    s_k, s_ki, s_kj = of["k"], of["i"], of["j"]
    log_phi = (psi(a / (n_k * n_i) + s_ki) - psi(a / n_k + s_k)[:, None])[:, :, None]
    log_phi = log_phi + (psi(a / (n_k * n_j) + s_kj) - psi(a / n_k + s_k)[:, None])[:, None, :]
    log_phi += psi(a / n_k + s_k)[:, None, None]
    phi = np.exp(log_phi - log_phi.max(axis=0))
    expected, wanted = observed.dense() * phi / phi.sum(axis=0), counts_of_epoch(field, second)
    assert_allclose(wanted["i"], expected.sum(axis=2), rtol=1e-11, atol=1e-14)
    assert_allclose(wanted["j"], expected.sum(axis=1), rtol=1e-11, atol=1e-14)


def all_allocations(n_tokens, n_values):
    every = product(range(n_tokens + 1), repeat=n_values)
    return [each for each in every if sum(each) == n_tokens]


def mode_of(probability, n_tokens):
    n_values = len(probability)
    tokens, heap = np.zeros((2, n_values), dtype=np.int64)
    multinomial_mode(probability, n_tokens, tokens, heap, np.zeros(n_values))
    return tokens


def log_multinomial(probability, tokens):
    tokens = np.asarray(tokens)
    return float((xlogy(tokens, probability) - gammaln(tokens + 1.0)).sum())


def test_the_mode_of_a_multinomial():
    rng = np.random.default_rng(0)
    for trial in range(200):
        n_values, n_tokens = int(rng.integers(1, 5)), int(rng.integers(1, 7))
        probability = rng.dirichlet(np.full(n_values, 0.5))
        if trial % 4 == 0:
            probability = np.full(n_values, 1.0 / n_values)
        found = mode_of(probability, n_tokens)
        assert found.sum() == n_tokens
        every = all_allocations(n_tokens, n_values)
        best = max(log_multinomial(probability, each) for each in every)
        assert log_multinomial(probability, found) == pytest.approx(best, abs=1e-12)
    rng = np.random.default_rng(1)
    for n_tokens, n_values in [(1000, 7), (5, 60), (300, 40)]:
        probability = rng.dirichlet(np.full(n_values, 0.2))
        tokens = np.zeros(n_values, dtype=np.int64)
        for _ in range(n_tokens):
            tokens[np.argmax(probability / (tokens + 1))] += 1
        assert_array_equal(mode_of(probability, n_tokens), tokens)
    assert_array_equal(mode_of(np.full(4, 0.25), 6), [2, 2, 1, 1])
    assert_array_equal(mode_of(np.array([0.0, 1.0, 0.0]), 3), [0, 3, 0])


@pytest.mark.parametrize("method", ["vb", "dual-em"])
def test_threads_change_no_bit(method, monkeypatch):
    monkeypatch.setattr(coordinate_ascent, "MIN_BLOCK", 64)
    model = Model.nmf(30, 30, 4)
    observed, found = CellCounts.of(np.random.default_rng(0).poisson(1.5, (30, 30)), model), []
    for n_starts, n_jobs in [(1, 1), (1, 3), (3, 1), (3, 2)]:
        field = MeanField.of(model, observed, method)
        assert len(observed.counts) > 5 * field.block_size
        settings = {"n_starts": n_starts, "n_epochs": 8, "tolerance": 0.0, "n_jobs": n_jobs}
        found.append(best_of_starts(field, seed=1, **settings))
    for one, other in [(found[0], found[1]), (found[2], found[3])]:
        assert (one.start, one.path.tobytes()) == (other.start, other.path.tobytes())
        assert one.objectives.tobytes() == other.objectives.tobytes()
        assert one.best.allocated.counts.tobytes() == other.best.allocated.counts.tobytes()


@pytest.mark.parametrize("name", [n for n in GRAPHS if n not in {"visible", "given-prior"}])
def test_the_tables_that_are_drawn_sum_to_one(name):
    model, _ = case(name)
    cells = np.array(list(product(*(range(model.cardinalities[n]) for n in model.visible))))
    field = MeanField.of(model, CellCounts(cells, np.ones(len(cells), np.int64), model.shape), "vb")
    log_factor = random_log_factors(field.plan, np.random.default_rng(0))
    _, log_sums, _ = expected_counts(field, field.reading, log_factor, field.plan.n_state)
    known = [n for n in model.indices if set(model.family(n)) <= set(model.visible)]
    # tables that depend on nothing hidden are not drawn: each of their rows counts once
    n_rows = np.prod([float(model.cardinalities[n]) for n in known])
    assert np.exp(log_sums).sum() == pytest.approx(n_rows, rel=1e-11)


def test_entries_are_drawn_as_from_whole_rows():
    """Of a row of 50 words two occur: p(k) p(i | k) has the mean and variance of two Dirichlets.
    Within 4 standard errors; 0.1 is added to all pseudo-counts.
    """
    model = Model({"k": (), "i": ("k",)}, {"k": 2, "i": 50}, ("i",), a=60.0)
    plan = plan_of(model, CellCounts(np.array([[3], [7]]), np.array([2, 1]), model.shape))
    rng, n_draws = np.random.default_rng(3), 1000
    drawn = np.array([np.exp(random_log_factors(plan, rng)) for _ in range(n_draws)])
    assert drawn.shape[1] == 4
    of_k, of_i = 60.0 / 2 + 0.1, 60.0 / 100 + 0.1
    square_k = of_k * (of_k + 1) / (2 * of_k * (2 * of_k + 1))
    square_i = of_i * (of_i + 1) / (50 * of_i * (50 * of_i + 1))
    for values, wanted in ((drawn, 0.5 / 50), (drawn**2, square_k * square_i)):
        error = values.std(axis=0) / np.sqrt(n_draws)
        assert (np.abs(values.mean(axis=0) - wanted) < 4 * error).all()


def test_counts_that_are_impossible_or_none():
    prior = {"k": [1.0, 1.0], "i": [[1.0, 0.0], [1.0, 0.0]], "j": [[1.0, 1.0], [1.0, 1.0]]}
    model = Model({"k": (), "i": ("k",), "j": ("k",)}, {"k": 2, "i": 2, "j": 2}, "ij", prior=prior)
    impossible = CellCounts.of(np.array([[1, 1], [1, 0]]), model)
    possible = CellCounts.of(np.array([[2, 3], [0, 0]]), model)
    for method in MEAN_FIELD_METHODS:
        field = MeanField.of(model, impossible, method)
        assert best_of_starts(field, n_starts=2).best.objective == -np.inf
        field = MeanField.of(model, possible, method)
        assert np.isfinite(best_of_starts(field, n_starts=2).objectives).all()
    model = Model.nmf(3, 2, 2, b=0.5)
    observed = CellCounts.of(np.zeros((3, 2), dtype=int), model)
    truth = log_total_probability(model, 0)
    for method in ("vb", "dual-em"):
        best = best_of_starts(MeanField.of(model, observed, method), n_starts=1).best
        assert best.objective == pytest.approx(truth, rel=1e-12)


def test_what_does_not_fit_is_refused(monkeypatch):
    model, observed = case("chain")
    field = MeanField.of(model, observed, "vb")
    with pytest.raises(TableMemoryError, match="expected counts need"):
        best_of_starts(field, n_starts=1, max_memory=100)
    monkeypatch.setattr(joint_values, "MAX_JOINT_VALUES", 5)
    with pytest.raises(TableMemoryError, match=r"joint values of .*k1, k2"):
        MeanField.of(model, observed, "icm")


def test_special_functions():
    for x in np.concatenate([np.logspace(-12, 9, 400), np.linspace(0.5, 10, 300)]):
        log_gamma, digamma = log_gamma_and_digamma(x)
        assert log_gamma == pytest.approx(gammaln(x), rel=1e-14, abs=2e-14)
        assert digamma == pytest.approx(psi(x), rel=1e-14, abs=2e-14)
    values = np.concatenate([-np.linspace(0, 690, 1001), [-np.inf, -1e7]])
    exps = values.copy()
    total, weighted = exp_of_differences(exps, 0.0)
    wanted = np.exp(values)
    assert_allclose(exps, wanted, rtol=4e-14, atol=0)
    near = values > -69
    assert_allclose(exps[near], wanted[near], rtol=3e-15, atol=0)
    assert total == pytest.approx(wanted.sum(), rel=1e-14)
    assert weighted == pytest.approx((wanted[:-2] * values[:-2]).sum(), rel=1e-14)


@pytest.mark.parametrize("a", [1e8, 1e12, 1e15])
def test_the_bound_keeps_its_digits_for_large_priors(a):
    model = Model.nmf(2, 2, 2, a)
    bound = log_marginal(model, [[2, 1], [0, 1]], "vb", n_repeats=2, random_state=0).log_marginal
    truth = log_marginal(model, [[2, 1], [0, 1]], "exact").log_marginal
    assert bound <= truth + 1e-11
    assert bound == pytest.approx(truth, abs=20 / a + 1e-11)
