from collections import Counter
from itertools import combinations
from math import prod

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from models.allocation.cell_counts import CellCounts
from models.allocation.model import AllocationModel as Model
from models.allocation.tables import inner_indices, marginals_of, mixed_radix, tables_of


@st.composite
def graphs(draw, *, ties=False, perfect=False, priors=False):
    """Random models of 3 to 5 indices of 1 to 3 values, declared in an order of their own."""
    order = draw(st.permutations("abcde"[: draw(st.integers(3, 5))]))
    same_size = draw(st.integers(1, 3)) if ties and draw(st.booleans()) else None
    sizes, parents = {name: same_size or draw(st.integers(1, 3)) for name in order}, {}
    for position, name in enumerate(order):
        chosen = [before for before in order[:position] if draw(st.booleans())]
        if perfect:  # parents that are joined already: no two arrows meet
            joined = []
            for before in chosen:
                if all(one in parents[before] for one in joined):
                    joined.append(before)
            chosen = joined
        parents[name] = tuple(draw(st.permutations(chosen)))
    names = draw(st.permutations(order))
    visible, tied = [name for name in names if draw(st.booleans())] or [names[0]], []
    if ties:
        shapes = {name: tuple(sizes[each] for each in (*parents[name], name)) for name in order}
        alike = [
            [name for name in order if shapes[name] == shape]
            for shape in sorted({*shapes.values()})
        ]
        alike = [draw(st.permutations(group)) for group in alike if len(group) > 1]
        tied = [group for group in alike if draw(st.integers(0, 3))]
    a, b = draw(st.floats(0.05, 20)), draw(st.floats(0.05, 5))
    prior = None
    if priors and draw(st.booleans()):
        rng = np.random.default_rng(draw(st.integers(0, 2**32)))
        later = {name for group in tied for name in group[1:]}
        prior = {
            name: rng.gamma(2.0, size=[sizes[each] for each in (*parents[name], name)])
            for name in names
            if name not in later
        }
    parents = {name: parents[name] for name in names}
    return Model(parents, sizes, visible, a, b, prior=prior, tied=tied)


def random_tokens(model, n_tokens, seed):
    """(n_tokens, n_indices), values of all indices, some of them often the same."""
    rng, sizes = np.random.default_rng(seed), [model.cardinalities[name] for name in model.indices]
    return (rng.beta(0.5, 1.0, size=(n_tokens, len(sizes))) * sizes).astype(np.int64)


def joint_counts(model, tokens):
    S = np.zeros([model.cardinalities[name] for name in model.indices], dtype=np.int64)
    np.add.at(S, tuple(np.asarray(tokens).reshape(-1, S.ndim).T), 1)
    return S


def urn_probability(model, S, value):
    """∏ (α_fa + S_fa) / (α_pa + S_pa) for one token more, from the dense tensor S.
    Tied tables count each of their uses, the earlier ones of this token among them.
    """

    def count(names, key):
        of = dict(zip(names, key, strict=True))
        return S[tuple(of.get(name, slice(None)) for name in model.indices)].sum()

    of_token = dict(zip(model.indices, value, strict=True))
    group_of, probability = {name: list(group) for group in model.tied for name in group}, 1.0
    for name in model.indices:
        group = group_of.get(name, [name])
        if name != min(group, key=model.indices.index):
            continue
        families = [(*model.parents[each], each) for each in group]
        sizes = [model.cardinalities[each] for each in families[0]]
        if model.prior is None:
            alpha = np.full(sizes, len(group) * model.a / prod(sizes))
        else:
            alpha = np.asarray(model.prior[group[0]])
        seen = Counter()
        for family in families:
            key = tuple(int(of_token[each]) for each in family)
            above = alpha[key] + sum(count(each, key) for each in families) + seen[key]
            parent = key[:-1]
            below = alpha[parent].sum() + sum(count(each[:-1], parent) for each in families)
            probability *= above / (below + seen["below", parent])
            seen[key] += 1
            seen["below", parent] += 1
    return probability


