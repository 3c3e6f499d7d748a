import itertools
import json
import math
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from evaluation.allocation import frontier
from evaluation.allocation.exact import MAX_MEMORY, MarginalCostError, exact
from evaluation.allocation.frontier import Frontier
from models.allocation.cell_counts import CellCounts
from models.allocation.inference_plan import plan_of
from models.allocation.model import AllocationModel
from tests.oracles import allocation as oracle
from tests.oracles.gamma_poisson_likelihood import partitions_of
from tests.shared_data import shared_file

X1 = np.array([[2, 1, 1, 0], [0, 0, 1, 2], [0, 0, 1, 1]])
X2 = np.array([[4, 3, 0], [0, 0, 3], [0, 0, 3]])


def graph(parents, cardinalities, visible, **settings):
    """Of {"k": "", "i": "k"} and the like: single letters."""
    parents = {name: tuple(of) for name, of in parents.items()}
    return AllocationModel(parents, cardinalities, tuple(visible), **settings)


HIDDEN_MARKOV = {"k": "", "l": "k", "m": "l", "i": "k", "j": "l", "x": "m"}
GRAPHS = {
    "chain": ({"j": "", "k": "j", "l": "k", "i": "l"}, (2, 2, 2, 3), "ij", ()),
    "v-structure": ({"i": "", "j": "", "k": "i", "l": "j", "s": "kl"}, [2] * 5, "ijs", ()),
    "disconnected": ({"k": "", "i": "k", "l": "", "j": "l", "x": ""}, [2] * 5, "jix", ()),
    "hidden Markov": (HIDDEN_MARKOV, [2] * 6, "ijx", (("l", "m"), ("i", "j", "x"))),
    "barren": ({"i": "", "k": "i", "j": "i"}, (2, 3, 2), "ij", ()),
    "tied to visible": ({"k": "", "i": "", "j": "k"}, (2, 2, 3), "ij", (("k", "i"),)),
}
"""Parents of each index, sizes of the indices, which of them are visible, and which are tied."""


def graph_of(name, a, b):
    parents, sizes, visible, tied = GRAPHS[name]
    return graph(parents, dict(zip(parents, sizes, strict=True)), visible, a=a, b=b, tied=tied)


MODELS = {
    "nmf, K=1": lambda a, b: AllocationModel.nmf(3, 3, 1, a, b),
    "nmf, K=2": lambda a, b: AllocationModel.nmf(2, 3, 2, a, b),
    "nmf, K=3": lambda a, b: AllocationModel.nmf(3, 2, 3, a, b),
    "cp": lambda a, b: AllocationModel.cp((2, 3, 2), 2, a, b),
    "complete": lambda a, b: AllocationModel.complete((2, 3), a, b),
    "symmetric nmf": lambda a, b: AllocationModel.symmetric_nmf(3, 2, a, b),
    **{name: partial(graph_of, name) for name in GRAPHS},
}


def counts_of(model, n_tokens, rng, n_missing=0):
    """Cells of tokens that fall anywhere; `n_missing` values are taken away."""
    cells = np.stack([rng.integers(size, size=n_tokens) for size in model.shape], axis=1)
    for _ in range(n_missing):
        cells[rng.integers(n_tokens), rng.integers(len(model.shape))] = -1
    return CellCounts(cells, np.ones(n_tokens), model.shape)


def value_of(model, X, **settings):
    found = exact(model, CellCounts.of(X, model), **settings)
    assert found.standard_error == 0
    assert found.method == found.direction == "exact"
    assert_allclose(found.repeats, [found.log_marginal])
    return found.log_marginal


def check_by_tokens(model, n_tokens, rng, n_missing, **tolerance):
    observed = counts_of(model, n_tokens, rng, n_missing)
    expected = oracle.log_probability_by_tokens(model, observed.cells, observed.counts)
    assert value_of(model, observed) == pytest.approx(expected, rel=1e-11, **tolerance)


def with_random_prior(model, rng):
    """The same with Dirichlet parameters that are neither flat nor consistent."""
    firsts = [group[0] for group in model.table_groups()]
    prior = {name: rng.gamma(1.0, 1.0, model.table_shape(name)) + 0.05 for name in firsts}
    of = (model.parents, dict(model.cardinalities), model.visible, model.a, model.b)
    return AllocationModel(*of, prior=prior, tied=model.tied)


SLOW = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5)]


