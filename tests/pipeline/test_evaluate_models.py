"""`evaluate` on models of other programs, and on several models at once."""

from __future__ import annotations

import json
import math
import os
import pickle
import shutil
import sys
import warnings
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import joblib
import numpy as np
import pytest

from corpora import Corpus
from corpora.formats import read_corpus, write_corpus
from evaluation import log_likelihood
from evaluation.log_likelihood import METHODS
from models import LDATopics, SavedModel, load_model, save_model
from pipeline.common_words import common_words, counts_of, topics_of
from pipeline.evaluation_table import print_evaluation
from pipeline.model_files import kind_of, read_model
from tests.pipeline.support import Outcome, call, files_of, inside

if TYPE_CHECKING:
    from collections.abc import Callable

ONE_MODEL = (
    *("model.npz", "plain.joblib", "plain.pkl", "small.z", "small.joblib.gz", "gensim.model"),
    *("final.beta", "lda-c", "weights.txt,keys.txt", "state.gz"),
)
"""Files of one and the same model: it is what the state counts."""
ALPHA, BETA = 0.25, 0.5


def succeeded(outcome: Outcome) -> Outcome:
    assert outcome.code == 0, outcome.err
    return outcome


def failed(code: int, *argv: object, cwd: Path) -> str:
    outcome = call("evaluate", *argv, "--threads", 1, cwd=cwd)
    assert outcome.code == code, outcome
    return outcome.error