def powers(model):
    return {each.uses[0]: each.power for each in marginals_of(model)}


def names_of(words):
    return {tuple(key.split()): power for key, power in words.items()}


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (Model.nmf(4, 3, 2), {"k i": 1, "k j": 1, "k": -1, "": -1}),
        (Model.cp((2, 3, 4, 5), 3), {"r i1": 1, "r i2": 1, "r i3": 1, "r i4": 1, "r": -3, "": -1}),
        (
            Model.tucker((3, 4, 5), (2, 3, 2)),
            {"k1 k2 k3": 1, "k1 i1": 1, "k2 i2": 1, "k3 i3": 1}
            | {"k1": -1, "k2": -1, "k3": -1, "": -1},
        ),
        (
            Model.pachinko(5, 4, (2, 3)),
            {"doc k1": 1, "k1 k2": 1, "k2 word": 1, "k1": -1, "k2": -1, "": -1},
        ),
        (
            Model.hidden_markov(3, 2, 4),
            {"h1 h2": 1, "h2 h3": 1, "h1 x1": 1, "h2 x2": 1, "h3 x3": 1}
            | {"h1": -1, "h2": -2, "h3": -1, "": -1},
        ),
        (Model.complete((2, 3)), {"i1 i2": 1, "": -1}),
        # k and j are joined, and i is apart from j given k and r
        (Model.sum_conditioned(2, 3, 2, 4), {"j k r": 1, "k r i": 1, "k r": -1, "": -1}),
    ],
    ids=["nmf", "cp", "tucker", "chain", "hidden Markov", "complete", "sum conditioned"],
)
def test_decomposable_graphs_leave_cliques_over_separators(model, expected):
    assert powers(model) == names_of(expected)


def test_which_cliques_and_families_are_left():
    model = Model.mixed_membership(4, 2)
    expected = {"i1 k1": 1, "i2 k2": 1, "k1 k2 s": 1, "k1 k2": -1, "": -2}
    assert powers(model) == names_of(expected)
    model = Model({"x": (), "y": (), "z": ("y", "x")}, {"x": 2, "y": 3, "z": 4}, ("z",))
    # axes are in the order of the indices, whatever the order of the parents is
    assert powers(model) == names_of({"x": 1, "y": 1, "x y z": 1, "x y": -1, "": -2})
    model = Model.tucker((3, 4), (2, 5), a=3.0)
    alpha = {each.uses[0]: each.alpha for each in marginals_of(model)}
    assert alpha["k1", "k2"] == pytest.approx(3.0 / 10, rel=1e-15)
    assert alpha["k2", "i2"] == pytest.approx(3.0 / 20, rel=1e-15)
    alpha = {each.uses[0]: each.alpha for each in marginals_of(Model.nmf(4, 3, 2, a=6.0))}
    expected = {("k", "i"): 0.75, ("k", "j"): 1.0, ("k",): 3.0, (): 6.0}
    assert alpha == pytest.approx(expected, rel=1e-15)


@settings(max_examples=40, deadline=None)
@given(graphs(perfect=True))
def test_any_graph_without_v_structures_leaves_cliques_over_separators(model):
    skeleton = nx.Graph()
    skeleton.add_nodes_from(model.indices)
    for name, of in model.parents.items():
        assert all(p in model.parents[q] or q in model.parents[p] for p, q in combinations(of, 2))
        skeleton.add_edges_from((each, name) for each in of)
    cliques, overlaps = [frozenset(clique) for clique in nx.find_cliques(skeleton)], nx.Graph()
    overlaps.add_nodes_from(range(len(cliques)))
    for m, n in combinations(range(len(cliques)), 2):
        overlaps.add_edge(m, n, weight=len(cliques[m] & cliques[n]))
    expected = Counter(cliques)
    for m, n in nx.maximum_spanning_tree(overlaps).edges:
        expected[cliques[m] & cliques[n]] -= 1
    expected[frozenset()] -= 1  # S₊ itself
    found = {frozenset(names): power for names, power in powers(model).items()}
    assert found == {names: power for names, power in expected.items() if power}


