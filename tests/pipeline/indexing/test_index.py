import json
import shutil
import signal
from unittest import mock

import numpy as np
import pytest

from corpora import ArticleStore, Bigrams, Corpus, TokenStore, writer_lock
from evaluation import RunningText, coherence
from evaluation.topics.coherence import WINDOW_SIZES
from evaluation.topics.cooccurrence import count_windows
from evaluation.topics.reference.index import ReferenceIndex
from models import load_model
from pipeline.indexing import index as module
from pipeline.runs.loaded_run import LoadedRun
from tests.pipeline.support import call, files_of, finish, refused, spawn, wait_until, write_jsonl

OWN = ("--documents", "article", "--no-below", 1, "--bigram-threshold", 0.1, "--threads", 1)


@pytest.fixture(scope="module")
def indexed_once(tiny_finished, tmp_path_factory):
    directory = tmp_path_factory.mktemp("indexed")
    shutil.copytree(tiny_finished, directory, dirs_exist_ok=True)
    argv = ("index", "articles", "--like", "tiny", "--threads", 1, "--json")
    return directory, call(*argv, cwd=directory).succeeded().result


@pytest.fixture
def indexed(indexed_once, tmp_path):
    return shutil.copytree(indexed_once[0], tmp_path / "indexed")


def text_like(directory, words):
    """The articles as the run reads them, in memory."""
    run = LoadedRun.find(str(directory / "runs"), "tiny")
    tokens = TokenStore(
        ArticleStore(directory / "articles"), directory / "articles/tokens", run.text_settings
    )
    return RunningText.from_blocks((run.bigrams.join(block) for block in tokens), words)


def test_an_index_like_a_run_counts_what_the_run_reads(indexed_once):
    directory, result = indexed_once
    index = ReferenceIndex.open(directory / "articles.index", checked=True)
    model = load_model(directory / "runs/tiny/model.npz")
    assert set(model.vocabulary) <= set(index.vocabulary)
    assert any("_" in word for word in index.vocabulary)  # joined as in the run
    text = text_like(directory, index.vocabulary)
    assert (index.n_docs, index.n_articles, index.n_positions) == (60, 60, len(text.word_of))
    topics = np.array([index.number_of[model.vocabulary[w]] for w in range(6)]).reshape(2, 3)
    for size in (1, 7, None):
        ours, theirs = index.count_windows(topics, size), count_windows(text, topics, size)
        np.testing.assert_array_equal(ours.n_pair, theirs.n_pair)
        np.testing.assert_array_equal(ours.n_word, theirs.n_word)
    assert result == {
        "output": "articles.index",
        "source": "articles",
        "articles": 60,
        "documents": 60,
        "words": len(index.vocabulary),
        "tokens": int((text.word_of >= 0).sum()),
        "positions": len(text.word_of),
        "bytes": (directory / "articles.index").stat().st_size,
    }
    assert index.about["source"] == "articles"
    assert index.about["run"] == "tiny"
    assert "CC BY-SA" in index.about["licence"]
    assert index.about["settings"]["documents"] == "article"
    assert not list(directory.glob(".*"))


def test_own_settings_keep_words_by_documents(tiny):
    argv = ("index", "articles", *OWN, "--bigrams", "none", "--output", "own/x.index")
    outcome = call(*argv, "--keep-n", 7, cwd=tiny).succeeded()
    index = ReferenceIndex.open(tiny / "own/x.index")
    assert len(index.vocabulary) == 7
    assert not any("_" in word for word in index.vocabulary)
    assert outcome.out.startswith("own/x.index: 60 articles, 60 documents, 7 words, ")
    assert "python -m pipeline topics RUN --reference own/x.index" in outcome.out
    with_bigrams = call("index", "articles", *OWN, "--json", cwd=tiny).succeeded().result
    words = ReferenceIndex.open(tiny / "articles.index").vocabulary
    assert len(words) == with_bigrams["words"] > 7
    assert any("_" in word for word in words)


def test_the_same_command_again_and_another_one(indexed):
    before = files_of(indexed)
    again = call("index", "articles", "--like", "tiny", "--threads", 1, cwd=indexed).succeeded()
    assert "is there already, made of the same articles" in again.err
    assert files_of(indexed) == before
    other = ("index", "articles", "--like", "tiny", "--threads", 1, "--keep-n", 3)
    refused(2, "choose another --output, or replace it by --force", *other, cwd=indexed)
    assert call(*other, "--force", "--json", cwd=indexed).succeeded().result["words"] > 3


def test_an_index_of_the_same_articles_elsewhere_is_the_same_and_of_other_words_another(indexed):
    (indexed / "articles").rename(indexed / "moved")
    argv = ("index", "./moved", "--like", "tiny", "--threads", 1, "--output", "articles.index")
    assert "made of the same articles" in call(*argv, cwd=indexed).succeeded().err
    with mock.patch.object(Corpus, "vocabulary_hash", "another"):
        refused(2, "choose another --output", *argv, cwd=indexed)