@pytest.mark.parametrize("seed", [0, *SLOW])
@pytest.mark.parametrize("name", MODELS)
def test_it_is_the_sum_over_all_allocations_of_the_tokens(name, seed):
    rng = np.random.default_rng([seed, len(name)])
    model = MODELS[name](*(rng.gamma(1, 1, 2) + 0.1))
    few = 3 if name in {"hidden Markov", "v-structure"} else 4
    for n_missing in (0, 1):
        for each in (model, with_random_prior(model, rng)):
            check_by_tokens(each, few - n_missing, rng, n_missing, abs=1e-11)


@pytest.mark.parametrize("name", [name for name in MODELS if not MODELS[name](1.0, 1.0).tied])
def test_it_is_the_sum_over_all_tensors(name):
    rng = np.random.default_rng(len(name))
    model = MODELS[name](*(rng.gamma(1, 1, 2) + 0.1))
    for each in (model, with_random_prior(model, rng)):
        X = counts_of(each, 4, rng).dense()
        expected = oracle.log_probability_by_tensors(each, X)
        assert value_of(each, X) == pytest.approx(expected, rel=1e-11, abs=1e-11)


def test_the_matrices_of_the_paper_and_independence():
    model, given = AllocationModel.nmf(2, 2, 2, 0.5), AllocationModel.nmf(2, 2, 2, 0.5, 0.5 / 4)
    X = [[2, 0], [1, 1]]
    assert value_of(model, X) == value_of(given, X)
    assert value_of(model, X) == pytest.approx(oracle.log_probability_by_tensors(model, X))
    rng, model = np.random.default_rng(5), AllocationModel.nmf(3, 3, 2, 0.7)
    X = np.array([[3, 0, 1], [0, 2, 0], [1, 0, 2]])
    other, Y = AllocationModel.nmf(3, 3, 3, 0.7), np.array([[2, 0, 1], [0, 2, 0], [1, 0, 1]])
    for each, counts in ((model, X), (with_random_prior(other, rng), Y)):
        expected = oracle.log_probability_by_tensors(each, counts)
        assert value_of(each, counts) == pytest.approx(expected, rel=1e-11)
    S, sizes = np.array([[2, 0], [1, 1]]), {"i": 2, "j": 2}
    apart = graph({"i": "", "j": ""}, sizes, "ij", a=1.0, b=1.0)
    joined = graph({"i": "", "j": "i"}, sizes, "ij", a=1.0, b=1.0)
    assert math.exp(value_of(apart, S)) == pytest.approx(3.4332e-4, abs=5e-9)
    assert math.exp(value_of(joined, S)) == pytest.approx(3.0518e-4, abs=5e-9)


@pytest.mark.parametrize("n_missing", [2, 6])
def test_tokens_of_which_much_is_missing(n_missing):
    rng = np.random.default_rng(n_missing)
    for model in (AllocationModel.nmf(2, 2, 2, 0.8, 0.3), AllocationModel.symmetric_nmf(2, 2)):
        for each in (model, with_random_prior(model, rng)):
            check_by_tokens(each, 4, rng, n_missing)


def test_tokens_of_which_none_is_possible_or_there():
    prior = {"k": [1.0, 0.5], "i": [[0.0, 1.0], [2.0, 1.0]], "j": [[1.0, 1.0], [0.0, 3.0]]}
    sizes = {"k": 2, "i": 2, "j": 2}
    model = graph({"k": "", "i": "k", "j": "k"}, sizes, "ij", a=1.0, b=1.0, prior=prior)
    X = np.array([[0, 2], [1, 1]])
    expected = oracle.log_probability_by_tokens(model, np.argwhere(X), X[X > 0])
    assert np.isfinite(expected)
    assert value_of(model, X) == pytest.approx(expected, rel=1e-11)
    assert value_of(model, [[1, 2], [1, 1]]) == -np.inf
    model = AllocationModel.nmf(2, 2, 3, 2.0, 0.5)
    assert value_of(model, np.zeros((2, 2))) == pytest.approx(2 * math.log(0.5 / 1.5))


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        (X1, [-20.227060056769, -19.810624350664, -20.093149263557, -20.345416633741]),
        (X2, [-22.751379085538, -17.254166096175, -16.991301311548, -16.872186926224]),
    ],
)
def test_the_matrices_of_the_paper(X, expected):
    found = [value_of(AllocationModel.nmf(*X.shape, K), X) for K in range(1, 5)]
    assert_allclose(found, expected, rtol=0, atol=1e-8)