@pytest.fixture(scope="session")
def zoo_finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Counts of sixty made-up documents, and one model of them as many programs keep it."""
    directory = tmp_path_factory.mktemp("zoo")
    rng = np.random.default_rng(0)
    words = tuple(f"word{w:02d}" for w in rng.permutation(30))
    topics = rng.dirichlet(np.full(30, 0.6), 3)
    doc_topic = rng.dirichlet(np.full(3, ALPHA), 60)
    counts = np.array([rng.multinomial(40, theta @ topics) for theta in doc_topic])
    corpus = Corpus(counts, words, tuple(f"doc {d}" for d in range(60)))
    write_corpus(corpus, directory / "docs.jsonl")
    write_corpus(corpus, directory / "docs.mtx")
    (directory / "words.txt").write_text("".join(f"{word}\n" for word in words))

    n_kw = rng.multinomial(400, topics[0], size=3) + 1  # a state tells of words with tokens only
    write_state(directory / "state.gz", n_kw, words)
    model = LDATopics.from_weights(n_kw + BETA, ALPHA)
    save_model(directory / "model.npz", SavedModel(model, words))
    write_sklearn(directory, n_kw + BETA)
    write_gensim(directory / "gensim.model", n_kw + BETA, words)
    (directory / "lda-c").mkdir()
    for folder in (directory, directory / "lda-c"):
        rows = (" " + " ".join(f"{x:5.10f}" for x in row) for row in np.log(model.topic_word))
        (folder / "final.beta").write_text("".join(f"{row}\n" for row in rows))
        (folder / "final.other").write_text(f"num_topics 3\nnum_terms 30\nalpha {ALPHA:5.10f}\n")
    lines = (
        f"{k}\t{word}\t{n + BETA}\n"
        for k, row in enumerate(n_kw)
        for word, n in zip(words, row, strict=True)
    )
    (directory / "weights.txt").write_text("".join(lines))
    (directory / "keys.txt").write_text("".join(f"{k}\t{ALPHA}\tword01 \n" for k in range(3)))
    other = LDATopics(topics, np.full(3, ALPHA))  # what the documents are drawn from
    save_model(directory / "truth.npz", SavedModel(other, words))
    return directory


def write_state(path: Path, n_kw: np.ndarray, words: tuple[str, ...]) -> None:
    import gzip

    tokens = [
        (w, k) for k, row in enumerate(n_kw.tolist()) for w, n in enumerate(row) for _ in range(n)
    ]
    head = f"#doc source pos typeindex type topic\n#alpha : {f'{ALPHA} ' * 3}\n#beta : {BETA}\n"
    lines = (f"0 NA {i} {w} {words[w]} {k}\n" for i, (w, k) in enumerate(tokens))
    path.write_bytes(gzip.compress((head + "".join(lines)).encode()))


def write_sklearn(directory: Path, weights: np.ndarray) -> None:
    from sklearn.decomposition import LatentDirichletAllocation

    lda = LatentDirichletAllocation(3, doc_topic_prior=ALPHA, max_iter=1)
    lda.fit(np.ones((2, 30), dtype=int))
    lda.components_ = weights
    joblib.dump(lda, directory / "plain.joblib")
    joblib.dump(lda, directory / "small.z", compress=3)
    joblib.dump(lda, directory / "small.joblib.gz")
    (directory / "plain.pkl").write_bytes(pickle.dumps(lda, protocol=2))


def write_gensim(path: Path, weights: np.ndarray, words: tuple[str, ...]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from gensim.models import LdaModel

        lda = LdaModel(
            num_topics=3, id2word=dict(enumerate(words)), alpha=[ALPHA] * 3, dtype=np.float64
        )
        lda.state.sstats = weights - lda.eta
        lda.save(str(path))


@pytest.fixture
def zoo(zoo_finished: Path, tmp_path: Path) -> Path:
    """A copy of `zoo_finished`."""
    return shutil.copytree(zoo_finished, tmp_path / "zoo")


# --- one model in many files ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ONE_MODEL)
def test_a_model_is_the_same_in_any_file(zoo: Path, name: str) -> None:
    expected = load_model(zoo / "model.npz")
    with inside(zoo):
        found = read_model(name, "words.txt")
    assert sorted(found.vocabulary) == sorted(expected.vocabulary)
    np.testing.assert_allclose(
        topics_of(found, expected.vocabulary).topic_word, expected.topics.topic_word, rtol=1e-8
    )
    np.testing.assert_allclose(found.topics.alpha, expected.topics.alpha, rtol=1e-8)


def test_the_same_model_in_any_file_scores_the_same(zoo: Path) -> None:
    argv = ("evaluate", *ONE_MODEL, "truth.npz", "--counts", "docs.jsonl", "--threads", 1)
    outcome = succeeded(call(*argv, "--vocabulary", "words.txt", "--json", cwd=zoo))
    found = {row["model"]: row["log_likelihood"] for row in outcome.result["models"]}
    assert list(found) == [*ONE_MODEL, "truth.npz"]
    for name in ONE_MODEL:
        assert found[name] == pytest.approx(found["model.npz"], rel=1e-7)
    assert outcome.result["best"] == "truth.npz"
    for row in outcome.result["differences"]:
        assert row["nats_per_word"] > 3 * row["standard_error"] > 0
        assert row["probability"] > 0.99
        assert row["p_value"] < 0.01
        assert row["perplexity_ratio"] == pytest.approx(math.exp(row["nats_per_word"]))
        assert row["z"] == pytest.approx(row["nats_per_word"] / row["standard_error"])


@pytest.mark.slow
def test_tomotopy(zoo: Path) -> None:
    tomotopy = pytest.importorskip("tomotopy")
    corpus = load_documents(zoo)
    theirs = tomotopy.LDAModel(k=3, seed=1, rm_top=2)
    for row in corpus.counts.toarray():
        theirs.add_doc([w for w, n in zip(corpus.vocabulary, row, strict=True) for _ in range(n)])
    theirs.train(30, workers=1)
    theirs.save(str(zoo / "lda.bin"))
    found = read_model(zoo / "lda.bin")
    assert found.vocabulary == tuple(theirs.used_vocabs)
    expected = LDATopics.from_tomotopy(theirs)
    np.testing.assert_array_equal(found.topics.topic_word, expected.topic_word)
    result = succeeded(
        call("evaluate", "lda.bin", "--counts", "docs.jsonl", "--threads", 1, "--json", cwd=zoo)
    ).result
    dropped = set(corpus.vocabulary) - set(found.vocabulary)
    assert len(dropped) == 2
    n_dropped = corpus.counts.toarray()[:, [w in dropped for w in corpus.vocabulary]].sum()
    assert result["unknown_share"] == n_dropped / corpus.n_tokens


@pytest.mark.slow
def test_files_that_tomotopy_cannot_read(zoo: Path) -> None:
    """On the first it ends its process; the second it would read for ever."""
    tomotopy = pytest.importorskip("tomotopy")
    for kind, name in ((tomotopy.HDPModel, "hdp.bin"), (tomotopy.LDAModel, "cut.bin")):
        model = kind()
        model.add_doc(["a", "b"])
        model.train(1, workers=1)
        model.save(str(zoo / name))
    data = (zoo / "cut.bin").read_bytes()
    (zoo / "cut.bin").write_bytes(data[: len(data) // 2])
    for name in ("hdp.bin", "cut.bin"):
        with mock.patch("pipeline.tomotopy_file.SECONDS", 1):
            error = failed(3, name, "--counts", "docs.jsonl", cwd=zoo)
        assert f"{name}: tomotopy cannot read this as an LDAModel" in error


@pytest.mark.slow
def test_tomotopy_that_is_not_installed(zoo: Path) -> None:
    (zoo / "lda.bin").write_bytes(b"LDA\0\0one\0\0TPTK\1\0\1\0")
    with mock.patch.dict(os.environ, {"PYTHONPATH": str(zoo)}):
        (zoo / "tomotopy.py").write_text("raise ImportError")
        with mock.patch.object(sys, "path", [str(zoo), *sys.path]):
            error = failed(1, "lda.bin", "--counts", "docs.jsonl", cwd=zoo)
    assert "pip install 'wikitopics[peers]'" in error


def load_documents(zoo: Path) -> Corpus:
    return read_corpus(zoo / "docs.jsonl")


# --- where words and documents come from ----------------------------------------------------------


def test_a_model_without_words_takes_them_from_a_file_or_from_the_documents(zoo: Path) -> None:
    def scored(*argv: object) -> tuple[float, str]:
        outcome = succeeded(call("evaluate", *argv, "--threads", 1, "--json", cwd=zoo))
        return outcome.result["log_likelihood"], outcome.err

    expected, _ = scored("model.npz", "--counts", "docs.jsonl")
    by_file, said = scored("lda-c", "--counts", "docs.jsonl", "--vocabulary", "words.txt")
    assert by_file == pytest.approx(expected, rel=1e-6)
    assert "does not name its words" not in said
    by_order, said = scored("lda-c", "--counts", "docs.mtx")
    assert by_order == pytest.approx(scored("model.npz", "--counts", "docs.mtx")[0], rel=1e-6)
    assert "lda-c does not name its words: taken for those of docs.mtx, in their order\n" in said
    # The vocabulary beside the documents is theirs, whatever the model's is.
    words = (zoo / "words.txt").read_text().split()
    (zoo / "reversed.txt").write_text("\n".join(reversed(words)))
    argv = ("lda-c", "--counts", "docs.mtx", "--vocabulary", "reversed.txt")
    assert scored(*argv)[0] != pytest.approx(by_order, rel=1e-3)
    (zoo / "docs.vocab").unlink()
    assert by_order == scored("lda-c", "--counts", "docs.mtx", "--vocabulary", "words.txt")[0]
    assert by_order == scored("lda-c", "--counts", "docs.mtx", "--vocabulary", "numbers")[0]
    # The control: the documents of docs.jsonl have their words in another order.
    assert scored("lda-c", "--counts", "docs.jsonl")[0] != pytest.approx(expected, rel=1e-3)


def test_words_that_do_not_fit(zoo: Path) -> None:
    (zoo / "few.txt").write_text("a\nb\n")
    argv = ("lda-c", "--counts", "docs.jsonl", "--vocabulary", "few.txt")
    assert "lda-c has 30 words, few.txt 2" in failed(3, *argv, cwd=zoo)
    (zoo / "few.jsonl").write_text('{"counts": {"a": 2, "b": 3}}\n')
    error = failed(3, "lda-c", "--counts", "few.jsonl", cwd=zoo)
    assert "lda-c does not name its 30 words, and few.jsonl has 2: give --vocabulary" in error
    error = failed(3, "model.npz", "--counts", "few.jsonl", cwd=zoo)
    assert "few.jsonl has no word in common with the model: 'a', 'b' there, 'word" in error
    (zoo / "docs.vocab").unlink()
    assert "no vocabulary beside it" in failed(3, "model.npz", "--counts", "docs.mtx", cwd=zoo)
    assert "nosuch.mtx" in failed(3, "model.npz", "--counts", "nosuch.mtx", cwd=zoo)
    shutil.copy(zoo / "docs.jsonl", zoo / "docs.txt")
    assert "--counts: the name of docs.txt" in failed(
        2, "model.npz", "--counts", "docs.txt", cwd=zoo
    )


def test_models_need_documents(zoo: Path) -> None:
    assert "give documents, --counts FILE" in failed(2, "model.npz", cwd=zoo)
    assert "name a RUN too" in failed(2, "model.npz", "--articles", "articles", cwd=zoo)
    argv = ("model.npz", "--articles", "articles", "--counts", "docs.jsonl")
    assert "leave one out" in failed(2, *argv, cwd=zoo)


def test_a_run_and_its_own_file_are_one_model(tiny: Path) -> None:
    shutil.copy(tiny / "runs/tiny/model.npz", tiny / "copy.npz")
    alone = succeeded(call("evaluate", "tiny", "--json", cwd=tiny)).result
    for documents in ((), ("--articles", "articles"), ("--counts", "runs/tiny/corpus")):
        argv = ("evaluate", "tiny", "copy.npz", *documents, "--threads", 1, "--json")
        result = succeeded(call(*argv, cwd=tiny)).result
        assert [row["run"] for row in result["models"]] == ["tiny", None]
        for row in result["models"]:
            for key in set(row) - {"run", "model"}:  # all figures
                assert row[key] == alone[key], key
        (difference,) = result["differences"]
        assert difference["model"] == "copy.npz"
        assert (difference["nats_per_word"], difference["probability"]) == (0, 0.5)
        assert difference["p_value"] == difference["perplexity_ratio"] == 1
        # What the run was trained with is left out, whichever way it comes in.
        assert result["left_out"] == (60 - alone["documents"] if documents else 0)


def test_no_run_among_the_models_saw_a_document(tiny: Path) -> None:
    """A second run with another split: its training part is left out of the first's test part."""
    argv = ("--articles", "articles", "--topics", 2, "--seed", 6, "--threads", 1, "--no-below", 1)
    argv += ("--documents", "article", "--no-above", 1, "--bigrams", "none", "--test", 0.05)
    succeeded(call("train", "--run", "second", *argv, cwd=tiny))
    first = succeeded(call("evaluate", "tiny", "--json", cwd=tiny)).result
    both = succeeded(call("evaluate", "tiny", "second", "--json", cwd=tiny)).result
    assert 0 < both["left_out"] == first["documents"] - both["documents"]
    shares = {row["model"]: row["unknown_share"] for row in both["models"]}
    assert shares["second"] > shares["tiny"] == first["unknown_share"]  # it knows no bigrams


