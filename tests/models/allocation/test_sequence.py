from dataclasses import replace
from itertools import combinations, permutations, product
from math import lgamma, log

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import logsumexp

from models.allocation.cell_counts import CellCounts
from models.allocation.inference_plan import plan_of
from models.allocation.model import AllocationModel as Model
from models.allocation.sequence import (
    log_allocation,
    log_of_counts,
    log_orders,
    log_total_probability,
    rate_of,
)
from tests.models.allocation.test_tables import graphs, joint_counts, random_tokens


def naive_log_allocation(model, S):
    """Eq. 3.11 over the dense tensor S of all indices."""

    def log_b(Z):  # eq. 3.12, the last axis the index itself
        return sum(lgamma(z) for z in Z.ravel()) - sum(lgamma(z) for z in Z.sum(axis=-1).ravel())

    total, a = int(S.sum()), model.a
    b = a / max(total, 1) if model.b is None else model.b
    value, done = a * log(b) - (a + total) * log(b + 1) + lgamma(a + total) - lgamma(a), set()
    for name in model.indices:
        group = next((g for g in model.tied if name in g), (name,))
        if name in done:
            continue
        done |= set(group)
        counts = 0
        for each in group:
            family = [*model.parents[each], each]
            letters = "".join(chr(97 + n) for n in range(S.ndim))
            out = "".join(letters[model.indices.index(axis)] for axis in family)
            counts = counts + np.einsum(f"{letters}->{out}", S)
        if model.prior is None:
            alpha = np.full(counts.shape, len(group) * a / counts.size)
        else:
            alpha = np.asarray(model.prior[group[0]])
        value += log_b(alpha + counts) - log_b(alpha)
    return value - sum(lgamma(count + 1) for count in S.ravel())


def as_cells(S):
    return CellCounts(np.argwhere(S), S[S > 0], S.shape)


@settings(max_examples=25, deadline=None)
@given(
    st.one_of(graphs(), graphs(ties=True, priors=True)), st.integers(0, 25), st.integers(0, 2**32)
)
def test_log_allocation_is_equation_3_11(model, n_tokens, seed):
    S = joint_counts(model, random_tokens(model, n_tokens, seed))
    for each in (model, replace(model, b=None)):
        expected = naive_log_allocation(each, S)
        assert log_allocation(each, as_cells(S)) == pytest.approx(expected, rel=1e-11, abs=1e-10)


def test_the_rate_is_by_default_that_of_the_tokens_there_are():
    S = np.array([[2, 0], [1, 1]])
    independent = Model({"i": (), "j": ()}, {"i": 2, "j": 2}, "ij", 1.0, 1.0)
    dependent = Model({"i": (), "j": ("i",)}, {"i": 2, "j": 2}, "ij", 1.0, 1.0)
    assert np.exp(log_allocation(independent, as_cells(S))) == pytest.approx(3.4332e-4, abs=5e-9)
    assert np.exp(log_allocation(dependent, as_cells(S))) == pytest.approx(3.0518e-4, abs=5e-9)
    assert rate_of(Model.nmf(2, 2, 2, 3.0), 12) == 0.25
    assert rate_of(Model.nmf(2, 2, 2, 3.0, 0.7), 12) == 0.7
    assert rate_of(Model.nmf(2, 2, 2, 3.0), 0) == 3.0


def tensors_of(shape, n_tokens):
    """All tensors of counts of this shape with so many tokens."""
    n_cells = int(np.prod(shape))
    for bars in combinations(range(n_tokens + n_cells - 1), n_cells - 1):
        yield (np.diff(np.array([-1, *bars, n_tokens + n_cells - 1])) - 1).reshape(shape)


@pytest.mark.parametrize(
    "model",
    [
        Model.nmf(2, 1, 3, 0.7, 0.4),
        Model({"x": (), "y": (), "z": ("x", "y")}, {"x": 2, "y": 2, "z": 2}, "z", 2.0),
        Model.symmetric_nmf(2, 2, 0.5, 2.0),
        Model.hidden_markov(2, 2, 1, 0.3, 1.0, tied=True),
        Model.lda(2, 2, 2, [0.1, 0.5], 0.3, a=2.0),
    ],
    ids=["nmf", "v-structure", "symmetric nmf", "tied hidden Markov", "lda"],
)
def test_allocations_of_three_tokens_sum_to_the_probability_of_three(model):
    shape = model.fully_visible().shape
    logs = [log_allocation(model, as_cells(S)) for S in tensors_of(shape, 3)]
    assert logsumexp(logs) == pytest.approx(log_total_probability(model, 3), abs=1e-12)


