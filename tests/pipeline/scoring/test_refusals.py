import pickle
import zlib
from pathlib import Path

import joblib
import pytest

from models import LDATopics, SavedModel, load_model, save_model
from tests.pipeline.scoring.support import ALPHA, failed
from tests.pipeline.support import Hostile, call, files_of


@pytest.mark.parametrize(
    "argv",
    [
        *("--target-se 0", "--target-se -1", "--target-se nan", "--target-se inf", "--smoothing 1"),
        *("--smoothing -0.1", "--smoothing nan", "--samples 0", "--seed -1"),
        *("--seed 99999999999999999999", "--max-memory 0", "--max-memory 1e300"),
        *("--temperatures 1", "--certify", "--target-se 0.1", "--threads 0", "--per-document ."),
        "--per-document nosuch/out.tsv",
    ],
)
def test_usage(zoo, argv):
    before = files_of(zoo)
    options = ("--counts", "docs.jsonl", *argv.split())
    assert argv.partition(" ")[0] in call("evaluate", "model.npz", *options, cwd=zoo).failed()
    assert files_of(zoo) == before
    error = failed(2, "model.npz", "lda-c", "model.npz", "--counts", "docs.jsonl", cwd=zoo)
    assert "model.npz is named twice" in error


@pytest.mark.parametrize("name", ["nosuch.npz", "./nosuch", "no,such"])
def test_a_missing_file(zoo, name):
    assert name.removeprefix("./") in failed(3, name, "--counts", "docs.jsonl", cwd=zoo)


def test_what_is_no_model(zoo):
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


def test_a_word_twice(zoo):
    save_model(zoo / "twice.npz", SavedModel(LDATopics([[0.5, 0.5]], [1.0]), ("a", "a")))
    assert "a word is in the vocabulary twice" in failed(
        3, "twice.npz", "--counts", "docs.jsonl", cwd=zoo
    )


def test_a_word_that_no_topic_has(zoo):
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


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
@pytest.mark.parametrize("pack", [bytes, zlib.compress])
def test_a_pickle_of_anything_else_is_not_loaded(zoo, protocol, pack):
    (zoo / "evil.pkl").write_bytes(pack(pickle.dumps(Hostile(), protocol=protocol)))
    for documents in ("docs.jsonl", "evil.pkl"):
        error = failed(3, "evil.pkl", "--counts", documents, cwd=zoo)
        assert "evil.pkl" in error
        assert "not loaded" in error or "no model that is known" in error
        assert not (zoo / "executed").exists()
    joblib.load(zoo / "evil.pkl")  # the control: loaded, it runs
    Path("executed").rmdir()