# --- only what all know is scored -----------------------------------------------------------------


def test_models_of_other_vocabularies_score_the_same_tokens(zoo: Path) -> None:
    saved = load_model(zoo / "model.npz")
    some = np.arange(30) != 7
    few = LDATopics.from_weights(saved.topics.topic_word[::-1][:, some][:, ::-1], ALPHA)
    words = tuple(np.array(saved.vocabulary)[some][::-1].tolist())
    save_model(zoo / "few.npz", SavedModel(few, words))
    argv = ("model.npz", "few.npz", "--counts", "docs.jsonl", "--threads", 1, "--json")
    result = succeeded(call("evaluate", *argv, cwd=zoo)).result
    corpus = load_documents(zoo)
    dropped = corpus.counts.toarray()[:, list(corpus.vocabulary).index(saved.vocabulary[7])].sum()
    assert dropped > 0
    assert result["tokens"] == corpus.n_tokens - dropped
    rows = {row["model"]: row for row in result["models"]}
    assert rows["model.npz"]["unknown_share"] == 0
    assert rows["few.npz"]["unknown_share"] == dropped / corpus.n_tokens
    assert rows["few.npz"]["probability_of_scored_words"] == pytest.approx(1)
    expected = 1 - saved.topics.topic_word[:, 7].mean()
    assert rows["model.npz"]["probability_of_scored_words"] == pytest.approx(expected)
    text = succeeded(call("evaluate", *argv[:-1], cwd=zoo)).out
    assert "not scored: the share" in text

    nothing = SavedModel(few, tuple(f"other{w}" for w in range(29)))
    save_model(zoo / "nothing.npz", nothing)
    error = failed(3, "model.npz", "nothing.npz", "--counts", "docs.jsonl", cwd=zoo)
    assert "docs.jsonl has no word in common with all models" in error


