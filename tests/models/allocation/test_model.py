from dataclasses import FrozenInstanceError
from types import MappingProxyType

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

from models.allocation.model import AllocationModel as Model
from tests.models.allocation.test_tables import graphs

CHAIN = {"i": (), "k": ("i",), "j": ("k",)}
SIZES = {"i": 2, "k": 3, "j": 4}
PRIOR = {"i": np.ones(2), "k": np.ones((2, 3)), "j": np.ones((3, 4))}
TWINS = {"h": (), "x": ("h",), "y": ("h",)}


def chain(parents=CHAIN, cardinalities=SIZES, visible=("i", "j"), **settings):
    return Model(parents, cardinalities, visible, **settings)


def test_what_it_says_of_itself_and_of_its_indices():
    model = chain(visible=["j", "i"], a=6, b=np.float32(0.5))
    assert (model.indices, model.hidden, model.visible) == (("i", "k", "j"), ("k",), ("j", "i"))
    assert (model.shape, model.family("j"), model.table_shape("j")) == ((4, 2), ("k", "j"), (3, 4))
    assert (model.table_shape("i"), model.a, model.b) == ((2,), 6.0, 0.5)
    assert model.table_groups() == [("i",), ("k",), ("j",)]
    assert set(model.graph().edges) == {("i", "k"), ("k", "j")}
    complete = model.fully_visible()
    assert (complete.visible, complete.hidden, complete.shape) == (("i", "k", "j"), (), (2, 3, 4))
    assert (complete.a, complete.b) == (6.0, 0.5)
    assert chain({"j": ("k",), "k": ("i",), "i": ()}).indices == ("j", "k", "i")


def test_pseudo_counts_of_flat_priors_and_of_tied_tables():
    model = chain(a=6.0)
    for name in model.indices:
        alpha = model.pseudo_counts(name)
        assert alpha.shape == model.table_shape(name)
        assert (alpha.sum(), np.ptp(alpha)) == (pytest.approx(6.0, rel=1e-15), 0)
        assert alpha.flat[0] == model.flat_pseudo_count(name)
    model = Model(TWINS, {"h": 3, "x": 2, "y": 2}, "xy", 6.0, tied=["yx"])
    assert model.table_groups() == [("h",), ("y", "x")]
    for name in "xy":
        assert_allclose(model.pseudo_counts(name), np.full((3, 2), 2.0), rtol=1e-15)


def test_a_prior_is_a_copy_and_of_all_that_are_tied():
    prior = {"h": np.array([1.0, 2.0]), "x": np.array([[1.0, 2], [3, 4]])}
    model = Model(TWINS, {"h": 2, "x": 2, "y": 2}, "xy", tied=["xy"], prior=prior)
    prior["x"][0, 0] = 9.0
    for name in "xy":
        assert model.pseudo_counts(name).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    with pytest.raises(ValueError, match="read-only"):
        model.pseudo_counts("x")[0, 0] = 9.0


def test_what_cannot_be_changed():
    parents, sizes = dict(CHAIN), dict(SIZES)
    model = chain(parents, sizes)
    parents["i"], sizes["i"] = ("j",), 9
    assert (model.parents["i"], model.cardinalities["i"]) == ((), 2)
    with pytest.raises(FrozenInstanceError):
        model.a = 2.0
    for field in (model.parents, model.cardinalities):
        assert isinstance(field, MappingProxyType)
    model = chain(a=2.0, b=3.0).with_cardinality("k", 7)
    assert (model.cardinalities, model.a, model.b) == ({"i": 2, "k": 7, "j": 4}, 2.0, 3.0)
    with pytest.raises(ValueError, match="no index 'z': use one of i, k, j"):
        model.with_cardinality("z", 2)
    with pytest.raises(ValueError, match="'k' must be at least 1"):
        model.with_cardinality("k", 0)
    with pytest.raises(ValueError, match="prior was given for other cardinalities"):
        Model.lda(2, 3, 2, 0.1, 0.1).with_cardinality("topic", 3)


def test_graphs_and_names_that_are_refused():
    for parents, cardinalities, visible, message in (
        ({}, {}, (), "parents must name at least one index"),
        ({"i": ("j",), "j": ("i",)}, {"i": 2, "j": 2}, "i", "cycle, [ij] → [ij] → [ij]"),
        ({"i": ("i",)}, {"i": 2}, "i", "cycle, i → i"),
        ({"": ()}, {"": 2}, ("",), "named by a word, found an empty one"),
        ({**CHAIN, "j": ("z",)}, SIZES, "ij", "parents of 'j': there is no index 'z'"),
        ({**CHAIN, "j": ("k", "k")}, SIZES, "ij", "parents of 'j' must name each index once"),
        (CHAIN, SIZES, ("i", "z"), "visible: there is no index 'z' among i, k, j"),
        (CHAIN, SIZES, ("i", "i"), "visible must name each index once, found i, i"),
        (CHAIN, SIZES, (), "visible must name at least one index"),
        (CHAIN, {**SIZES, "z": 2}, "ij", "cardinalities: there is no index 'z'"),
        (CHAIN, {"i": 2, "j": 4}, "ij", "cardinalities: how many values does 'k' have"),
        (CHAIN, {**SIZES, "k": 0}, "ij", "cardinality of 'k' must be at least 1, found 0"),
        (CHAIN, {**SIZES, "k": -3}, "ij", "cardinality of 'k' must be at least 1, found -3"),
    ):
        with pytest.raises(ValueError, match=message):
            Model(parents, cardinalities, visible)
    with pytest.raises(TypeError, match=r"parents of 'i' must be a tuple of names: \('kk',\)"):
        Model({"kk": (), "i": "kk"}, {"kk": 2, "i": 2}, ("i",))