def test_texts_are_read_into_a_store(tmp_path):
    write_jsonl(tmp_path / "texts.jsonl", 30)
    result = call("index", "texts.jsonl", *OWN, "--json", cwd=tmp_path).succeeded().result
    assert (result["output"], result["documents"]) == ("texts.index", 30)


@pytest.mark.parametrize(
    ("code", "message", "command"),
    [
        (2, "name the ARTICLES to index", ""),
        (3, "nowhere", "nowhere"),
        (2, "there are tiny", "articles --like none"),
        (2, "run tiny of --like has another one, 3", "articles --like tiny --min-length 4"),
        (2, "no_above is a share", "articles --no-above 2"),
        (2, "takes two parts of speech", "articles --bigram-patterns NOUN"),
        (2, "which have no order: give texts", "counts.mtx"),
        (2, "is a folder: name a file", "articles --output runs"),
        (3, "no word is left", "articles --no-below 1000 --threads 1 --documents article"),
    ],
)
def test_what_cannot_be_indexed(tiny, code, message, command):
    call("convert", "runs/tiny", "counts.mtx", cwd=tiny).succeeded()
    refused(code, message, "index", *command.split(), cwd=tiny)


def test_another_file_is_not_replaced(tiny):
    (tiny / "articles.index").write_text("mine")
    refused(3, "is not an index", "index", "articles", "--like", "tiny", cwd=tiny)


def test_what_a_killed_command_left_is_deleted(tiny):
    left = tiny / ".articles.index.partial"
    left.mkdir()
    (left / "index").write_text("half of it")
    (left / "lock").write_text("1\n")
    argv = ("index", "articles", "--like", "tiny", "--threads", 1)
    call(*argv, cwd=tiny).succeeded()
    ReferenceIndex.open(tiny / "articles.index", checked=True)
    assert not left.exists()
    (tiny / "articles.index").unlink()
    left.mkdir()
    with writer_lock(left):
        outcome = call(*argv, cwd=tiny)
    assert (outcome.code, "is being written to by process" in outcome.err) == (75, True)


def test_a_failure_leaves_nothing(tiny):
    def full(*_):
        raise OSError(28, "No space left on device")

    with mock.patch.object(module, "build_index", full):
        outcome = call("index", "articles", "--like", "tiny", "--threads", 1, cwd=tiny)
    assert (outcome.code, "the disk is full" in outcome.err) == (75, True)
    assert not [each.name for each in tiny.iterdir() if "index" in each.name]


@pytest.mark.slow
def test_a_killed_command_leaves_no_index(tiny):
    slow = "import time, pipeline.indexing.index as i\ni.build_index = lambda *_: time.sleep(600)\n"
    program = "import sys\n" + slow + "from pipeline.cli import main\nsys.exit(main(sys.argv[1:]))"
    import sys

    argv = ("index", "articles", "--like", "tiny", "--threads", "1")
    process = spawn("-c", program, *argv, cwd=tiny, program=[sys.executable])
    left = tiny / ".articles.index.partial"
    wait_until(left.exists, 60, "the command does not begin")
    process.send_signal(signal.SIGKILL)
    finish(process)
    assert left.exists()
    assert not (tiny / "articles.index").exists()
    call(*argv, cwd=tiny).succeeded()
    assert not left.exists()


@pytest.mark.parametrize("measure", WINDOW_SIZES)
def test_topics_with_coherence(indexed_once, measure):
    directory, _ = indexed_once
    argv = ("topics", "tiny", "--reference", "articles.index", "--measure", measure, "--words", 4)
    result = call(*argv, "--json", cwd=directory).succeeded().result
    index = ReferenceIndex.open(directory / "articles.index")
    words = {row["topic"]: row["words"] for row in result["topics"]}
    expected = coherence([words[k] for k in range(3)], index, measure)
    for row in result["topics"]:
        k, found = row["topic"], row["coherence"]
        assert found["value"] == pytest.approx(expected.per_topic[k])
        error = expected.by_document.standard_errors[k]
        assert found["standard_error"] == (None if np.isnan(error) else pytest.approx(error))
        assert (found["why_no_standard_error"] is None) == np.isfinite(error)
    summary = result["coherence"]
    assert summary["mean"] == pytest.approx(expected.mean)
    assert (summary["measure"], summary["window_size"]) == (measure, WINDOW_SIZES[measure])
    assert (summary["articles"], summary["unknown_words"]) == (60, [])
    plain = call(*argv, cwd=directory).succeeded().out
    assert "coherence ± s.e.  words" in plain.splitlines()[0]
    assert f"{measure} of 4 words in articles.index, 60 articles" in plain
    assert f"mean over topics {expected.mean:.3f}" in plain