def test_the_order_of_a_vocabulary_changes_nothing(zoo: Path) -> None:
    saved = load_model(zoo / "model.npz")
    order = np.random.default_rng(1).permutation(30)
    words = tuple(saved.vocabulary[w] for w in order)
    mixed = LDATopics(saved.topics.topic_word[:, order], saved.topics.alpha)
    save_model(zoo / "mixed.npz", SavedModel(mixed, words))
    argv = ("model.npz", "mixed.npz", "--counts", "docs.jsonl", "--threads", 1, "--json")
    first, second = succeeded(call("evaluate", *argv, cwd=zoo)).result["models"]
    assert first["log_likelihood"] == second["log_likelihood"]


def test_words_are_matched_by_name() -> None:
    corpus = Corpus(np.array([[1, 2, 0, 4], [0, 0, 3, 0]]), ("d", "a", "x", "b"), ("1", "2"))
    assert common_words([("a", "b", "c", "d"), ("d", "b", "e", "a")]) == ("a", "b", "d")
    counts = counts_of(corpus, ("a", "b", "d"), 5)
    assert counts.toarray().tolist() == [[2, 4, 1, 0, 0], [0, 0, 0, 0, 0]]
    assert counts.has_canonical_format
    saved = SavedModel(LDATopics([[0.1, 0.2, 0.3, 0.4]], [1.0]), ("d", "b", "e", "a"))
    assert topics_of(saved, ("a", "b", "d")).topic_word.tolist() == [[0.4, 0.2, 0.1, 0.3]]
    assert topics_of(saved, saved.vocabulary) is saved.topics