def test_a_cardinality_is_a_whole_number():
    for size in (2.5, 2.0, True, "2", None, np.True_):
        with pytest.raises(TypeError, match="cardinality of 'k' must be a whole number, found"):
            chain(cardinalities={**SIZES, "k": size})
    assert chain(cardinalities={**SIZES, "k": np.int32(2)}).cardinalities["k"] == 2


def test_priors_and_ties_that_are_refused():
    assert chain(b=None).b is None
    with pytest.raises(TypeError, match=r"^a must be a number, found None"):
        chain(a=None)
    for prior, message in (
        ({}, "prior must have an array for each of i, k, j, found none"),
        ({"i": np.ones(2)}, "prior must have an array for each of i, k, j, found i"),
        ({**PRIOR, "z": np.ones(2)}, "found i, k, j, z"),
        ({**PRIOR, "i": np.ones(3)}, r"prior of 'i' must have the shape \(2,\).*found \(3,\)"),
        ({**PRIOR, "k": np.ones((3, 2))}, r"'k' .* \(2, 3\) of its table \(i, k\), found \(3, 2\)"),
        ({**PRIOR, "k": 1.0}, r"prior of 'k' must have the shape .*found \(\)"),
        ({**PRIOR, "i": [1.0, -0.5]}, "prior of 'i' must be of finite, non-negative"),
        ({**PRIOR, "i": [1.0, np.nan]}, "prior of 'i' must be of finite"),
        ({**PRIOR, "i": [1.0, np.inf]}, "prior of 'i' must be of finite"),
        ({**PRIOR, "i": [0.0, 0.0]}, "prior of 'i' must .*not all zero"),
    ):
        with pytest.raises(ValueError, match=message):
            chain(prior=prior)
    parents = {"h": (), "i": ("h",), "j": ("h",)}
    for tied, message in (
        ([("i", "z")], "tied: there is no index 'z'"),
        ([("i", "i")], "tied: an index can be in one group only, and there once"),
        ([("h", "i"), ("i", "j")], "tied: an index can be in one group only"),
        ([("i",)], "tied: a group needs at least two indices, found"),
        ([()], "tied: a group needs at least two indices"),
        ([("i", "j")], r"same shape, found \(2, 3\) of 'i', \(2, 4\) of 'j'"),
        ([("h", "i")], r"same shape, found \(2,\) of 'h', \(2, 3\) of 'i'"),
    ):
        with pytest.raises(ValueError, match=message):
            Model(parents, {"h": 2, "i": 3, "j": 4}, "ij", tied=tied)
    prior = {"h": [1.0, 1.0], "i": np.ones((2, 3)), "j": np.ones((2, 3))}
    with pytest.raises(ValueError, match="an array for each of h, i, found h, i, j"):
        Model(parents, {"h": 2, "i": 3, "j": 3}, "ij", tied=["ij"], prior=prior)


def nodes(model, kind):
    tree = model.junction_tree()
    assert nx.is_forest(tree)
    return {node for node, type_ in tree.nodes(data="type") if type_ == kind}


@pytest.mark.parametrize(
    ("model", "cliques", "separators"),
    [
        (Model.nmf(2, 2, 2), ["ik", "jk"], ["k"]),
        (chain(), ["ik", "jk"], ["k"]),
        (Model({"x": (), "y": (), "z": ("x", "y")}, dict.fromkeys("xyz", 2), "z"), ["xyz"], []),
        (Model({"x": (), "y": ()}, {"x": 2, "y": 2}, "xy"), ["x", "y"], []),
        (Model({"x": ()}, {"x": 2}, "x"), ["x"], []),
    ],
    ids=["nmf", "chain", "v-structure", "independent", "one"],
)
def test_junction_trees(model, cliques, separators):
    assert {"".join(node) for node in nodes(model, "clique")} == set(cliques)
    assert {"".join(node) for node in nodes(model, "sepset")} == set(separators)


def test_junction_trees_of_standard_graphs():
    blocks = Model.mixed_membership(3, 2)
    assert nodes(blocks, "clique") == {("i1", "k1"), ("i2", "k2"), ("k1", "k2", "s")}
    assert nodes(blocks, "sepset") == {("k1",), ("k2",)}
    tucker = Model.tucker((2, 2, 2), (2, 2, 2))
    core = ("k1", "k2", "k3")
    assert nodes(tucker, "clique") == {core, ("i1", "k1"), ("i2", "k2"), ("i3", "k3")}
    assert nodes(tucker, "sepset") == {("k1",), ("k2",), ("k3",)}


@settings(max_examples=25, deadline=None)
@given(graphs())
def test_any_junction_tree_holds_families_and_keeps_each_index_together(model):
    cliques = [set(node) for node in nodes(model, "clique")]
    for name in model.indices:
        assert any({*model.family(name)} <= clique for clique in cliques)
        tree = model.junction_tree()
        assert nx.is_connected(tree.subgraph([node for node in tree if name in node]))
