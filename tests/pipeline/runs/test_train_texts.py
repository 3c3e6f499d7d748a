import gc
import json
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import coo_array

import pipeline
from corpora import (
    Article,
    ArticleStore,
    Corpus,
    CorpusFormatError,
    EmptyVocabularyError,
    write_corpus,
)
from pipeline.errors import UsageError
from tests.pipeline.support import TINY, call, inside, made_up_texts

ROOT = Path(__file__).parents[3]
SETTINGS = {
    "topics": 3,
    "seed": 5,
    "threads": 1,
    "no_below": 1,
    "no_above": 1,
    "batch_size": 10,
    "bigram_threshold": 0.1,
    "quiet": True,
}


def train(texts, **settings):
    return pipeline.train(texts, **(SETTINGS | settings))


def test_texts_by_python_and_by_the_command_give_the_same_topics_to_the_bit(tmp_path):
    texts = made_up_texts(60, 40)
    ArticleStore(tmp_path / "articles").append(
        Article(i, 0, str(i), "", "", "en", "", text) for i, text in enumerate(texts, 1)
    )
    call("train", "--run", "by-command", *TINY, cwd=tmp_path).succeeded()
    command = pipeline.Run(tmp_path / "runs" / "by-command")
    run = train(texts)
    assert run.corpus.content_hash == command.corpus.content_hash
    assert run.model.topics.topic_word.tobytes() == command.model.topics.topic_word.tobytes()
    assert run.model.vocabulary == command.model.vocabulary
    assert run.doc_topic.tobytes() == command.doc_topic.tobytes()
    other = train(texts, seed=6)
    assert run.model.topics.topic_word.tobytes() != other.model.topics.topic_word.tobytes()


def test_frames_of_both_libraries_and_lists_give_the_same_topics():
    texts = made_up_texts(60, 40)
    columns = {"text": texts, "year": [2000 + i % 3 for i in range(60)]}
    runs = [
        train(texts),
        train(pd.DataFrame(columns)),
        train(pl.DataFrame(columns)),
        train(columns),
        train(pd.Series(texts)),
        train(text for text in texts),
        train([{"text": text} for text in texts]),
    ]
    assert len({run.model.topics.topic_word.tobytes() for run in runs}) == 1
    assert [len(run.documents) for run in runs] == [60] * 7


def test_paths_give_what_frames_give(tmp_path):
    frame = pd.DataFrame({"text": made_up_texts(60, 40), "stars": [8 + i % 5 for i in range(60)]})
    frame.to_csv(tmp_path / "reviews.csv", index=False)
    by_path, by_frame = train(tmp_path / "reviews.csv"), train(frame)
    assert by_path.model.topics.topic_word.tobytes() == by_frame.model.topics.topic_word.tobytes()
    assert (
        by_path.topics_over("stars").share.tolist() == by_frame.topics_over("stars").share.tolist()
    )
    store = train(by_frame.loaded.store.path)
    assert store.model.topics.topic_word.tobytes() == by_frame.model.topics.topic_word.tobytes()
    german = train(tmp_path / "reviews.csv", language="de", spacy_model="blank:de")
    assert german.corpus.doc_ids[0] == "de:1"


def test_a_table_by_python_and_by_the_command_gives_the_same_topics_to_the_bit(tmp_path):
    frame = pd.DataFrame(
        {"review": made_up_texts(60, 40), "key": [f"r{i}" for i in range(60)], "stars": range(60)}
    )
    frame.to_csv(tmp_path / "reviews.csv", index=False)
    columns = ("--text-column", "review", "--id-column", "key")
    call("train", "reviews.csv", *columns, *TINY[2:], cwd=tmp_path).succeeded()
    command = pipeline.Run(tmp_path / "runs" / "online-3")
    run = train(frame, text_column="review", id_column="key")
    assert run.corpus.content_hash == command.corpus.content_hash
    assert run.model.topics.topic_word.tobytes() == command.model.topics.topic_word.tobytes()
    without = run.documents.drop(columns="stars")  # numbers in CSV are texts
    assert without.equals(command.documents.drop(columns="stars"))
    assert run.infer(frame[:3]).equals(command.infer(frame[:3]))
    with inside(tmp_path):
        by_path = train("reviews.csv", text_column="review", id_column="key", runs="runs")
        assert by_path.path == Path("runs/online-3")  # the command's