def test_when_given_tables_cancel():
    alpha, eta = [0.2, 0.3], [0.5, 1.0, 1.5, 0.1]
    model = Model.lda(3, 4, 2, alpha, eta)
    of = {each.uses[0]: each for each in marginals_of(model)}
    expected = {"doc topic": 1, "topic word": 1, "topic": -1, "": -1}
    assert {names: each.power for names, each in of.items()} == names_of(expected)
    assert_allclose(of["topic",].alpha, [3.1, 3.1], rtol=1e-15)
    assert of[()].alpha == pytest.approx(1.5, rel=1e-15)
    other = Model.lda(3, 4, 2, alpha, eta, a=7.0)
    found = [(each.uses[0], each.power) for each in marginals_of(other)]
    expected = [(("doc",), 1), ((), -1), (("doc", "topic"), 1), (("doc",), -1)]
    assert found == [*expected, (("topic", "word"), 1), (("topic",), -1)]
    prior = {"k": [1.0, 1.0], "i": [[0.5, 0.5], [0.5, 0.501]]}
    model = Model({"k": (), "i": ("k",)}, {"k": 2, "i": 2}, ("i",), prior=prior)
    assert sorted(each.power for each in marginals_of(model) if each.uses == (("k",),)) == [-1, 1]


def test_tied_tables_are_counted_by_each_use():
    model = Model.symmetric_nmf(3, 2, a=4.0)
    found = [(each.uses, each.power, each.alpha) for each in marginals_of(model)]
    expected = [((("k",),), 1, 2.0), (((),), -1, 4.0)]
    expected += [((("k", "i"), ("k", "j")), 1, 2 * 4.0 / 6), ((("k",), ("k",)), -1, 2 * 4.0 / 2)]
    assert found == expected
    table = tables_of(model, CellCounts([[0, 0], [1, 2]], [1, 1], (3, 3)))[2]
    assert (table.n_uses, table.n_rows, table.n_columns) == (2, 3, 2)
    assert table.row_values.ravel()[table.row_of].tolist() == [[0, 1], [0, 2]]


def test_rows_are_those_that_occur_in_a_huge_tensor():
    model = Model.nmf(10**9, 10**12, 3)
    observed = CellCounts([[5, 7], [5, 10**11], [10**8, 7]], [1, 2, 3], model.shape)
    rows = {each.marginal.uses[0]: each for each in tables_of(model, observed)}
    sizes = {names: (each.n_rows, each.n_columns) for names, each in rows.items()}
    assert sizes == {("k", "i"): (2, 3), ("k", "j"): (2, 3), ("k",): (1, 3), (): (1, 1)}
    assert rows["k", "i"].row_values.ravel().tolist() == [5, 10**8]
    assert rows["k", "j"].row_of.tolist() == [[0, 1, 0]]
    assert rows[()].is_constant
    assert not rows["k",].is_constant


@settings(max_examples=40, deadline=None)
@given(graphs(ties=True), st.integers(0, 12), st.integers(0, 2**32), st.floats(0, 0.5))
def test_rows_are_the_distinct_observed_values(model, n_tokens, seed, share_missing):
    tokens = random_tokens(model, n_tokens, seed)
    seen = tokens[:, [model.indices.index(name) for name in model.visible]]
    absent = np.random.default_rng(seed).random(seen.shape) < share_missing
    observed = CellCounts(np.where(absent, -1, seen), np.ones(n_tokens), model.shape)
    is_known = (observed.cells >= 0).all(axis=0)
    never_missing = {name for n, name in enumerate(model.visible) if is_known[n]}
    assert inner_indices(model, observed) == set(model.indices) - never_missing
    for table in tables_of(model, observed):
        uses, axes = table.marginal.uses, range(len(table.marginal.sizes))
        outer = [axis for axis in axes if all(use[axis] in never_missing for use in uses)]
        assert table.inner_axes == tuple(axis for axis in axes if axis not in outer)
        assert table.n_columns == prod(table.marginal.sizes[axis] for axis in table.inner_axes)
        at = [[model.visible.index(use[axis]) for axis in outer] for use in uses]
        distinct = {tuple(cell[columns]) for cell in observed.cells for columns in at}
        assert sorted(distinct) == [tuple(row) for row in table.row_values.tolist()]
        for u, columns in enumerate(at):
            assert_array_equal(table.row_values[table.row_of[u]], observed.cells[:, columns])


