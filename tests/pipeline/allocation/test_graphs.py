import numpy as np
import pytest

from models import AllocationModel, CellCounts
from pipeline.allocation.candidates import (
    candidates_of,
    check_candidates,
    expected_seconds,
    parse_ranks,
    parse_sizes,
    warn_of_long_work,
)
from pipeline.allocation.count_table import CountTable, axis_names
from pipeline.allocation.graphs import KINDS, Prior, parse_graphs, prepared
from pipeline.errors import UsageError
from pipeline.settings import AllocateSettings

READY_MADE = {
    "nmf": ((3, 4), "k", AllocationModel.nmf(3, 4, 2)),
    "symmetric-nmf": ((4, 4), "k", AllocationModel.symmetric_nmf(4, 2)),
    "cp": ((3, 4, 2), "r", AllocationModel.cp((3, 4, 2), 2)),
    "complete": ((3, 4, 2), "", AllocationModel.complete((3, 4, 2))),
    "tucker": ((3, 4, 2), "k1,k2,k3", AllocationModel.tucker((3, 4, 2), (2, 2, 2))),
}


def table_of(*shape, axes=(), layout="array", count=1):
    counts = CellCounts(np.zeros((1, len(shape))), np.array([count]), shape)
    labels = tuple(tuple(map(str, range(size))) for size in shape)
    return CountTable("t.npy", layout, tuple(axes) or axis_names(len(shape)), labels, counts)


def candidates(table, text, **settings):
    asked = AllocateSettings(graph=text, **settings)  # type: ignore[arg-type]
    graphs = parse_graphs(text)
    table = prepared(table, graphs, chosen=False)
    return candidates_of(table, graphs, asked, Prior(asked.a, asked.b, asked.alpha, asked.eta))


def same(one, other):
    def parts(model):
        prior = {name: each.tolist() for name, each in (model.prior or {}).items()}
        return (
            *(dict(model.parents), dict(model.cardinalities), model.visible, model.tied),
            *(model.a, model.b, prior),
        )

    return parts(one) == parts(other)


@pytest.mark.parametrize("name", READY_MADE)
def test_ready_made_graphs_are_those_of_the_library(name):
    shape, vary, model = READY_MADE[name]
    (found,) = candidates(table_of(*shape), name, ranks="2", vary=vary)
    assert same(found.model, model)
    assert (found.graph, found.rank) == (name, 2 if vary else None)


def test_names_are_those_of_the_axes():
    def one(text, *shape, axes, **settings):
        (found,) = candidates(table_of(*shape, axes=axes.split()), text, ranks="2", **settings)
        assert found.model.visible == tuple(axes.split())
        assert found.model.shape == shape
        return found.model

    nmf = one("nmf", 3, 4, axes="row column")
    assert dict(nmf.parents) == {"k": (), "row": ("k",), "column": ("k",)}
    lda = one("lda", 3, 4, axes="text term", alpha=0.5, eta=0.25)
    assert dict(lda.parents) == {"text": (), "topic": ("text",), "term": ("topic",)}
    assert (lda.a, set(lda.prior["term"].ravel())) == (3.0, {0.25})  # type: ignore[index]
    assert one("lda", 3, 4, axes="text term", a=7.0).a == 7.0
    pachinko = one("pachinko", 3, 4, axes="text term", sizes="k1=5")
    assert dict(pachinko.parents) == {"text": (), "k1": ("text",), "k2": ("k1",), "term": ("k2",)}
    assert dict(pachinko.cardinalities) == {"text": 3, "k1": 5, "k2": 2, "term": 4}
    block = one("mixed-membership", 3, 3, 4, axes="from to how")
    assert block.parents["how"] == ("k1", "k2")
    assert (block.parents["k2"], block.cardinalities["k1"]) == (("to",), 2)
    summed = one("sum-conditioned", 3, 4, 5, axes="film stars user")
    assert summed.parents["film"] == ("k", "stars")
    assert summed.cardinalities["user"] == 5
    assert one("hidden-markov-tied", 3, 3, 3, axes="a b c").tied == (("h2", "h3"), ("a", "b", "c"))
    assert one("hidden-markov", 3, 3, 3, axes="a b c").tied == ()
    assert one("symmetric-nmf", 3, 3, axes="a b").tied == (("a", "b"),)