# --- what is printed and written ------------------------------------------------------------------


def test_the_table(zoo: Path) -> None:
    argv = ("model.npz", "truth.npz", "--counts", "docs.jsonl", "--threads", 1)
    result = succeeded(call("evaluate", *argv, "--json", cwd=zoo)).result
    lines = succeeded(call("evaluate", *argv, cwd=zoo)).out.splitlines()
    assert lines[0] == "completion (plug-in) on 60 documents, docs.jsonl"
    rows = [line.split() for line in lines if line.startswith(("model.npz", "truth.npz"))]
    assert [row[0] for row in rows] == ["model.npz", "truth.npz", "model.npz"]
    for row, expected in zip(rows, result["models"], strict=False):
        assert float(row[1]) == pytest.approx(expected["perplexity"], abs=0.05)
        assert float(row[3]) == pytest.approx(expected["nats_per_word"], abs=5e-5)
    assert "best: truth.npz; against it" in lines
    assert rows[2][1].startswith("+")
    assert "truth.npz is better with probability" in lines[-1]


def test_one_article_has_no_errors(zoo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (zoo / "one.jsonl").write_text((zoo / "docs.jsonl").read_text().splitlines()[0])
    argv = ("model.npz", "truth.npz", "--counts", "one.jsonl", "--threads", 1, "--json")
    result = succeeded(call("evaluate", *argv, cwd=zoo)).result
    (difference,) = result["differences"]
    assert difference["standard_error"] is difference["probability"] is difference["z"] is None
    print_evaluation(result)
    assert "no standard error from one document" in capsys.readouterr().out


def test_a_line_a_document(zoo: Path) -> None:
    (zoo / "with.jsonl").write_text(
        (zoo / "docs.jsonl").read_text() + '{"id": "e\\tmpty", "counts": {}}\n'
    )
    argv = ("evaluate", "--counts", "with.jsonl", "--threads", 1, "--per-document", "out.tsv")
    one = succeeded(call(*argv, "model.npz", "--json", cwd=zoo)).result
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
    plain = succeeded(call(*argv, "model.npz", cwd=zoo)).out
    assert "left out: 1 documents without a token to score" in plain
    succeeded(call(*argv, "model.npz", "truth.npz", cwd=zoo))
    lines = (zoo / "out.tsv").read_text().splitlines()
    assert [line.split("\t")[-1] for line in lines] == [
        *("model", *["model.npz"] * 61, *["truth.npz"] * 61)
    ]


def test_sampling_error_is_said_where_there_is_one(zoo: Path) -> None:
    argv = ("evaluate", "model.npz", "--counts", "docs.jsonl", "--threads", 1)
    result = succeeded(call(*argv, "--samples", 3, "--json", cwd=zoo)).result
    assert result["nats_per_word_monte_carlo_standard_error"] > 0
    plain = succeeded(call(*argv, "--samples", 3, cwd=zoo)).out
    assert "\nMonte Carlo standard error " in plain
    for more in (("--method", "variational-bound"), ("--samples", 1)):
        assert "Monte Carlo" not in succeeded(call(*argv, *more, cwd=zoo)).out


@pytest.mark.parametrize("method", METHODS[LDATopics])
def test_every_method(zoo: Path, method: str) -> None:
    lines = (zoo / "docs.jsonl").read_text().splitlines()[:4]
    (zoo / "few.jsonl").write_text("\n".join(lines))
    argv = ("model.npz", "truth.npz", "--counts", "few.jsonl", "--threads", 1, "--json")
    options = ("--method", method, "--samples", 20)
    result = succeeded(call("evaluate", *argv, *options, cwd=zoo)).result
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


def test_a_wanted_standard_error(zoo: Path) -> None:
    argv = ("evaluate", "model.npz", "--counts", "docs.jsonl", "--threads", 1, "--per-document")
    options = ("--method", "left-to-right-sequential", "--samples", 10)
    for target, smaller in ((0.4, False), (0.1, True)):
        succeeded(call(*argv, "out.tsv", *options, "--target-se", target, cwd=zoo))
        rows = [line.split("\t") for line in (zoo / "out.tsv").read_text().splitlines()[1:]]
        errors = np.array([float(row[3]) for row in rows])
        assert np.median(errors) <= 1.2 * target
        assert (np.median(errors) <= 1.2 * 0.1) == smaller  # no more work than was asked for


def test_exact_that_costs_too_much(zoo: Path) -> None:
    words = load_model(zoo / "model.npz").vocabulary
    topics = np.random.default_rng(0).dirichlet(np.ones(30), 60)
    save_model(zoo / "large.npz", SavedModel(LDATopics(topics, np.full(60, 0.1)), words))
    argv = ("large.npz", "--counts", "docs.jsonl", "--method", "exact")
    assert "has 40 tokens of 60 topics" in failed(2, *argv, cwd=zoo)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "argv",
    [
        "--target-se 0",
        "--target-se -1",
        "--target-se nan",
        "--target-se inf",
        "--smoothing 1",
        "--smoothing -0.1",
        "--smoothing nan",
        "--samples 0",
        "--seed -1",
        "--seed 99999999999999999999",
        "--max-memory 0",
        "--max-memory 1e300",
        "--temperatures 1",
        "--certify",
        "--target-se 0.1",
        "--threads 0",
        "--per-document .",
        "--per-document nosuch/out.tsv",
    ],
)
def test_usage(zoo: Path, argv: str) -> None:
    before = files_of(zoo)
    options = ("--counts", "docs.jsonl", *argv.split())
    outcome = call("evaluate", "model.npz", *options, cwd=zoo)
    assert outcome.code == 2, outcome
    assert argv.partition(" ")[0] in outcome.error
    assert files_of(zoo) == before
    error = failed(2, "model.npz", "lda-c", "model.npz", "--counts", "docs.jsonl", cwd=zoo)
    assert "model.npz is named twice" in error


