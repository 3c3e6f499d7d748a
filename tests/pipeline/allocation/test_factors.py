import itertools
import math
from dataclasses import replace
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from scipy import sparse

from corpora import Corpus
from evaluation.allocation.marginal_estimate import MarginalEstimate, ParticlePath, TimedMarginal
from models import AllocationModel, LDATopics, ModelFormatError, load_model
from pipeline.allocation import allocate as command
from pipeline.allocation.factors import Factors, read_factors
from pipeline.allocation.scores import (
    difference,
    is_significant,
    log_odds,
    recommend,
    rows_of,
    warnings_of,
)
from pipeline.allocation.table import format_rows, format_strongest, marginal, strongest
from tests.pipeline.support import call, flip

METHODS = ("vb", "em", "dual-em", "icm", "smc", "annealed")
QUICK = ("--particles", 50, "--moves", 2, "--sweeps", 50, "--repeats", 2, "--threads", 1)


@pytest.fixture(autouse=True)
def no_pictures():
    with mock.patch.object(command, "write_figures", return_value=[]):
        yield


@pytest.fixture
def blocks(tmp_path):
    X = np.zeros((8, 6), dtype=np.int32)
    X[:4, :3], X[4:, 3:] = 5, 3
    words = ("guitar", "piano", "violin", "atom", "electron", "proton")
    Corpus(sparse.csr_array(X), words, tuple("abcdefgh")).save(tmp_path / "corpus")
    np.save(tmp_path / "blocks.npy", X)
    return tmp_path


def allocated(*argv, cwd):
    return call("allocate", *QUICK, *argv, "--json", cwd=cwd).succeeded().result


@pytest.mark.parametrize("method", METHODS)
def test_factors_as_a_file(blocks, method):
    argv = ("corpus", "--graph", "nmf", "--ranks", "2", "--factors", method, "--method", "vb")
    result = allocated(*argv, cwd=blocks)
    factors = read_factors(blocks / "allocate" / "corpus" / "factors.npz")
    header = factors.header
    assert header["families"] == {"k": ["k"], "doc": ["k", "doc"], "word": ["k", "word"]}
    assert header["labels"]["word"][:2] == ["guitar", "piano"]
    assert header["labels"]["k"] == ["0", "1"]
    assert (header["graph"], header["rank"], header["method"]) == ("nmf", 2, method)
    assert result["factors"]["objective"] == header["objective"] == factors.objective_path[-1]
    for name, family in header["families"].items():
        shape = tuple(len(header["labels"][each]) for each in family)
        assert factors.tables[name].shape == factors.counts[name].shape == shape
        np.testing.assert_allclose(factors.tables[name].sum(axis=-1), 1.0)
        assert factors.counts[name].sum() == pytest.approx(96)
    assert (factors.counts["word"].sum(axis=0)).round(6).tolist() == [20, 20, 20, 12, 12, 12]
    # the file can be read without this package
    with np.load(blocks / "allocate" / "corpus" / "factors.npz", allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["tables/word"], factors.tables["word"])


@pytest.mark.parametrize("method", METHODS)
def test_two_blocks_are_found(blocks, method):
    argv = ("corpus", "--ranks", "2", "--factors", method, "--top", 3, "--method", "vb")
    more = ("--repeats", 10, "--particles", 1000)  # climbs may end where a block is torn in two
    (hidden,) = allocated(*argv, *more, cwd=blocks)["factors"]["strongest"]
    assert hidden["index"] == "k"
    first, second = hidden["values"]
    assert first["probability"] == pytest.approx(60 / 96, abs=0.05)
    words = [{each["label"] for each in value["top"]["word"]} for value in (first, second)]
    assert words == [{"guitar", "piano", "violin"}, {"atom", "electron", "proton"}]
    for value in (first, second):
        top = [each["probability"] for each in value["top"]["doc"]]
        assert top == sorted(top, reverse=True)
        assert len(top) == 3