def test_every_ready_made_graph_can_be_made():
    for name, kind in KINDS.items():
        table = table_of(*[3] * kind.n_axes[0])
        vary = ",".join(kind.sizes[: kind.n_axes[0]])
        for found in candidates(table, name, ranks="1:2", vary=vary):
            assert found.model.shape == table.counts.shape


@pytest.mark.parametrize("text", ["k -> i, k -> j", "i <- k -> j", "i←k→j", "k->i,k->j , j"])
def test_arrows(text):
    first, second = candidates(table_of(3, 4), text, ranks="2,5", a=2.0, b=0.5)
    assert {n: set(of) for n, of in first.model.parents.items()} == {
        "k": set(),
        "i": {"k"},
        "j": {"k"},
    }
    assert (first.model.visible, first.model.shape) == (("i", "j"), (3, 4))
    assert [each.model.cardinalities["k"] for each in (first, second)] == [2, 5]
    assert (first.model.a, first.model.b, first.rank, dict(first.sizes)) == (2.0, 0.5, 2, {"k": 2})


def test_arrows_over_columns_of_records():
    table = table_of(3, 4, 5, axes=("whole weight", "b", "c"), layout="records")
    (found,) = candidates(table, "r -> c, r -> whole weight", ranks="2")
    assert found.model.visible == ("whole weight", "c")
    assert found.model.shape == (3, 5)
    with pytest.raises(UsageError, match=r"'r -> c' does not reach 'b' of t.npy"):
        candidates(table, "r -> b, r -> c; r -> c", ranks="2")
    with pytest.raises(UsageError, match=r"does not reach 'whole weight', 'b'.* choose columns"):
        candidates(table, "r -> c; cp", ranks="2")
    with pytest.raises(UsageError, match=r"--graph names no column of t\.npy"):
        candidates(table, "r -> d", ranks="2")


def test_several_graphs_with_their_ranks():
    found = candidates(table_of(3, 4), "nmf; complete; i, j; k -> i, q -> k, q -> j", sizes="q=3")
    assert [(each.graph, each.rank) for each in found] == [
        *(("nmf", rank) for rank in range(1, 11)),
        *(("complete", None), ("i, j", None)),
        *(("k -> i, q -> k, q -> j", rank) for rank in range(1, 11)),
    ]
    assert dict(found[-1].sizes) == {"k": 10, "q": 3}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("nfm", "there is no graph 'nfm': use one of nmf, "),
        ("i -> k -> i, k -> j", "the graph has a cycle, "),
        ("i -> i, k -> j", "the graph has a cycle, i → i"),
        ("k -> i", "does not reach 'j' of t.npy, whose counts are over i, j: add an arrow"),
        ("k -> , k -> j", "a name is missing in 'k ->'"),
        ("k -> i, k -> j,", "a name is missing in ''"),
        ("k -> i, k -> j, i <- k", "k -> i is in .* twice"),
        ("nmf;", "a graph is missing before or after a semicolon"),
        ("nmf; nmf", "names 'nmf' twice"),
        ("mixed-membership", "is of 3 axes, t.npy has 2: i, j; choose another graph"),
        ("symmetric-nmf", "graph symmetric-nmf needs axes of the same values"),
        ("k -> i, q -> j", "has hidden 'k', 'q', as t.npy counts over i, j: how many values"),
    ],
)
def test_graphs_that_are_none(text, complaint):
    with pytest.raises(UsageError, match=complaint):
        candidates(table_of(3, 4), text)


def test_a_hidden_index_called_as_an_axis():
    with pytest.raises(
        UsageError, match=r"'k' is a hidden index of graph nmf and an axis of t\.npy"
    ):
        candidates(table_of(3, 4, axes=("k", "l")), "nmf")


def test_ranks():
    assert parse_ranks("1:4") == [1, 2, 3, 4]
    assert parse_ranks(" 10, 1:3 ,5") == [1, 2, 3, 5, 10]
    for text, complaint in {
        "": "numbers and ranges",
        "1:2:3": "numbers and ranges",
        "-1": "numbers and ranges",
        "1.5": "numbers and ranges",
        "0:3": "go up from 1",
        "5:2": "go up from 1",
        "1:3,2": "names 2 twice",
        "1:1000000000000": "more than 1,000 numbers",
    }.items():
        with pytest.raises(UsageError, match=f"--ranks.*{complaint}"):
            parse_ranks(text)