def test_counts_are_learned_from_as_by_the_command(tmp_path):
    texts = train(made_up_texts(60, 40))
    write_corpus(texts.corpus, tmp_path / "counts.jsonl", "jsonl")
    settings = {name: SETTINGS[name] for name in ("topics", "seed", "threads", "quiet")}
    run = pipeline.train(tmp_path / "counts.jsonl", **settings)
    assert run.model.topics.n_topics == 3
    assert run.documents.tokens.sum() == texts.corpus.n_tokens
    assert len(run.typical(0, 2)) == 2
    assert run.evaluate(threads=1).total_tokens > 0
    with pytest.raises(UsageError, match="learned from counts"):
        run.infer(["a river"])
    with pytest.raises(KeyError, match="there are none"):
        run.topics_over("stars")
    with pytest.raises(UsageError, match=r"^no_below is for texts"):
        pipeline.train(tmp_path / "counts.jsonl", **settings, no_below=1)


def test_counts_in_memory_give_what_a_file_of_them_gives(tmp_path):
    corpus = train(made_up_texts(60, 40)).corpus
    numbered = Corpus(corpus.counts, corpus.vocabulary, [str(i) for i in range(1, 61)])
    write_corpus(numbered, tmp_path / "counts.mtx", "mtx")
    settings = {name: SETTINGS[name] for name in ("topics", "seed", "threads", "quiet")}
    expected = pipeline.train(tmp_path / "counts.mtx", **settings)
    words = list(corpus.vocabulary)
    cells = anndata.AnnData(corpus.counts.astype(np.float32) / 3)
    cells.var_names, cells.obs_names = words, list(numbered.doc_ids)
    cells.layers["counts"] = corpus.counts
    for counts, vocabulary in (
        (corpus.counts, words),
        (coo_array(corpus.counts.astype(float)), np.array(words, dtype=object)),
        (corpus.counts.toarray(), words),
        (cells, None),
        (numbered, None),
    ):
        run = pipeline.train(counts, vocabulary=vocabulary, **settings)
        topics = run.model.topics.topic_word.tobytes()
        assert topics == expected.model.topics.topic_word.tobytes()
        assert run.documents.equals(expected.documents)
        found = run.infer(counts, vocabulary=vocabulary)
        np.testing.assert_array_equal(found.topic_0, run.doc_topic[:, 0])
    other = run.infer(corpus.counts[:, ::-1], vocabulary=words[::-1])
    np.testing.assert_allclose(other.topic_0, run.doc_topic[:, 0])
    assert run.infer(corpus.counts[:3]).tokens.tolist() == found.tokens.tolist()[:3]
    with_others = Corpus(numbered.counts, ("no word", *words[1:]), numbered.doc_ids)
    assert run.infer(with_others).unknown.sum() == corpus.counts[:, 0].sum()


@pytest.mark.usefixtures("images_left_out")
def test_a_run_on_counts_in_memory_is_gone_on_with_and_refuses_others(tmp_path):
    counts = np.random.default_rng(0).poisson(1.0, (40, 6))
    named = {"topics": 2, "seed": 1, "quiet": True, "run": "cells", "runs": tmp_path}
    words = list("abcdef")
    run = pipeline.train(counts, vocabulary=words, **named)
    modified = (run.path / "model.npz").stat().st_mtime_ns
    again = pipeline.train(counts, vocabulary=words, **named)
    assert (again.path / "model.npz").stat().st_mtime_ns == modified
    assert [path.name for path in tmp_path.iterdir()] == ["cells"]
    with pytest.raises(UsageError, match=r"was begun with counts = counts-\w+, not counts-"):
        pipeline.train(counts + 1, vocabulary=words, **named)
    call("evaluate", "cells", "--runs", tmp_path, cwd=tmp_path).succeeded()
    assert run.save(tmp_path / "kept").evaluate().perplexity == run.evaluate().perplexity
    call("report", tmp_path / "kept", cwd=tmp_path).succeeded()
    assert "<code>counts-" in (tmp_path / "kept" / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("counts", "settings", "error", "message"),
    [
        (np.ones((9, 2)), {}, TypeError, "ndarray needs the words of its columns"),
        (np.ones((9, 2)), {"vocabulary": ["a"]}, CorpusFormatError, "vocabulary must have 2"),
        (np.ones((9, 2)), {"vocabulary": "ab"}, TypeError, "is a list of strings"),
        (np.ones((9, 2)), {"vocabulary": ["a", "a"]}, CorpusFormatError, "in the vocabulary twice"),
        (-np.ones((9, 1)), {"vocabulary": ["a"]}, CorpusFormatError, "the counts: .*none negative"),
        (np.full((9, 1), 0.5), {"vocabulary": ["a"]}, CorpusFormatError, "whole numbers"),
        (
            np.ones((9, 1)),
            {"vocabulary": ["a"], "no_below": 1},
            UsageError,
            "no_below is for texts",
        ),
        (np.ones((9, 1)), {"vocabulary": ["a"], "text_column": "t"}, TypeError, "text_column"),
        (np.zeros((9, 1)), {"vocabulary": ["a"]}, CorpusFormatError, "no document to train on"),
        (Corpus(np.ones((9, 1)), ("a",), "123456789"), {"vocabulary": ["a"]}, TypeError, "its own"),
        (["a text"], {"vocabulary": ["a"]}, TypeError, "no use for vocabulary"),
        (["a text"], {"format": "csv"}, TypeError, "no use for format"),
    ],
)
def test_counts_that_are_none_are_told_in_one_line_and_leave_nothing(
    tmp_path, counts, settings, error, message
):
    with pytest.raises(error, match=message) as caught:
        pipeline.train(counts, 2, runs=tmp_path / "runs", quiet=True, **settings)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "runs").exists()