@pytest.mark.shared
@pytest.mark.parametrize("name", ["marginal_lkhd", "marginal_lkhd2"])
def test_all_values_that_were_published(name):
    published = json.loads(shared_file(f"published/bam_published_{name}.json").read_text())
    X = np.array(published["X"])
    models = [[AllocationModel.nmf(*X.shape, K, a) for K in published["K"]] for a in published["a"]]
    found = [[value_of(model, X) for model in row] for row in models]
    assert_allclose(found, published["log_PX_exact"], rtol=0, atol=1e-8)


@pytest.mark.parametrize("a", [0.01, 1.0, 30.0])
def test_markov_equivalent_graphs_agree(a):
    sizes = {"i": 3, "j": 4, "k": 2}
    fork, forth = {"k": "", "i": "k", "j": "k"}, {"j": "", "k": "j", "i": "k"}
    equivalent = [fork, forth, {"i": "", "k": "i", "j": "k"}]
    values = [value_of(graph(each, sizes, "ij", a=a), X1) for each in equivalent]
    assert_allclose(values, values[0], rtol=1e-12)
    collider = graph({"i": "", "j": "", "k": "ij"}, sizes, "ij", a=a)  # is not equivalent
    assert value_of(collider, X1) != pytest.approx(values[0], abs=1e-3)


@pytest.mark.parametrize(
    "model",
    [
        AllocationModel.nmf(2, 2, 2, 0.6, 0.9),
        AllocationModel.symmetric_nmf(2, 3, 1.3, 0.4),
        AllocationModel.cp((2, 1, 2), 2, 0.2, 0.1),
        with_random_prior(AllocationModel.nmf(2, 2, 2, 0.6, 0.9), np.random.default_rng(0)),
    ],
)
@pytest.mark.parametrize("total", [1, 3])
def test_all_tensors_of_a_total_sum_to_its_probability(model, total):
    n_cells = math.prod(model.shape)
    tensors = [np.reshape(p, model.shape) for p in partitions_of(total, n_cells)]
    summed = math.fsum(math.exp(value_of(model, X)) for X in tensors)
    assert summed == pytest.approx(math.exp(oracle.log_total(model, total)), rel=1e-12)


def test_a_missing_value_and_the_order_of_values():
    """One token without its j: p(X) is the sum over j, as its place in the order is known."""
    model, known = AllocationModel.nmf(2, 3, 2, 0.8, 1.0), [[0, 1], [1, 2], [1, 2]]
    observed, logs = CellCounts(np.array([*known, [0, -1]]), np.ones(4), model.shape), []
    for j in range(3):
        filled = CellCounts(np.array([*known, [0, j]]), np.ones(4), model.shape)
        in_order = value_of(model, filled) - oracle.log_orders(filled.cells, filled.counts)
        logs.append(in_order + oracle.log_orders(observed.cells, observed.counts))
    assert value_of(model, observed) == pytest.approx(np.logaddexp.reduce(logs), rel=1e-12)
    rng = np.random.default_rng(2)
    X = rng.multinomial(12, np.full(24, 1 / 24)).reshape(2, 3, 4)
    expected = value_of(AllocationModel.cp(X.shape, 2), X)
    for axes in itertools.permutations(range(3)):
        turned = X.transpose(axes)
        turned = turned[rng.permutation(len(turned))]
        found = value_of(AllocationModel.cp(turned.shape, 2), turned)
        assert found == pytest.approx(expected, rel=1e-12)
    assert value_of(AllocationModel.cp(X.shape, 3), X) != pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", ["nmf, K=3", "chain", "v-structure", "hidden Markov"])
def test_renaming_hidden_values_saves_states_and_changes_nothing(name, seed, monkeypatch):
    rng, model = np.random.default_rng(seed), MODELS[name](0.7, 0.2)
    observed = counts_of(model, 6, rng)
    frontier = frontier_of(model, observed)
    expected, plain = frontier.log_probability(), frontier_of(model, observed)
    monkeypatch.setattr(plain, "renamed", [])
    assert plain.log_probability() == pytest.approx(expected, rel=1e-12)
    assert frontier.max_states < plain.max_states


def test_states_that_are_not_merged_change_nothing(monkeypatch):
    """As when two of them come to the same mixed number."""
    model = AllocationModel.nmf(7, 7, 3, 0.7, 0.2)
    X = np.eye(7, dtype=int) + np.eye(7, k=1, dtype=int)
    expected = value_of(model, X)
    monkeypatch.setattr(frontier, "WORD", 8)  # many integers to mix
    assert value_of(model, X) == pytest.approx(expected, rel=1e-12)
    monkeypatch.setattr(frontier, "_mixed", lambda keys: keys[0] & np.uint64(1))
    assert value_of(model, X) == pytest.approx(expected, rel=1e-12)