def test_words_that_the_reference_lacks_are_named(indexed):
    argv = ("index", "articles", *OWN, "--bigrams", "none", "--keep-n", 7, "--output", "few.index")
    call(*argv, cwd=indexed).succeeded()
    argv = ("topics", "tiny", "--reference", "few.index")
    summary = call(*argv, "--json", cwd=indexed).succeeded().result["coherence"]
    assert 0 < len(summary["unknown_words"]) < summary["different_words"]
    plain = call(*argv, cwd=indexed).succeeded().out
    assert f"{len(summary['unknown_words'])} of {summary['different_words']} words are not" in plain
    argv = ("evaluate", "tiny", "--measures", "coherence", "--reference", "few.index")
    row = call(*argv, "--json", cwd=indexed).succeeded().result["models"][0]
    model = load_model(indexed / "runs/tiny/model.npz")
    tops = [model.vocabulary[w] for w in model.topics.top_words(10).ravel()]
    known = ReferenceIndex.open(indexed / "few.index").number_of
    assert row["known_words"] == sum(word in known for word in tops) / len(tops) < 0.5
    text = call(*argv, cwd=indexed).succeeded().out
    assert f"{row['known_words']:.0%} of its top words occur in few.index" in text


@pytest.mark.parametrize(
    ("code", "message", "argv"),
    [
        (3, "none.index", ("--reference", "none.index")),
        (3, "settings.toml is not an index", ("--reference", "runs/tiny/settings.toml")),
        (3, "articles.index was changed", ("--reference", "articles.index")),
        (2, "--words must be at least 2", ("--reference", "articles.index", "--words", 1)),
        (2, "--measure needs --reference FILE", ("--measure", "c_v")),
        (2, "must be one of c_npmi", ("--reference", "articles.index", "--measure", "x")),
    ],
)
def test_references_that_cannot_be_used(indexed, code, message, argv):
    path = indexed / "articles.index"
    if "changed" in message:
        data = bytearray(path.read_bytes())
        data[60] ^= 1  # a position
        data[-5] ^= 1  # the header
        path.write_bytes(data)
    refused(code, message, "topics", "tiny", *argv, cwd=indexed)


def test_evaluate_counts_in_a_reference(indexed_once):
    directory, _ = indexed_once
    argv = ("evaluate", "tiny", "--measures", "coherence", "--words", 4)
    in_index = (*argv, "--reference", "articles.index")
    result = call(*in_index, "--json", cwd=directory).succeeded().result
    figure = result["models"][0]["figures"]["c_npmi"]
    model = load_model(directory / "runs/tiny/model.npz")
    index = ReferenceIndex.open(directory / "articles.index")
    expected = coherence(model.topics, index, n_words=4, vocabulary=model.vocabulary)
    assert figure["value"] == pytest.approx(expected.mean)
    assert figure["standard_error"] == pytest.approx(expected.by_document.standard_error)
    assert result["coherence_in"] == "articles.index"
    assert result["reference_identity"] == index.identity
    assert "top words in articles.index" in call(*in_index, cwd=directory).succeeded().out
    message = "--reference is for the measure coherence"
    refused(2, message, *in_index, "--measures", "diversity", cwd=directory)
    refused(
        2, "none.index: there is no such file", *argv, "--reference", "none.index", cwd=directory
    )
    message = "--reference is for --measures"
    refused(2, message, "evaluate", "tiny", "--reference", "articles.index", cwd=directory)


@pytest.mark.slow
def test_select_counts_in_a_reference(indexed):
    argv = ("select", "--articles", "articles", "--topics", "2,3", "--seed", 5, "--threads", 1)
    argv = (*argv, "--no-below", 1, "--no-above", 1, "--documents", "article", "--words", 3)
    argv = (*argv, "--reference", "articles.index", "--bigram-threshold", 0.1)
    refused(3, "none.index", *argv[:-3], "none.index", cwd=indexed)
    result = call(*argv, "--json", cwd=indexed).succeeded().result
    assert result["reference"] == "articles.index"
    index = ReferenceIndex.open(indexed / "articles.index")
    for row in result["rows"]:
        model = load_model(indexed / row["runs"][0] / "model.npz")
        found = coherence(model.topics, index, "c_v", n_words=3, vocabulary=model.vocabulary)
        assert row["c_v"]["mean"] == pytest.approx(found.mean)
        error = found.by_document.standard_error
        given = row["c_v"]["standard_error_over_documents"]
        why = row["c_v"]["why_no_standard_error_over_documents"]
        assert (why is None) == (given is not None)
        assert given == (None if np.isnan(error) else pytest.approx(error))
        assert row["c_v"]["window"] == "sliding"
    plain = call(*argv, cwd=indexed).succeeded().out.splitlines()
    assert len({len(line) for line in plain[:3]}) == 1
    assert "coherence of 3 words in articles.index, sliding windows" in plain[4]
    stored = json.loads((indexed / "runs/select-online/select.json").read_text())
    assert stored["reference"] == "articles.index"


def test_bigrams_of_a_run_are_checked(indexed):
    assert Bigrams.load(indexed / "runs/tiny/bigrams.tsv").scores
    (indexed / "runs/tiny/bigrams.tsv").write_text("")
    argv = ("index", "articles", "--like", "tiny", "--output", "x.index", "--threads", 1)
    outcome = call(*argv, cwd=indexed)
    assert (outcome.code, "bigrams.tsv was changed" in outcome.err) == (3, True)
    assert not (indexed / "x.index").exists()