@pytest.mark.parametrize(("a", "b"), [(1.0, 0.5), (0.01, 0.3), (30.0, 2.0)])
def test_the_number_of_tokens_is_negative_binomial(a, b):
    model, T = Model.nmf(2, 2, 2, a, b), np.arange(2000)
    found = np.array([log_total_probability(model, int(t)) for t in T])
    assert_allclose(found, stats.nbinom.logpmf(T, a, b / (1 + b)), rtol=1e-9, atol=1e-11)
    # at T = 2000 what is left is below (1.3)^-2000
    assert np.exp(found).sum() == pytest.approx(1.0, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(graphs(), st.integers(0, 20), st.integers(0, 2**32), st.integers(0, 99))
def test_markov_equivalent_graphs_agree(model, n_tokens, seed, which):
    edges = [(u, v) for v, of in model.parents.items() for u in of]
    covered = [(u, v) for u, v in edges if {*model.parents[v]} == {*model.parents[u], u}]
    assume(covered)
    u, v = covered[which % len(covered)]
    parents = dict(model.parents)
    parents[u], parents[v] = (*model.parents[u], v), model.parents[u]
    other = Model(parents, model.cardinalities, model.visible, model.a, model.b)
    S = joint_counts(model, random_tokens(model, n_tokens, seed))
    expected = log_allocation(model, as_cells(S))
    assert log_allocation(other, as_cells(S)) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_an_edge_that_is_not_covered_makes_another_model():
    parents, sizes = {"x": (), "y": (), "z": ("x", "y")}, {"x": 2, "y": 2, "z": 2}
    collider = Model(parents, sizes, "z", 1.0, 1.0)
    reversed_ = Model({"z": (), "x": ("z",), "y": ("z",)}, sizes, "z", 1.0, 1.0)
    S = np.array([[[2, 0], [0, 1]], [[0, 3], [1, 0]]])
    one = log_allocation(collider, as_cells(S))
    assert abs(one - log_allocation(reversed_, as_cells(S.transpose(2, 0, 1)))) > 0.01


def log_sequences(model, observed):
    """Log of the sum over all hidden values of ordered tokens, of the dynamic tables' product."""
    plan = plan_of(model, observed)
    tokens, choices = np.repeat(np.arange(len(observed.counts)), observed.counts), []
    for c in tokens:
        unknown = plan.unknown[plan.arrays.pattern_of[c]]
        ranges = [range(model.cardinalities[name]) for name in unknown]
        choices.append([dict(zip(unknown, values, strict=True)) for values in product(*ranges)])
    logs = []
    for chosen in product(*choices):
        value = 0.0
        for table in plan.dynamic:
            counts = np.zeros((table.n_rows, table.n_columns), dtype=int)
            for c, of in zip(tokens, chosen, strict=True):
                for u, use in enumerate(table.marginal.uses):
                    column = table.offset_of[u, c]
                    for axis, stride in zip(table.inner_axes, table.strides, strict=True):
                        column += stride * of.get(use[axis], 0)
                    counts[table.row_of[u, c], column] += 1
            value += table.log_rising(counts)
        logs.append(value)
    return float(logsumexp(logs))


@pytest.mark.parametrize(
    "model",
    [
        Model.nmf(2, 2, 2, 0.7, 0.4),
        Model.symmetric_nmf(2, 2, 0.7),
        Model.lda(2, 2, 2, [0.2, 0.9], [0.3, 0.1]),
        Model({"x": (), "k": (), "z": ("x", "k")}, {"x": 2, "k": 2, "z": 2}, "xz"),
    ],
    ids=["nmf", "symmetric nmf", "lda", "v-structure"],
)
def test_with_the_hidden_part_it_is_the_probability_of_the_counts(model):
    X = np.array([[2, 1], [0, 1]])
    observed = CellCounts.of(X, model)
    axes = tuple(model.indices.index(name) for name in model.hidden)
    order = [name for name in model.indices if name not in model.hidden]
    marginal = X if order == list(model.visible) else X.T
    every = tensors_of(model.fully_visible().shape, 4)
    agreeing = [S for S in every if (S.sum(axis=axes) == marginal).all()]
    expected = logsumexp([naive_log_allocation(model, S) for S in agreeing])
    found = log_of_counts(model, observed) + log_sequences(model, observed)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("cells", "counts"),
    [
        ([[0, 0], [0, 1], [1, 1]], [2, 1, 1]),
        ([[0, 0], [-1, 1], [-1, 0], [0, 1]], [2, 1, 1, 1]),
        ([[0, -1], [-1, 1], [-1, 0], [1, -1]], [1, 2, 1, 1]),
        ([[-1, -1], [1, 1]], [3, 2]),
    ],
)
def test_orders_are_of_the_tokens_that_tell_as_much(cells, counts):
    observed = CellCounts(cells, counts, (2, 2))
    tokens = np.repeat(observed.cells, observed.counts, axis=0)
    pattern = (tokens < 0).tolist()
    ordered = [tokens[list(order)] for order in permutations(range(len(tokens)))]
    orders = {tuple(map(tuple, o.tolist())) for o in ordered if (o < 0).tolist() == pattern}
    assert np.exp(log_orders(observed)) == pytest.approx(len(orders), rel=1e-12)


def test_tokens_of_which_something_is_missing_are_summed_over_it():
    """Given which tokens tell what, counts sum to the probability of their number."""
    model, logs = Model.nmf(2, 2, 2, 0.7, 0.4), []
    for whole, rest in product(tensors_of((2, 2), 2), tensors_of((2,), 1)):
        cells = [*np.argwhere(whole).tolist(), *([i, -1] for i in np.flatnonzero(rest))]
        observed = CellCounts(cells, [*whole[whole > 0], *rest[rest > 0]], (2, 2))
        logs.append(log_of_counts(model, observed) + log_sequences(model, observed))
    assert len(logs) == 20
    assert logsumexp(logs) == pytest.approx(log_total_probability(model, 3), abs=1e-12)


def test_what_is_no_complete_allocation_is_refused_and_none_is_one():
    model = Model.nmf(2, 3, 2)
    with pytest.raises(ValueError, match=r"shape \(2, 2, 3\) of the visible indices k, i, j"):
        log_allocation(model, CellCounts([[0, 0]], [1], (2, 3)))
    with pytest.raises(ValueError, match="value of each index of all tokens, found -1"):
        log_allocation(model, CellCounts([[-1, 0, 0]], [1], (2, 2, 3)))
    model, none = Model.nmf(2, 3, 2, 1.5, 0.5), CellCounts([], [], (2, 2, 3))
    assert log_allocation(model, none) == pytest.approx(1.5 * log(0.5 / 1.5), rel=1e-14)