def places(table, model, observed, value):
    """Row and column that a token counts in, for each use."""
    of = dict(zip(model.indices, value, strict=True))
    (c,) = np.flatnonzero((observed.cells == [of[name] for name in model.visible]).all(axis=1))
    found = []
    for u, use in enumerate(table.marginal.uses):
        column = table.offset_of[u, c]
        for axis, stride in zip(table.inner_axes, table.strides, strict=True):
            if use[axis] in model.hidden:
                column += stride * of[use[axis]]
        found.append((table.row_of[u, c], column))
    return found


@settings(max_examples=40, deadline=None)
@given(
    st.one_of(graphs(), graphs(ties=True), graphs(ties=True, priors=True)),
    st.integers(1, 12),
    st.integers(0, 2**32),
)
def test_product_over_tables_is_the_probability_of_a_token(model, n_tokens, seed):
    tokens = random_tokens(model, n_tokens, seed)
    S, visible = joint_counts(model, tokens), [model.indices.index(name) for name in model.visible]
    observed = CellCounts(tokens[:, visible], np.ones(n_tokens), model.shape)
    tables = tables_of(model, observed)
    seen_cells = {tuple(cell) for cell in observed.cells.tolist()}

    counts = [np.zeros((table.n_rows, table.n_columns), dtype=int) for table in tables]
    for token in tokens.tolist():
        for table, count in zip(tables, counts, strict=True):
            for place in places(table, model, observed, token):
                count[place] += 1
    for value in np.ndindex(S.shape):
        if tuple(value[n] for n in visible) not in seen_cells:
            continue
        product = 1.0
        for table, count in zip(tables, counts, strict=True):
            alpha, seen = np.broadcast_to(table.alpha, count.shape), Counter()
            for place in places(table, model, observed, value):
                product *= (alpha[place] + count[place] + seen[place]) ** table.power
                seen[place] += 1
        assert product == pytest.approx(urn_probability(model, S, value), rel=1e-11)


def test_rising_factorials_and_mixed_radix():
    model, observed = Model.cp((2, 3), 2, a=1.7), CellCounts([[0, 1], [1, 2]], [2, 1], (2, 3))
    table = next(t for t in tables_of(model, observed) if t.marginal.uses == (("r",),))
    expected = -np.log([0.85, 1.85, 2.85, 0.85]).sum()
    assert table.log_rising(np.array([[3, 1]])) == pytest.approx(expected, rel=1e-14)
    assert table.log_rising(np.array([[0, 0]])) == 0.0
    prior = {"k": [1.0, 0.0], "i": [[1.0, 1.0], [0.0, 0.0]]}
    model = Model({"k": (), "i": ("k",)}, {"k": 2, "i": 2}, ("k", "i"), prior=prior)

    def log_probability(cell):
        tables = tables_of(model, CellCounts([cell], [1], (2, 2)))
        return sum(table.log_rising(np.ones((1, 1), dtype=int)) for table in tables)

    assert log_probability([0, 1]) == pytest.approx(np.log(0.5), rel=1e-14)
    assert log_probability([1, 0]) == -np.inf
    assert (mixed_radix((2, 3, 4)), mixed_radix(())) == (((12, 4, 1), 24), ((), 1))