@pytest.mark.parametrize("name", ["nosuch.npz", "./nosuch", "no,such"])
def test_a_missing_file(zoo: Path, name: str) -> None:
    assert name.removeprefix("./") in failed(3, name, "--counts", "docs.jsonl", cwd=zoo)


def test_what_is_no_model(zoo: Path) -> None:
    for name, content, complaint in (
        ("text", b"Once upon a time", "is no model that is known here"),
        ("empty", b"", "is no model that is known here"),
        ("counts", b"3430\n6906\n", "is no model that is known here"),
        ("zip", b"PK\x03\x04", "not a wikitopics model file, or damaged"),
        ("packed", b"\x1f\x8b\x08\x00", "the compressed data end too early"),
        ("cut.npz", (zoo / "model.npz").read_bytes()[:-100], "not a wikitopics model file"),
        ("cut.joblib", (zoo / "plain.joblib").read_bytes()[:-100], "not a usable model"),
        ("cut.pkl", (zoo / "plain.pkl").read_bytes()[:-100], "not a usable model"),
        ("cut.z", (zoo / "small.z").read_bytes()[:-100], "not a usable model"),
        ("keys.txt", (zoo / "keys.txt").read_bytes(), "MALLET's topic keys name a few words"),
        ("w.txt", (zoo / "weights.txt").read_bytes(), "name MALLET's state or topic keys too"),
    ):
        (zoo / name).write_bytes(content)
        error = failed(3, name, "--counts", "docs.jsonl", cwd=zoo)
        assert name in error
        assert complaint in error
    (zoo / "folder").mkdir()
    error = failed(3, "folder", "--counts", "docs.jsonl", cwd=zoo)
    assert "folder is no model: it is a directory without final.beta" in error
    assert "only MALLET's" in failed(3, "model.npz,keys.txt", "--counts", "docs.jsonl", cwd=zoo)
    (zoo / "gensim.model.state").unlink()
    error = failed(3, "gensim.model", "--counts", "docs.jsonl", cwd=zoo)
    assert "gensim.model: not a usable model: ValueError: it has no state: its file" in error


