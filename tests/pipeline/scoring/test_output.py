import math

import numpy as np
import pytest

from corpora.formats import read_corpus
from evaluation import log_likelihood
from models import LDATopics, SavedModel, load_model, save_model
from pipeline.scoring.table import print_evaluation
from tests.evaluation.registry import names_of
from tests.pipeline.scoring.support import counts_of, failed
from tests.pipeline.support import call


def test_the_table(zoo):
    argv = ("model.npz", "truth.npz", "--counts", "docs.jsonl", "--threads", 1)
    result = call("evaluate", *argv, "--json", cwd=zoo).succeeded().result
    lines = call("evaluate", *argv, cwd=zoo).succeeded().out.splitlines()
    assert lines[0] == "completion (plug-in) on 60 documents, docs.jsonl"
    rows = [line.split() for line in lines if line.startswith(("model.npz", "truth.npz"))]
    assert [row[0] for row in rows] == ["model.npz", "truth.npz", "model.npz"]
    for row, expected in zip(rows, result["models"], strict=False):
        assert float(row[1]) == pytest.approx(expected["perplexity"], abs=0.05)
        assert float(row[3]) == pytest.approx(expected["nats_per_word"], abs=5e-5)
    assert "best: truth.npz; against it" in lines
    assert rows[2][1].startswith("+")
    assert "truth.npz is better with probability" in lines[-1]


def test_one_article_has_no_errors(zoo, capsys):
    (zoo / "one.jsonl").write_text((zoo / "docs.jsonl").read_text().splitlines()[0])
    argv = ("model.npz", "truth.npz", "--counts", "one.jsonl", "--threads", 1, "--json")
    result = call("evaluate", *argv, cwd=zoo).succeeded().result
    (difference,) = result["differences"]
    assert difference["standard_error"] is difference["probability"] is difference["z"] is None
    print_evaluation(result)
    assert "no standard error from one document" in capsys.readouterr().out


def test_a_line_a_document(zoo):
    (zoo / "with.jsonl").write_text(
        (zoo / "docs.jsonl").read_text() + '{"id": "e\\tmpty", "counts": {}}\n'
    )
    argv = ("evaluate", "--counts", "with.jsonl", "--threads", 1, "--per-document", "out.tsv")
    one = call(*argv, "model.npz", "--json", cwd=zoo).succeeded().result
    assert one["empty_documents"] == 1
    head, *lines = (zoo / "out.tsv").read_text().splitlines()
    assert head.split("\t") == [
        *("id", "tokens", "log_likelihood", "standard_error", "effective_sample_size"),
        *("n_samples", "model"),
    ]
    rows = [line.split("\t") for line in lines]
    assert [row[0] for row in rows] == [*(f"doc {d}" for d in range(60)), "e mpty"]
    assert rows[-1][1:4] == ["0", "0.0", "0.0"]
    assert sum(int(row[1]) for row in rows) == one["tokens_scored"]
    assert math.fsum(float(row[2]) for row in rows) == pytest.approx(one["log_likelihood"])
    plain = call(*argv, "model.npz", cwd=zoo).succeeded().out
    assert "left out: 1 document without a token to score" in plain
    call(*argv, "model.npz", "truth.npz", cwd=zoo).succeeded()
    lines = (zoo / "out.tsv").read_text().splitlines()
    assert [line.split("\t")[-1] for line in lines] == [
        *("model", *["model.npz"] * 61, *["truth.npz"] * 61)
    ]


def test_sampling_error_is_said_where_there_is_one(zoo):
    argv = ("evaluate", "model.npz", "--counts", "docs.jsonl", "--threads", 1)
    result = call(*argv, "--samples", 3, "--json", cwd=zoo).succeeded().result
    assert result["nats_per_word_monte_carlo_standard_error"] > 0
    assert "\nMonte Carlo standard error " in call(*argv, "--samples", 3, cwd=zoo).succeeded().out
    for more in (("--method", "variational-bound"), ("--samples", 1)):
        assert "Monte Carlo" not in call(*argv, *more, cwd=zoo).succeeded().out


@pytest.mark.parametrize("method", names_of(LDATopics))
def test_every_method(zoo, method):
    (zoo / "few.jsonl").write_text("\n".join((zoo / "docs.jsonl").read_text().splitlines()[:4]))
    argv = ("model.npz", "truth.npz", "--counts", "few.jsonl", "--threads", 1, "--json")
    options = ("--method", method, "--samples", 20)
    result = call("evaluate", *argv, *options, cwd=zoo).succeeded().result
    assert result["method"] == method
    rows = {row["model"]: row for row in result["models"]}
    expected = log_likelihood(
        load_model(zoo / "truth.npz").topics,
        counts_of(read_corpus(zoo / "few.jsonl"), load_model(zoo / "model.npz").vocabulary, 30),
        method,
        n_samples=20,
        random_state=0,
    )
    assert rows["truth.npz"]["log_likelihood"] == expected.total
    sampling = rows["truth.npz"]["nats_per_word_monte_carlo_standard_error"]
    total = expected.monte_carlo_standard_error / expected.total_tokens
    assert sampling == (total if math.isfinite(total) else None)


def test_a_wanted_standard_error(zoo):
    argv = ("evaluate", "model.npz", "--counts", "docs.jsonl", "--threads", 1, "--per-document")
    options = ("--method", "left-to-right-sequential", "--samples", 10)
    for target, smaller in ((0.4, False), (0.1, True)):
        call(*argv, "out.tsv", *options, "--target-se", target, cwd=zoo).succeeded()
        rows = [line.split("\t") for line in (zoo / "out.tsv").read_text().splitlines()[1:]]
        errors = np.array([float(row[3]) for row in rows])
        assert np.median(errors) <= 1.2 * target
        assert (np.median(errors) <= 1.2 * 0.1) == smaller  # no more work than was asked for


def test_exact_that_costs_too_much(zoo):
    words = load_model(zoo / "model.npz").vocabulary
    topics = np.random.default_rng(0).dirichlet(np.ones(30), 60)
    save_model(zoo / "large.npz", SavedModel(LDATopics(topics, np.full(60, 0.1)), words))
    argv = ("large.npz", "--counts", "docs.jsonl", "--method", "exact")
    assert "has 40 tokens of 60 topics" in failed(2, *argv, cwd=zoo)


def test_what_the_result_of_one_model_holds(zoo):
    argv = ("evaluate", "model.npz", "--counts", "docs.jsonl", "--threads", 1, "--json")
    result = call(*argv, cwd=zoo).succeeded().result
    assert result["model"] == "model.npz"
    assert result["run"] is None
    assert (result["topics"], result["words"]) == (3, 30)
    assert result["probability_of_scored_words"] == pytest.approx(1)
