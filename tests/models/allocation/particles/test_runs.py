from dataclasses import replace
from itertools import permutations, product
from math import lgamma

import numpy as np
import pytest

from evaluation.allocation.exact import exact
from evaluation.allocation.particles import by_particles
from models.allocation.cell_counts import CellCounts
from models.allocation.cliques import TableMemoryError
from models.allocation.inference_plan import plan_of
from models.allocation.model import AllocationModel as Model
from models.allocation.particles.posterior_sample import posterior_sample
from models.allocation.particles.runs import run_particles
from models.allocation.particles.state import check_memory, n_events_of
from models.allocation.sequence import log_allocation, log_of_counts

X1 = np.array([[2, 1, 1, 0], [0, 0, 1, 2], [0, 0, 1, 1]])
X2 = np.array([[4, 3, 0], [0, 0, 3], [0, 0, 3]])
SMALL = np.array([[2, 1], [0, 1]])
CHAIN = {"j": (), "k": ("j",), "l": ("k",), "i": ("l",)}


def drawn(model, n_tokens, seed):
    """Some counts, whatever the model says of them."""
    rng = np.random.default_rng(seed)
    cells = np.stack([rng.integers(size, size=n_tokens) for size in model.shape], axis=1)
    return CellCounts(cells, np.ones(n_tokens, dtype=int), model.shape)


MODELS = {
    "nmf": Model.nmf(2, 2, 2, a=0.5),
    "cp": Model.cp((2, 3, 2), 2, a=2.0),
    "symmetric": Model.symmetric_nmf(2, 2, a=0.8),
    "chain": Model(CHAIN, dict.fromkeys("jkli", 2), "ij", a=0.7),
    "collider": Model.mixed_membership(2, 2, a=1.3).with_cardinality("k2", 3),
    "tied chain": Model.hidden_markov(3, 2, 2, a=0.9, tied=True),
}


def is_mean(estimates, truth):
    """Whether the mean of exp(estimates) is exp(truth), by 4 standard errors."""
    ratio = np.exp(estimates - truth)
    return bool(abs(ratio.mean() - 1) < 4 * ratio.std(ddof=1) / np.sqrt(len(ratio)) + 1e-12)