def test_a_word_twice(zoo: Path) -> None:
    save_model(zoo / "twice.npz", SavedModel(LDATopics([[0.5, 0.5]], [1.0]), ("a", "a")))
    assert "a word is in the vocabulary twice" in failed(
        3, "twice.npz", "--counts", "docs.jsonl", cwd=zoo
    )


def test_a_word_that_no_topic_has(zoo: Path) -> None:
    saved = load_model(zoo / "model.npz")
    weights = saved.topics.topic_word.copy()
    weights[:, 4] = 0
    save_model(
        zoo / "zero.npz", SavedModel(LDATopics.from_weights(weights, ALPHA), saved.vocabulary)
    )
    argv = ("zero.npz", "--counts", "docs.jsonl")
    error = failed(3, *argv, cwd=zoo)
    assert f"zero.npz: no topic has {saved.vocabulary[4]!r}, of 1 such words" in error
    assert "--smoothing 1e-6" in error
    assert call("evaluate", *argv, "--smoothing", 1e-6, "--threads", 1, cwd=zoo).code == 0


class _Hostile:
    """Its pickle makes a directory wherever it is loaded."""

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, ("executed",)


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
@pytest.mark.parametrize("pack", [bytes, zlib.compress])
def test_a_pickle_of_anything_else_is_not_loaded(
    zoo: Path, protocol: int, pack: Callable[[bytes], bytes]
) -> None:
    (zoo / "evil.pkl").write_bytes(pack(pickle.dumps(_Hostile(), protocol=protocol)))
    for documents in ("docs.jsonl", "evil.pkl"):
        error = failed(3, "evil.pkl", "--counts", documents, cwd=zoo)
        assert "evil.pkl" in error
        assert "not loaded" in error or "no model that is known" in error
        assert not (zoo / "executed").exists()
    joblib.load(zoo / "evil.pkl")  # the control: loaded, it runs
    Path("executed").rmdir()