def test_many_tokens_large_matrices_and_separate_parts():
    """Counts beyond what a byte holds: two documents with one word each, and K = 2."""
    model, n = AllocationModel.nmf(2, 1, 2, 1.0, 0.01), 300
    found, logs = value_of(model, [[n], [1]]), []
    for k, other in itertools.product(range(n + 1), range(2)):
        S = np.zeros((2, 2, 1), dtype=int)
        S[:, 0, 0] = k, n - k
        S[other, 1, 0] = 1
        logs.append(oracle.log_probability_of_tensor(model, S))
    assert found == pytest.approx(np.logaddexp.reduce(logs), rel=1e-12)
    X = np.random.default_rng(0).poisson(2.0, size=(60, 70))
    model = AllocationModel.nmf(60, 70, 1, 1.0, 1.0)
    apart = graph({"i": "", "j": ""}, {"i": 60, "j": 70}, "ij", a=1.0, b=1.0)
    assert value_of(model, X) == pytest.approx(value_of(apart, X), rel=1e-12)
    sizes = {"k": 3, "i": 4, "l": 3, "j": 4}
    model = graph({"k": "", "i": "k", "l": "", "j": "l"}, sizes, "ij", a=1.0, b=1.0)
    X = np.random.default_rng(0).poisson(3.0, size=(4, 4))
    apart = graph({"i": "", "j": ""}, {"i": 4, "j": 4}, "ij", a=1.0, b=1.0)
    assert value_of(model, X) == pytest.approx(value_of(apart, X), rel=1e-12)


def test_memory_is_refused_or_accepted():
    model, X = AllocationModel.nmf(5, 4, 3), np.random.default_rng(0).poisson(1.5, size=(5, 4))
    with pytest.raises(MarginalCostError, match=r'states after \d+ of \d+ tokens.*"smc"') as found:
        value_of(model, X, max_memory=2**18)
    error = found.value
    assert 0 < error.n_taken < error.n_tokens == X.sum()
    assert error.n_bytes > 2**18
    assert error.n_states > 1000
    with pytest.raises(MarginalCostError, match="after 0 of"):
        value_of(model, X, max_memory=1)
    model = AllocationModel.nmf(3, 4, 4)
    assert value_of(model, X1, max_memory=2**17) == value_of(model, X1, max_memory=MAX_MEMORY)
    model = AllocationModel.hidden_markov(50, 3, 2)
    counts = CellCounts(np.zeros((1, 50), dtype=int), [1], model.shape)
    with pytest.raises(MarginalCostError, match="smc"):
        exact(model, counts)
    many = CellCounts([[0, 0]], [10**9], (2, 2))
    with pytest.raises(MarginalCostError):
        exact(AllocationModel.nmf(2, 2, 2), many)


def test_memory_must_be_a_number_of_bytes():
    for max_memory in (0, -5, 1.5, True):
        error = ValueError if max_memory in {0, -5} else TypeError
        with pytest.raises(error, match="max_memory"):
            value_of(AllocationModel.nmf(3, 4, 2), X1, max_memory=max_memory)


def frontier_of(model, observed):
    plan = plan_of(model, observed)
    return Frontier(plan, list(plan.dynamic), MAX_MEMORY)


@pytest.mark.parametrize(
    ("model", "shape", "n_tokens"),
    [
        (AllocationModel.nmf(6, 6, 2), (6, 6), 40),
        (AllocationModel.nmf(10, 10, 3), (10, 10), 30),
        (AllocationModel.cp((3, 3, 3), 2), (3, 3, 3), 20),
    ],
)
def test_sizes_far_beyond_enumeration(model, shape, n_tokens):
    """Values of two orders of the tokens agree, as only the right ones would."""
    rng = np.random.default_rng(0)
    X = rng.multinomial(n_tokens, np.full(math.prod(shape), 1 / math.prod(shape))).reshape(shape)
    assert value_of(model, X) == pytest.approx(value_of(model, X[::-1].swapaxes(0, 1)), rel=1e-12)


@pytest.mark.slow
def test_a_matrix_of_forty_tokens_and_three_topics():
    X = np.random.default_rng(0).multinomial(40, np.full(36, 1 / 36)).reshape(6, 6)
    model = AllocationModel.nmf(6, 6, 3)
    assert value_of(model, X) == pytest.approx(value_of(model, X.T), rel=1e-12)