def test_a_path_may_need_its_format_or_its_words(tmp_path):
    banner = "%%MatrixMarket matrix coordinate integer general\n"
    (tmp_path / "counts").write_text(
        banner + "6 2 6\n" + "".join(f"{d} 1 2\n" for d in range(1, 7))
    )
    run = pipeline.train(tmp_path / "counts", 1, format="mtx", vocabulary="numbers", quiet=True)
    assert run.model.vocabulary == ("1", "2")
    with pytest.raises(UsageError, match="there is no format 'xls'"):
        pipeline.train(tmp_path / "counts", format="xls")
    with pytest.raises(TypeError, match="at a path is a file"):
        pipeline.train(tmp_path / "counts", vocabulary=["a"])


def test_a_temporary_run_ends_with_its_object_and_a_saved_one_stays(tmp_path):
    run = train(made_up_texts(60, 40))
    path = run.path
    assert run.is_temporary
    assert "temporary" in repr(run)
    saved = run.save(tmp_path / "kept" / "reviews")
    before = run.documents
    del run
    gc.collect()
    assert not path.exists()
    assert not path.parent.exists()
    assert not saved.is_temporary
    assert saved.documents.equals(before)
    assert saved.loaded.store.path.parent == saved.path
    assert list(saved.path.parent.iterdir()) == [saved.path]
    outcome = call("evaluate", saved.path, "--json", "--threads", 1, cwd=tmp_path).succeeded()
    assert json.loads(outcome.out)["perplexity"] == saved.evaluate(threads=1).perplexity
    with pytest.raises(FileExistsError, match="choose another path"):
        saved.save(saved.path)


def test_a_kept_run_is_the_command_line_s_and_is_gone_on_with(tmp_path):
    texts = made_up_texts(60, 40)
    with inside(tmp_path):
        run = train(texts, run="reviews")
        assert run.path == Path("runs/reviews")
        assert not run.is_temporary
        modified = (run.path / "model.npz").stat().st_mtime_ns
        again = train(texts, run="reviews")
        assert (again.path / "model.npz").stat().st_mtime_ns == modified
        assert len(list(Path("runs").glob("texts-*"))) == 1
        assert min(each.name for each in Path("runs").iterdir()) == "reviews"
        assert pipeline.Run("reviews").doc_topic.tobytes() == run.doc_topic.tobytes()
        with pytest.raises(UsageError, match="was begun with topics = 3, not 4"):
            train(texts, run="reviews", topics=4)
        with pytest.raises(UsageError, match="was begun with articles"):
            train(texts[:-1], run="reviews")
        named = train(texts, runs="elsewhere")
        assert named.path == Path("elsewhere/online-3")
        outcome = call("topics", "reviews", cwd=tmp_path).succeeded()
        assert run.topics.word.iloc[0] in outcome.out