def test_no_pickle_is_loaded_to_tell_what_a_file_is(zoo: Path) -> None:
    refuse = mock.Mock(side_effect=AssertionError("loaded"))
    with mock.patch("pickle.load", refuse), mock.patch("joblib.load", refuse):
        kinds = {name: kind_of(zoo / name) for name in ONE_MODEL if "," not in name}
    assert kinds == {
        "model.npz": "wikitopics",
        "plain.joblib": "sklearn",
        "plain.pkl": "sklearn",
        "small.z": "sklearn",
        "small.joblib.gz": "sklearn",
        "gensim.model": "gensim",
        "final.beta": "ldac",
        "lda-c": "ldac",
        "state.gz": "mallet-state",
    }


def test_a_pipeline_of_sklearn_knows_its_words(zoo: Path) -> None:
    from sklearn.decomposition import LatentDirichletAllocation
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import make_pipeline

    corpus = load_documents(zoo)
    texts = [
        " ".join(w for w, n in zip(corpus.vocabulary, row, strict=True) for _ in range(n))
        for row in corpus.counts.toarray()
    ]
    theirs = make_pipeline(CountVectorizer(), LatentDirichletAllocation(3, random_state=0))
    joblib.dump(theirs.fit(texts), zoo / "pipeline.joblib")
    argv = ("evaluate", "pipeline.joblib", "--counts", "docs.jsonl", "--threads", 1, "--json")
    result = succeeded(call(*argv, cwd=zoo)).result
    assert (result["unknown_share"], result["words"]) == (0, corpus.n_words)
    assert json.loads(json.dumps(result)) == result
    joblib.dump({"lda": theirs[-1]}, zoo / "dict.joblib")
    assert "found a dict" in failed(3, "dict.joblib", "--counts", "docs.jsonl", cwd=zoo)
    joblib.dump(theirs[:1], zoo / "half.joblib")
    assert "found a CountVectorizer" in failed(3, "half.joblib", "--counts", "docs.jsonl", cwd=zoo)


def test_what_the_result_of_one_model_holds(zoo: Path) -> None:
    argv = ("evaluate", "model.npz", "--counts", "docs.jsonl", "--threads", 1, "--json")
    result: dict[str, Any] = succeeded(call(*argv, cwd=zoo)).result
    assert result["model"] == "model.npz"
    assert result["run"] is None
    assert (result["topics"], result["words"]) == (3, 30)
    assert result["probability_of_scored_words"] == pytest.approx(1)