@pytest.mark.parametrize("resample_below", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("n_moves", [0, 2])
@pytest.mark.parametrize("name", MODELS)
def test_estimates_are_unbiased(name, n_moves, resample_below):
    model = MODELS[name]
    observed = drawn(model, 6, seed=1)
    truth = exact(model, observed).log_marginal
    plan, constant = plan_of(model, observed), log_of_counts(model, observed)
    settings = {"resample_below": resample_below, "n_moves": n_moves}
    rngs = (np.random.default_rng([7, r]) for r in range(200))
    runs = np.array([run_particles(plan, 4, rng, **settings).log_probability for rng in rngs])
    assert runs.std() > 0
    assert is_mean(constant + runs, truth)
    assert not is_mean(constant + runs + 0.5, truth)


@pytest.mark.parametrize("resampling", ["systematic", "stratified", "residual", "multinomial"])
@pytest.mark.parametrize("order", ["random", "sorted"])
def test_schemes_and_orders_are_unbiased(resampling, order):
    model = Model.nmf(3, 4, 3, a=0.5)
    observed, scheme = CellCounts.of(X1, model), {"resampling": resampling, "order": order}
    estimate = by_particles(model, observed, "smc", n_particles=50, n_repeats=200, **scheme)
    truth = exact(model, observed).log_marginal
    assert is_mean(estimate.repeats, truth)
    assert abs(estimate.log_marginal - truth) < 5 * estimate.standard_error


@pytest.mark.slow
@pytest.mark.parametrize("method", ["sis", "smc", "smc-adaptive"])
@pytest.mark.parametrize("matrix", [X1, X2], ids=["X1", "X2"])
@pytest.mark.parametrize("n_topics", [2, 3, 4])
def test_a_thousand_runs(n_topics, matrix, method):
    """|t| < 2.58, as if there were no bias: one of the 18 may be expected above 2 all the same."""
    model = Model.nmf(*matrix.shape, n_topics, a=1.0)
    observed = CellCounts.of(matrix, model)
    truth = exact(model, observed).log_marginal
    estimate = by_particles(model, observed, method, n_particles=100, n_repeats=1000, seed=2)
    ratio = np.exp(estimate.repeats - truth)
    assert abs(ratio.mean() - 1) < 2.58 * ratio.std(ddof=1) / np.sqrt(1000)


def test_every_path_of_one_particle_listed():
    """All orders of the tokens and all hidden values: the mean weight is p(X) to 1e-12."""
    model = Model.nmf(2, 2, 2, a=0.3)
    observed = CellCounts.of(SMALL, model)
    tokens = np.repeat(np.arange(len(observed.counts)), observed.counts)
    orders, logs = set(permutations(tokens.tolist())), []
    for order in orders:
        weight = 0.0
        for hidden in product(range(2), repeat=len(tokens)):
            # the weight is what the kernel computes given the path; its probability, what it draws
            s_k, s_ik, s_jk = np.zeros(2), np.zeros((2, 2)), np.zeros((2, 2))
            log_weight, log_draw = 0.0, 0.0
            for n, (cell, k) in enumerate(zip(order, hidden, strict=True)):
                i, j = observed.cells[cell]
                u = (0.3 / 4 + s_ik[i]) * (0.3 / 4 + s_jk[j]) / (0.3 / 2 + s_k)
                log_weight += np.log(u.sum() / (0.3 + n))
                log_draw += np.log(u[k] / u.sum())
                s_k[k] += 1
                s_ik[i, k] += 1
                s_jk[j, k] += 1
            weight += np.exp(log_weight + log_draw)
        logs.append(np.log(weight))
    truth, b = exact(model, observed).log_marginal, 0.3 / 4
    total = lgamma(4.3) - lgamma(0.3) - lgamma(5) + 0.3 * np.log(b) - 4.3 * np.log1p(b)
    assert np.allclose(np.array(logs) + np.log(len(orders)) + total, truth, rtol=0, atol=1e-12)


def sums_over_draws(resample_below):
    """E of the product of mean weights with two particles: all that can happen, with its chance.
    NMF of SMALL with K = 2; multinomial resampling, where the effective size is below the share.
    """
    a, order = 0.3, [(0, 0), (0, 1), (0, 0), (1, 1)]

    def step(particle, token):
        s_k, s_ik, s_jk = (np.array(each, float) for each in particle)
        i, j = token
        return (a / 4 + s_ik.reshape(2, 2)[i]) * (a / 4 + s_jk.reshape(2, 2)[j]) / (a / 2 + s_k)

    def count(particle, token, k):
        s_k, s_ik, s_jk = (list(each) for each in particle)
        s_k[k] += 1
        s_ik[2 * token[0] + k] += 1
        s_jk[2 * token[1] + k] += 1
        return tuple(s_k), tuple(s_ik), tuple(s_jk)

    def expected(particles, weights, n):
        if n == len(order):
            return 1.0
        u = [step(each, order[n]) for each in particles]
        new = weights * np.array([each.sum() for each in u])
        mean, effective = new.mean(), new.sum() ** 2 / (new**2).sum()
        if resample_below >= 1 or effective < resample_below * 2:
            chance = new / new.sum()
            choices = [((p, q), chance[p] * chance[q], np.ones(2)) for p in (0, 1) for q in (0, 1)]
        else:
            choices = [((0, 1), 1.0, new / mean)]
        total = 0.0
        for parents, probability, kept in choices:
            for ks in product(range(2), repeat=2):
                pairs = list(zip(parents, ks, strict=True))
                drawn_chance = np.prod([u[p][k] / u[p].sum() for p, k in pairs])
                children = [count(particles[p], order[n], k) for p, k in pairs]
                total += probability * drawn_chance * expected(children, kept, n + 1)
        return float(mean * total)

    empty = ((0, 0), (0,) * 4, (0,) * 4)
    return expected([empty, empty], np.ones(2), 0)


@pytest.mark.parametrize(
    "resample_below", [0.0, 0.9, 0.99, pytest.param(1.0, marks=pytest.mark.slow)]
)
def test_adaptive_resampling_is_unbiased_too(resample_below):
    """Contrary to section 4.2.1: by listing all that two particles can do."""
    model = Model.nmf(2, 2, 2, a=0.3)
    observed = CellCounts([[0, 0], [0, 1], [1, 1]], [2, 1, 1], (2, 2))
    sequence = exact(model, observed).log_marginal - log_of_counts(model, observed)
    assert np.log(sums_over_draws(resample_below)) == pytest.approx(sequence, abs=1e-12)


def test_threads_and_repeats_change_no_bit():
    model = Model.nmf(3, 4, 3, a=0.5)
    observed, settings = CellCounts.of(X1, model), {"n_particles": 64, "seed": 5, "n_moves": 1}
    one = by_particles(model, observed, "smc", n_repeats=4, n_jobs=1, **settings)
    two = by_particles(model, observed, "smc", n_repeats=4, n_jobs=2, **settings)
    fewer = by_particles(model, observed, "smc", n_repeats=2, n_jobs=1, **settings)
    assert (one.repeats == two.repeats).all()
    assert (one.repeats[:2] == fewer.repeats).all()
    assert (one.path.n_ancestors == two.path.n_ancestors).all()


def test_rows_brought_up_to_date_many_times():
    model = Model.nmf(3, 3, 2, a=0.4)
    observed = CellCounts.of(np.array([[60, 5, 3], [40, 100, 2], [7, 30, 80]]), model)
    plan = plan_of(model, observed)
    run = run_particles(plan, 20, np.random.default_rng(3), keep_history=True, n_moves=1)
    assert n_events_of(plan, keep_history=True) < observed.n_tokens
    for each in posterior_sample(model, observed, n_particles=20, n_kept=5, seed=3).allocations:
        assert each.dense().sum(axis=0).tolist() == observed.dense().tolist()
    assert np.isfinite(run.log_probability)


@pytest.mark.parametrize("name", MODELS)
def test_particles_hold_the_counts_of_their_allocations(name):
    model = MODELS[name]
    observed = drawn(model, 40, seed=2)
    sample = posterior_sample(model, observed, n_particles=1, seed=1, n_moves=3)
    s, axes = sample.allocations[0], [model.indices.index(each) for each in model.visible]
    seen = np.zeros(model.shape, dtype=int)
    np.add.at(seen, tuple(s.cells[:, axes].T), s.counts)
    assert seen.tolist() == observed.dense().tolist()
    assert sample.log_allocation[0] == pytest.approx(log_allocation(model, s), rel=1e-13)


def test_a_posterior_sample_has_the_posteriors_means_by_its_weights():
    """Against all allocations: E S_k+ of a particle's sample, and with moves that mix, too."""
    model = Model.nmf(2, 2, 2, a=1.5)
    observed = CellCounts.of(SMALL, model)
    tokens = np.repeat(observed.cells, observed.counts, axis=0)
    weights, same = [], []
    for hidden in product(range(2), repeat=len(tokens)):
        s = CellCounts(np.column_stack([hidden, tokens]), np.ones(len(tokens), int), (2, 2, 2))
        orders = lgamma(len(tokens) + 1) - sum(lgamma(n + 1) for n in s.counts)
        weights.append(np.exp(log_allocation(model, s) - orders))
        same.append(hidden[0] == hidden[-1])
    truth = np.average(same, weights=weights)
    for n_moves in (0, 2):
        sample = posterior_sample(model, observed, n_particles=4000, seed=4, n_moves=n_moves)
        of_token = observed.cells[sample.cell_of_token]
        first, last = ((of_token == cell).all(axis=1).argmax() for cell in ([0, 0], [1, 1]))
        alike = sample.hidden[:, first, 0] == sample.hidden[:, last, 0]
        assert abs(np.average(alike, weights=sample.weights) - truth) < 0.05
    model = Model.nmf(3, 4, 3, a=3.0)
    observed = CellCounts.of(X1, model)
    whole = posterior_sample(model, observed, n_particles=2000, seed=6)
    kept = posterior_sample(model, observed, n_particles=2000, n_kept=2000, seed=6)
    assert (kept.weights == 1 / 2000).all()
    weighted = np.average(whole.log_allocation, weights=whole.weights)
    spread = np.sqrt(np.cov(whole.log_allocation, aweights=whole.weights))
    assert whole.weights.max() > 1.2 / 2000
    assert abs(kept.log_allocation.mean() - weighted) < 4 * spread / np.sqrt(2000)
    assert abs(whole.log_allocation.mean() - weighted) > 8 * spread / np.sqrt(2000)
    assert whole.log_marginal == pytest.approx(exact(model, observed).log_marginal, abs=0.5)


def test_settings_and_memory_are_checked_before_it_is_taken():
    for settings, message in (
        ({"n_particles": 0}, "n_particles must be at least 1"),
        ({"n_particles": 2.5}, "n_particles must be a whole number"),
        ({"n_kept": 0}, "n_kept must be at least 1"),
        ({"n_moves": -1}, "n_moves must be at least 0"),
        ({"resampling": "x"}, "resampling must be one of"),
    ):
        model = Model.nmf(2, 2, 2)
        with pytest.raises((ValueError, TypeError), match=message):
            posterior_sample(model, CellCounts.of(SMALL, model), **settings)
    model = Model.nmf(300, 300, 50)
    observed = CellCounts.of(np.eye(300, dtype=int), model)
    with pytest.raises(TableMemoryError, match=r"max_memory.*fewer particles"):
        check_memory(plan_of(model, observed), 10**6, 1, 2**30)
    with pytest.raises(TableMemoryError):
        by_particles(model, observed, "smc", n_particles=10**6, n_repeats=1, max_memory=2**30)
    many = CellCounts([[0, 0]], [10**12], (2, 2))
    with pytest.raises(TableMemoryError):
        by_particles(Model.nmf(2, 2, 2), many, "smc", n_particles=2, n_repeats=1)


def test_missing_indices_are_summed_over():
    model = Model.nmf(2, 2, 2, a=1.0)
    observed = CellCounts([[0, 0], [1, -1], [-1, 1], [1, 1]], [2, 1, 1, 1], (2, 2))
    truth = exact(model, observed).log_marginal
    estimate = by_particles(model, observed, "smc", n_particles=100, n_repeats=200)
    assert is_mean(estimate.repeats, truth)
    sample = posterior_sample(model, observed, n_particles=10)
    assert {each.n_tokens for each in sample.allocations} == {5}


def test_nothing_hidden_and_no_token():
    model = Model.complete((2, 2), a=1.0, b=1.0)
    observed = CellCounts.of([[2, 0], [1, 1]], model)
    estimate = by_particles(model, observed, "smc", n_particles=3, n_repeats=2)
    assert np.exp(estimate.log_marginal) == pytest.approx(3.0518e-4, rel=1e-4)
    assert estimate.standard_error == 0
    empty = CellCounts.of(np.zeros((2, 2), int), replace(model))
    nothing = by_particles(model, empty, "smc", n_particles=3, n_repeats=2)
    assert nothing.log_marginal == pytest.approx(np.log(0.5))