def test_a_run_can_be_made_in_another_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(train(made_up_texts(30, 40))))
    thread.start()
    thread.join()
    assert found[0].model.topics.n_topics == 3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_bellow", "no setting 'no_bellow': did you mean no_below"),
        ("n_topics", "no setting 'n_topics': did you mean topics"),
        ("zzzzzz", "no setting 'zzzzzz': there are format, text_column, id_column"),
        ("follow", "no use for follow: nothing is being downloaded; leave it out"),
        ("follow_after", "no use for follow_after"),
        ("articles", "no use for articles: the texts are given"),
    ],
)
def test_names_that_are_no_settings_or_have_no_use(name, message):
    with pytest.raises(TypeError, match=message):
        pipeline.train(["never read"], **{name: 1})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"topics": 0}, "^topics must be at least 1, found 0$"),
        ({"no_below": "many"}, "train: no_below must be a whole number, found 'many'"),
        ({"topics": 2.5}, "train: topics must be a whole number, found 2.5"),
        ({"model": "lda"}, "train: model must be one of auto, online, gibbs"),
        ({"seed": -1}, "seed"),
        ({"model": "online", "burn_in": 3}, "^burn_in is for model gibbs"),
    ],
)
def test_impossible_values_leave_nothing_behind(tmp_path, settings, message):
    with pytest.raises(UsageError, match=message):
        pipeline.train(made_up_texts(30, 40), **{"runs": tmp_path / "runs", **settings})
    assert not (tmp_path / "runs").exists()


def test_lists_are_taken_where_the_command_has_commas():
    run = train(made_up_texts(60, 40), parts_of_speech=["NOUN", "PROPN"], stop_words=("lake",))
    assert run.settings.parts_of_speech == "NOUN,PROPN"
    assert "lake" not in run.model.vocabulary
    assert "river" in run.model.vocabulary


def test_bad_texts_are_told_in_one_line_and_leave_nothing_half_made(tmp_path, caplog):
    frame = pd.DataFrame({"text": made_up_texts(20, 40), "key": [1, 2] * 10})
    for texts, more, error, message in (
        (
            frame,
            {"text_column": "review"},
            CorpusFormatError,
            "no column 'review'; the columns are",
        ),
        (frame, {"id_column": "key"}, CorpusFormatError, "row 3, column 'key': the id 1"),
        (frame.assign(text=1.5), {}, CorpusFormatError, "row 1, column 'text': expected a text"),
        (frame.assign(text=None), {}, CorpusFormatError, "text"),
        (["", "  "], {}, CorpusFormatError, "no text to learn from"),
        ([], {}, CorpusFormatError, "no text to learn from"),
        ("one text", {}, FileNotFoundError, "no file 'one text'; for a single text give a list"),
        ("x" * 9999, {}, FileNotFoundError, "for a single text give a list"),
        (b"one text", {}, TypeError, "expected texts, such as a list of strings"),
        (5, {}, TypeError, "found int"),
        (["the", "of", "and"], {}, EmptyVocabularyError, "have no words"),
    ):
        with pytest.raises(error, match=message) as caught:
            train(texts, runs=tmp_path / "runs", **more)
        assert "\n" not in str(caught.value)
    left = [path for path in (tmp_path / "runs").iterdir() if path.name.startswith(".")]
    assert left == []
    with caplog.at_level(logging.WARNING):
        run = train([*made_up_texts(30, 40), "", " "])
    assert "2 rows are left out" in caplog.text
    assert len(run.documents) == 30


def test_importing_the_package_imports_nothing_else():
    program = (
        "import sys, pipeline; print([n for n in sys.modules if n.partition('.')[0] in "
        "('numpy', 'models', 'corpora', 'pandas', 'pipeline')])"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert outcome.stdout == "['pipeline']\n"
    assert pipeline.train.__name__ == "train"
    assert dir(pipeline).count("Run") == 1
    with pytest.raises(AttributeError, match="no attribute"):
        _ = pipeline.nothing


@pytest.mark.slow
def test_a_script_needs_no_guard(tmp_path):
    script = tmp_path / "script.py"
    texts = made_up_texts(600, 30)
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    script.write_text(
        "import json, pipeline\n"
        "run = pipeline.train(json.load(open('texts.json')), 3, threads=2, no_above=1, seed=1)\n"
        "print(run.path.exists(), len(run.documents))\n"
    )
    outcome = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (outcome.stdout, outcome.stderr) == ("True 600\n", "")