def test_sizes():
    assert parse_sizes(" k1 = 3,whole weight=2 ,") == {"k1": 3, "whole weight": 2}
    for text in ("k", "k=", "k=0", "=3", "k=1.5", "k=-1"):
        with pytest.raises(UsageError, match="--sizes must be as k=3"):
            parse_sizes(text)
    with pytest.raises(UsageError, match="--sizes names 'k' twice"):
        parse_sizes("k=1,k=2")


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({}, "has hidden 'k1', 'k2', .* how many values has 'k1'"),
        ({"vary": "k1"}, "how many values has 'k2'"),
        ({"vary": "k1", "sizes": "k1=2"}, "'k1' is in --vary and in --sizes"),
        ({"vary": "q"}, "--vary: nothing hidden is called 'q', only k1, k2"),
        ({"sizes": "i=3"}, "--sizes: nothing hidden is called 'i', only k1, k2"),
    ],
)
def test_sizes_that_are_not_said(settings, complaint):
    with pytest.raises(UsageError, match=complaint):
        candidates(table_of(3, 4), "tucker", **settings)


def test_what_varies():
    def sizes(**settings):
        found = candidates(table_of(3, 4), "tucker", ranks="2,3", **settings)
        return [dict(each.sizes) for each in found]

    assert sizes(vary="k1,k2") == [{"k1": 2, "k2": 2}, {"k1": 3, "k2": 3}]
    assert sizes(sizes="k2=7") == [{"k1": 2, "k2": 7}, {"k1": 3, "k2": 7}]
    assert sizes(vary="k2", sizes="k1=7") == [{"k1": 7, "k2": 2}, {"k1": 7, "k2": 3}]
    assert sizes(sizes="k1=7,k2=8") == [{"k1": 7, "k2": 8}]


@pytest.mark.parametrize(
    ("table", "text", "settings", "complaint"),
    [
        (
            *(table_of(9, 9), "nmf", {"method": "smc", "particles": 10**8}),
            "nmf, rank 1: 100,000,000 particles",
        ),
        (table_of(*[99] * 5), "complete", {"method": "exact"}, "tables as factors take .* GiB"),
        (
            *(table_of(9, 9, count=10**12), "nmf", {}),
            "1,000,000,000,000 tokens, each of which is sampled",
        ),
        (
            *(table_of(9, 9, 9), "tucker", {"vary": "k1,k2,k3", "ranks": "2,600", "method": "vb"}),
            "tucker, rank 600: the hidden indices k1, k2, k3 must be summed over together",
        ),
        (
            table_of(*[2] * 12),
            "hidden-markov",
            {"ranks": "4", "method": "vb", "factors": "icm"},
            "4 × 4 × .* joint values of h1, .* --factors dual-em and icm can go over",
        ),
    ],
)
def test_what_does_not_fit_is_said_before_anything_is_scored(table, text, settings, complaint):
    found = candidates(table, text, **settings)
    with pytest.raises(UsageError, match=complaint):
        check_candidates(found, table, AllocateSettings(graph=text, **settings))  # type: ignore[arg-type]


def test_what_fits():
    table = table_of(9, 9, 9, count=3)
    check_candidates(candidates(table, "cp; complete"), table, AllocateSettings())
    large, settings = table_of(*[99] * 5), AllocateSettings(factors="none", method="exact")
    check_candidates(candidates(large, "complete"), large, settings)


def test_long_work_is_said_beforehand(caplog):
    table = table_of(9, 9, count=10**5)
    found = candidates(table, "nmf", ranks="2,3")

    def said(**settings):
        caplog.clear()
        asked = AllocateSettings(threads=1, **{"method": "smc"} | settings)  # type: ignore[arg-type]
        warn_of_long_work(found, table, asked)
        return caplog.text

    assert "scoring 2 models will take about" in said()
    assert "fewer --ranks or --repeats, --moves, or --method vb would be quicker" in said()
    assert "days" in said(moves=10**5)
    assert said(moves=0, particles=100) == said(method="vb") == said(method="exact") == ""
    one, thirty = (
        expected_seconds(found[0], table, AllocateSettings(threads=1, method="smc", moves=moves))
        for moves in (0, 29)
    )
    assert thirty == pytest.approx(30 * one)