def test_factors_of_all_models(blocks):
    argv = ("corpus", "--graph", "nmf; k -> doc, k -> word, word -> doc", "--ranks", "1,2")
    result = allocated(*argv, "--all-factors", "--method", "vb", cwd=blocks)
    names = ["nmf-1", "nmf-2", "graph2-1", "graph2-2"]
    files = [f"factors/{name}.npz" for name in names]
    assert result["files"][2:7] == ["factors.npz", *files]
    directory = blocks / "allocate" / "corpus"
    assert [read_factors(directory / name).header["rank"] for name in files] == [1, 2, 1, 2]
    best = names[
        [row["log_odds"] for row in result["rows"]].index(
            max(row["log_odds"] for row in result["rows"])
        )
    ]
    whole = (directory / "factors.npz").read_bytes()
    assert (directory / "factors" / f"{best}.npz").read_bytes() == whole


def test_damaged_factors(blocks):
    allocated("corpus", "--ranks", "2", "--method", "vb", cwd=blocks)
    path = blocks / "allocate" / "corpus" / "factors.npz"
    flip(path, path.stat().st_size // 2)
    with pytest.raises(ModelFormatError):
        read_factors(path)


@pytest.mark.parametrize("graph", ["lda", "nmf", "doc -> t -> word", "word -> t -> doc"])
def test_topics_of_the_graph_of_lda(blocks, graph):
    result = allocated("corpus", "--graph", graph, "--ranks", "2", "--method", "vb", cwd=blocks)
    path = blocks / "allocate" / "corpus" / "model.npz"
    assert "model.npz" in result["files"]
    saved = load_model(path)
    assert isinstance(saved.topics, LDATopics)
    assert saved.vocabulary[:2] == ("guitar", "piano")
    assert saved.topics.topic_word.shape == (2, 6)
    assert saved.prevalence is not None
    assert saved.prevalence.sum() == pytest.approx(1.0)
    if graph == "lda":
        np.testing.assert_allclose(saved.topics.alpha, 0.1)
    argv = ("evaluate", path, "--counts", "corpus", "--threads", 1, "--json")
    scored = call(*argv, cwd=blocks).succeeded()
    assert scored.result["perplexity"] < 4  # of six words, each document has three
    allocated("corpus", "--graph", "complete", "--method", "exact", cwd=blocks)
    assert not path.exists()


def test_which_axis_is_the_word_is_not_guessed(blocks):
    argv = ("blocks.npy", "--ranks", "2", "--method", "vb")
    assert "model.npz" not in allocated(*argv, "--graph", "nmf", cwd=blocks)["files"]
    assert "model.npz" in allocated(*argv, "--graph", "lda", cwd=blocks)["files"]
    named = allocated(*argv, "--graph", "nmf", "--axes", "doc,word", cwd=blocks)
    assert "model.npz" in named["files"]


def made_up(model):
    rng = np.random.default_rng(4)
    tables = {
        name: rng.dirichlet(np.ones(model.table_shape(name)[-1]), model.table_shape(name)[:-1])
        for name in model.indices
    }
    header = {
        "families": {name: list(model.family(name)) for name in model.indices},
        "visible": list(model.visible),
        "hidden": list(model.hidden),
        "labels": {n: [f"{n}{v}" for v in range(s)] for n, s in model.cardinalities.items()},
    }
    return Factors(header, tables, tables, np.zeros(1))


@pytest.mark.parametrize(
    "model",
    [
        AllocationModel.nmf(3, 4, 2),
        AllocationModel.pachinko(4, 3, (2, 3)),
        AllocationModel.mixed_membership(3, 2, 4),
        AllocationModel.tucker((2, 3, 2), (2, 2, 3)),
        AllocationModel.hidden_markov(3, 2, 3, tied=True),
    ],
)
def test_marginals_by_enumeration(model):
    factors = made_up(model)
    for one, other in itertools.permutations(model.indices, 2):
        wanted = np.zeros((model.cardinalities[one], model.cardinalities[other]))
        for values in itertools.product(*map(range, model.cardinalities.values())):
            of = dict(zip(model.indices, values, strict=True))
            cells = {n: tuple(of[each] for each in model.family(n)) for n in model.indices}
            wanted[of[one], of[other]] += math.prod(factors.tables[n][c] for n, c in cells.items())
        np.testing.assert_allclose(marginal(factors, (one, other)), wanted, rtol=1e-12)


def test_the_strongest_values_as_lines():
    rows = strongest(made_up(AllocationModel.nmf(3, 4, 2)), 2)
    assert [len(top) for value in rows[0]["values"] for top in value["top"].values()] == [2] * 4
    lines = format_strongest(rows).splitlines()
    assert len(lines) == 4
    assert lines[0].startswith(f"k {rows[0]['values'][0]['value']} ")
    assert lines[1].lstrip().startswith("j: j")
    assert format_strongest([]) == ""


def test_the_error_of_odds_is_that_of_simulated_estimates():
    rng = np.random.default_rng(5)
    marginals, errors = np.array([-100.0, -100.5, -103.0, -np.inf]), np.array([0.02, 0.05, 0.1, 0])
    covariance = np.diag(errors**2)
    odds, odds_errors = log_odds(marginals, covariance)
    assert np.exp(odds).sum() == pytest.approx(1.0)
    draws = rng.standard_normal((2000, 4))
    drawn = np.array([log_odds(marginals + errors * each, covariance)[0][:3] for each in draws])
    # of 2,000 draws the standard error of a standard deviation is 1.6 %; four of these
    np.testing.assert_allclose(drawn.std(axis=0), odds_errors[:3], rtol=0.064)
    assert odds[3] == -np.inf
    naive = errors[1]  # the control: not the error of the estimate alone
    assert abs(odds_errors[1] / naive - 1) > 0.2


def pooled_row(rank, repeats):
    repeats = np.array(repeats)
    level = float(np.logaddexp.reduce(repeats) - np.log(len(repeats)))
    error = float(np.exp(repeats - level).std(ddof=1) / np.sqrt(len(repeats)))
    return row(rank, level, error, sources=3.0, repeats=repeats.tolist())


def test_what_pooled_estimates_have_in_common_is_no_error_of_their_difference():
    common, rng = np.array([0.4, -0.3, 0.1, -0.2, 0.3]), np.random.default_rng(1)
    one, other = (pooled_row(n, -9.0 - n + common + 0.01 * rng.standard_normal(5)) for n in (1, 2))
    gap, error = difference(one, other)
    assert gap == pytest.approx(1.0, abs=0.03)
    assert error < 0.02 < one["standard_error"]
    assert difference(one, {**other, "graph": "cp"})[1] == pytest.approx(
        np.hypot(one["standard_error"], other["standard_error"])
    )
    two = pooled_row(3, [-9.0, -9.1])  # of two repeats nothing can be told
    assert not is_significant(pooled_row(4, [-8.2, -8.6]), two)
    assert is_significant(one, other)
    candidates = [SimpleNamespace(graph="nmf", rank=n, sizes={"k": n}) for n in (1, 2)]
    path = ParticlePath(np.arange(1, 3), np.full((5, 2), 50.0), np.full((5, 2), 3))
    scores = [
        TimedMarginal(
            replace(
                MarginalEstimate.of_repeats(np.array(each["repeats"]), "annealed", 9, 4, path),
                n_sources=each["sources"],
            ),
            1.0,
        )
        for each in (one, other)
    ]
    rows = rows_of(candidates, scores)
    assert [each["sources"] for each in rows] == [3.0, 3.0]
    # the odds are of the difference alone: p (1 - p) times its error, of the log-probability 1 - p
    assert rows[0]["log_odds_standard_error"] == pytest.approx(
        error * np.exp(rows[1]["log_odds"]), rel=1e-6
    )


def row(rank, value, error=0.1, **more):
    known = {"graph": "nmf", "rank": rank, "log_marginal": value, "standard_error": error}
    spread = {"spread": 30.0, "rough": (error or 0.0) > 0.5}
    return {
        **known,
        **spread,
        "effective_sample_size": 500.0,
        "modes_found": None,
        "sources": None,
        **more,
    }


@pytest.mark.parametrize(
    ("rows", "method", "sentence"),
    [
        ([row(1, -9.0)], "smc", "nmf, rank 1: the only one"),
        ([row(1, -9.0), row(2, -7.0), row(3, -8.0)], "smc", "nmf, rank 2: the most probable, 1.00"),
        ([row(1, -9.0), row(2, -7.0), row(3, -7.2)], "smc", "but not told apart from nmf, rank 3"),
        (
            [row(1, -90.0, 0.99), row(2, -7.0, 0.99), row(3, -8.0)],
            "smc",
            "less than 2 standard errors below, nor from nmf, rank 1, of rough estimates: more",
        ),
        (
            [row(1, -90.0, 0.99), row(2, -7.0), row(3, -8.0)],
            "smc",
            "1.00 ± 0.14 nats above nmf, rank 3; but not told apart from nmf, rank 1, of rough",
        ),
        (
            [row(rank, -90.0, 1.0) for rank in range(1, 8)] + [row(8, -7.0)],
            "smc",
            "from nmf, rank 1; nmf, rank 2; nmf, rank 3; nmf, rank 4; 3 more, of rough estimates",
        ),
        ([row(1, -9.0, None), row(2, -7.0, None)], "smc", "one run each has no error: give"),
        (
            [row(1, -9.0, 0.0), row(2, -7.0, 0.0), row(3, -8, 0.0)],
            "exact",
            "2: the most probable, 1",
        ),
        ([row(1, -7.0, 0.0), row(2, -7.0, 0.0)], "exact", "just as probable: nmf, rank 2"),
        ([row(1, -9.0, 0.0), row(2, -7.0, 0.0)], "vb", "rank 2: the highest lower bound, 2.00"),
        ([row(1, -9.0), row(2, -7.0)], "smc", "the largest rank tried: try larger ones too"),
        ([row(1, None, None)], "smc", "the counts are impossible under every model"),
        ([row(1, None, None), row(2, -7.0)], "smc", "rank 2: the only one that is possible"),
    ],
)
def test_recommendations(rows, method, sentence):
    values = [-math.inf if each["log_marginal"] is None else each["log_marginal"] for each in rows]
    assert sentence in recommend(rows, int(np.argmax(values)), method)


def test_what_is_significant():
    assert is_significant(row(1, -7.0), row(2, -7.29))
    assert not is_significant(row(1, -7.0), row(2, -7.28))
    assert not is_significant(row(1, -7.0, 0.0), row(2, -7.0 - 1e-12, 0.0))
    assert is_significant(row(1, -7.0, 1.0), row(2, -70.0))
    assert not is_significant(row(1, -7.0), row(2, -70.0, 1.0))


def test_an_estimate_that_one_run_makes_is_rough():
    path = ParticlePath(np.arange(1, 3), np.full((10, 2), 50.0), np.full((10, 2), 3))
    candidate = SimpleNamespace(graph="nmf", rank=2, sizes={"k": 2})
    for gap, is_rough in ((0.1, False), (20.0, True)):
        estimate = MarginalEstimate.of_repeats(-100.0 - gap * np.arange(10), "smc", 9, 100, path)
        (found,) = rows_of([candidate], [TimedMarginal(estimate, 1.0)])
        assert found["rough"] == is_rough
        assert found["spread"] == pytest.approx(gap * np.arange(10).std(ddof=1))
        assert ("rough" in format_rows({"rows": [found], "method": "smc"})) == is_rough
    assert found["standard_error"] == pytest.approx(1.0)  # which it would be of any such runs


def test_warnings():
    fine = row(1, -7.0)
    assert warnings_of([fine], 1000, 0) == []
    (found,) = warnings_of([fine, row(2, -7.0, effective_sample_size=1.2)], 1000, 0)
    assert "no more than 1.2 of 1,000 particles were effective (nmf, rank 2, the worst of" in found
    (found,) = warnings_of([fine, row(3, -7.0, 0.8)], 1000, 0)
    assert "1 of 2 estimates are rough" in found
    assert "the logs of runs spread by 30.0 nats for nmf, rank 3" in found
    (found,) = warnings_of([fine, row(3, -7.0, 0.1, modes_found=1, rough=True)], 1000, 0)
    assert found.startswith("the best mode of nmf, rank 3 was found by one line of searches only")
    (found,) = warnings_of([fine, row(4, None, None, effective_sample_size=None)], 1000, 0)
    assert found == "the counts are impossible under nmf, rank 4"
    assert warnings_of([row(1, -7.0, effective_sample_size=4.0)], 6, 0) == []
    assert warnings_of([fine], 1000, 0, -6.85) == []
    (found,) = warnings_of([fine], 1000, 0, -6.7)
    assert found.startswith(
        "the estimate of nmf, rank 1 is too low: the lower bound by vb is -6.70"
    )
