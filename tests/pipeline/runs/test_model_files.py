import json
import math
import os
import sys
from unittest import mock

import joblib
import numpy as np
import pytest

from models import LDATopics, load_model
from pipeline.runs.model_files import kind_of, read_model
from pipeline.scoring.score import topics_of
from tests.pipeline.scoring.support import ONE_MODEL, failed, load_documents
from tests.pipeline.support import call, inside


@pytest.mark.parametrize("name", ONE_MODEL)
def test_a_model_is_the_same_in_any_file(zoo, name):
    expected = load_model(zoo / "model.npz")
    with inside(zoo):
        found = read_model(name, "words.txt")
    assert sorted(found.vocabulary) == sorted(expected.vocabulary)
    np.testing.assert_allclose(
        topics_of(found, expected.vocabulary).topic_word, expected.topics.topic_word, rtol=1e-8
    )
    np.testing.assert_allclose(found.topics.alpha, expected.topics.alpha, rtol=1e-8)


def test_the_same_model_in_any_file_scores_the_same(zoo):
    argv = ("evaluate", *ONE_MODEL, "truth.npz", "--counts", "docs.jsonl", "--threads", 1)
    outcome = call(*argv, "--vocabulary", "words.txt", "--json", cwd=zoo).succeeded()
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
def test_tomotopy(zoo):
    tomotopy, corpus = pytest.importorskip("tomotopy"), load_documents(zoo)
    theirs = tomotopy.LDAModel(k=3, seed=1, rm_top=2)
    for row in corpus.counts.toarray():
        theirs.add_doc([w for w, n in zip(corpus.vocabulary, row, strict=True) for _ in range(n)])
    theirs.train(30, workers=1)
    theirs.save(str(zoo / "lda.bin"))
    found = read_model(zoo / "lda.bin")
    assert found.vocabulary == tuple(theirs.used_vocabs)
    expected = LDATopics.from_tomotopy(theirs)
    np.testing.assert_array_equal(found.topics.topic_word, expected.topic_word)
    argv = ("evaluate", "lda.bin", "--counts", "docs.jsonl", "--threads", 1, "--json")
    result = call(*argv, cwd=zoo).succeeded().result
    dropped = set(corpus.vocabulary) - set(found.vocabulary)
    assert len(dropped) == 2
    n_dropped = corpus.counts.toarray()[:, [w in dropped for w in corpus.vocabulary]].sum()
    assert result["unknown_share"] == n_dropped / corpus.n_tokens


@pytest.mark.slow
def test_files_that_tomotopy_cannot_read(zoo):
    tomotopy = pytest.importorskip("tomotopy")
    for kind, name in ((tomotopy.HDPModel, "hdp.bin"), (tomotopy.LDAModel, "cut.bin")):
        model = kind()
        model.add_doc(["a", "b"])
        model.train(1, workers=1)
        model.save(str(zoo / name))
    data = (zoo / "cut.bin").read_bytes()
    (zoo / "cut.bin").write_bytes(data[: len(data) // 2])
    for name in ("hdp.bin", "cut.bin"):
        with mock.patch("pipeline.runs.tomotopy_file.SECONDS", 1):
            error = failed(3, name, "--counts", "docs.jsonl", cwd=zoo)
        assert f"{name}: tomotopy cannot read this as an LDAModel" in error


@pytest.mark.slow
def test_tomotopy_that_is_not_installed(zoo):
    (zoo / "lda.bin").write_bytes(b"LDA\0\0one\0\0TPTK\1\0\1\0")
    with mock.patch.dict(os.environ, {"PYTHONPATH": str(zoo)}):
        (zoo / "tomotopy.py").write_text("raise ImportError")
        with mock.patch.object(sys, "path", [str(zoo), *sys.path]):
            error = failed(1, "lda.bin", "--counts", "docs.jsonl", cwd=zoo)
    assert "pip install 'wikitopics[peers]'" in error


def test_no_pickle_is_loaded_to_tell_what_a_file_is(zoo):
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


def test_a_pipeline_of_sklearn_knows_its_words(zoo):
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
    result = call(*argv, cwd=zoo).succeeded().result
    assert (result["unknown_share"], result["words"]) == (0, corpus.n_words)
    assert json.loads(json.dumps(result)) == result
    joblib.dump({"lda": theirs[-1]}, zoo / "dict.joblib")
    assert "found a dict" in failed(3, "dict.joblib", "--counts", "docs.jsonl", cwd=zoo)
    joblib.dump(theirs[:1], zoo / "half.joblib")
    assert "found a CountVectorizer" in failed(3, "half.joblib", "--counts", "docs.jsonl", cwd=zoo)
