import json
import math
import shutil
import sys
from dataclasses import replace
from html import unescape
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pytest

import pipeline
import pipeline.runs.run as run_module
from corpora import article_of
from evaluation import typical_documents
from pipeline.errors import UsageError
from pipeline.report import report
from pipeline.report.figures import all_figures
from tests.pipeline.runs.test_train_texts import SETTINGS
from tests.pipeline.support import call, made_up_texts

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def frame():
    number = 120
    texts = made_up_texts(number, 40)
    return pd.DataFrame(
        {
            "review": texts,
            "key": [f"r-{i}" for i in range(number)],
            "title": [HOSTILE if i == 0 else f"Review {i}" for i in range(number)],
            "stars": [1 + i % 4 for i in range(number)],
            "when": pd.date_range("2020-01-15", periods=number, freq="W"),
            "part": ["east", None] * (number // 2),
        }
    )


@pytest.fixture(scope="module")
def run(frame):
    return pipeline.train(frame, text_column="review", id_column="key", **SETTINGS)


@pytest.fixture(scope="module")
def by_sections(tmp_path_factory):
    texts = made_up_texts(120, 20)
    together = [f"{a}\n\n== More ==\n\n{b}" for a, b in zip(texts[::2], texts[1::2], strict=True)]
    return pipeline.train(
        {"text": together, "year": [i % 2 for i in range(60)]},
        runs=tmp_path_factory.mktemp("sections"),
        **(SETTINGS | {"documents": "section"}),
    )


def test_topics_are_the_top_words_of_each_the_largest_first(run):
    topics = run.topics
    assert list(topics.columns) == ["topic", "word", "weight", "share"]
    assert len(topics) == 3 * 10
    shares = topics.share[::10].to_numpy()
    assert list(shares) == sorted(run.model.prevalence, reverse=True)
    words = list(run.model.vocabulary)
    for row in topics.itertuples():
        assert row.weight == run.model.topics.topic_word[row.topic, words.index(row.word)]
    assert len(run.top_words(2)) == 6
    assert (
        run.top_words(2).word.tolist() == topics.groupby("topic", sort=False).head(2).word.tolist()
    )


def test_documents_have_ids_titles_columns_and_shares(run, frame):
    documents = run.documents
    assert documents.id.tolist() == frame.key.tolist()
    assert documents.title.tolist() == frame.title.tolist()
    assert documents.stars.tolist() == frame.stars.tolist()
    assert documents.when.tolist() == [each.isoformat() for each in frame.when]
    assert documents.part_.tolist() == frame.part.tolist()  # `part` is ours
    assert set(documents.part) == {"train", "validation", "test"}
    assert (documents.part == "test").sum() == run.loaded.parts.test.n_docs
    shares = documents[[f"topic_{k}" for k in range(3)]].to_numpy()
    np.testing.assert_array_equal(shares, run.doc_topic)
    np.testing.assert_array_equal(shares, run.model.topics.proportions(run.corpus.counts))
    assert documents.tokens.sum() == run.corpus.n_tokens
    assert "review" not in documents


def test_ids_are_numbers_of_rows_if_there_are_none():
    run = pipeline.train({"text": ["", *made_up_texts(40, 40)], "n": range(41)}, **SETTINGS)
    assert run.documents.id.tolist() == list(range(2, 42))
    assert run.documents.n.tolist() == list(range(1, 41))


@pytest.mark.parametrize("method", [None, "left-to-right-sequential", "variational-bound"])
@pytest.mark.parametrize("which", ["run", "by_sections"])
def test_estimates_are_those_of_the_command(request, which, method, tmp_path):
    run = request.getfixturevalue(which)
    samples = 20 if method == "left-to-right-sequential" else None
    estimate = run.evaluate(method, samples=samples, threads=1)
    more = ["--method", method] if method else []
    more += ["--samples", samples] if samples else []
    outcome = call(
        *("evaluate", run.path.absolute(), "--json", "--threads", 1, *more), cwd=tmp_path
    ).succeeded()
    told = json.loads(outcome.out)
    assert told["method"] == estimate.method
    for name in ("perplexity", "nats_per_word"):
        for each in (name, f"{name}_standard_error"):  # sums over sections go in another order
            assert math.isclose(told[each], getattr(estimate, each), rel_tol=1e-12)
    assert (told["articles"], told["tokens_scored"]) == (
        estimate.n_documents,
        estimate.total_tokens,
    )


def test_methods_and_runs_that_cannot_be(run, tmp_path):
    with pytest.raises(UsageError, match="no estimator"):
        run.evaluate("direct-sampling")
    with pytest.raises(UsageError, match="no run 'nothing'"):
        pipeline.Run("nothing", runs=tmp_path)


def test_new_texts_get_a_row_each_with_the_frame_s_index(run, frame):
    new = frame.iloc[5:9].set_index(pd.Index(["a", "b", "c", "d"]))
    found = run.infer(new)
    assert found.index.tolist() == ["a", "b", "c", "d"]
    assert found.id.tolist() == [f"r-{i}" for i in range(5, 9)]
    of_topics = [f"topic_{k}" for k in range(3)]
    known = run.documents.iloc[5:9]
    assert found.tokens.tolist() == known.tokens.tolist()
    np.testing.assert_allclose(found[of_topics], known[of_topics], atol=1e-6)
    assert found.stars.tolist() == new.stars.tolist()
    by_polars = run.infer(pl.from_pandas(new.reset_index(drop=True)), threads=1)
    np.testing.assert_array_equal(by_polars[of_topics], found[of_topics])


def test_texts_without_a_known_word_have_the_shares_of_the_prior(run):
    found = run.infer(
        ["", "It is the river of a lake. It is the mountain.", "qwertz uiop asdf", ""]
    )
    assert found.tokens.tolist() == [0, 3, 0, 0]
    assert found.unknown.tolist()[1:] == [0, found.unknown[2], 0]
    assert found.unknown[2] > 0
    assert found.id.tolist() == [1, 2, 3, 4]
    alpha = run.model.topics.alpha
    shares = found[[f"topic_{k}" for k in range(3)]].to_numpy()
    for row in (0, 2, 3):
        np.testing.assert_allclose(shares[row], alpha / alpha.sum())
    assert shares[1].max() > 0.6
    only_empty = run.infer(["", ""])
    assert only_empty.tokens.tolist() == [0, 0]


def test_means_over_a_column_are_those_of_its_documents(run, frame):
    found = run.topics_over("stars")
    assert list(found.columns) == ["stars", "topic", "share", "standard_error", "documents"]
    documents = run.documents
    assert len(found) == 4 * 3
    for row in found.itertuples():
        of_group = documents.loc[documents.stars == row.stars, f"topic_{row.topic}"]
        assert row.documents == len(of_group) == 30
        assert math.isclose(row.share, of_group.mean())
        assert math.isclose(row.standard_error, of_group.std(ddof=1) / math.sqrt(30))
    by_part = run.topics_over("part")
    assert by_part.part.tolist() == ["east"] * 3
    assert by_part.documents.tolist() == [60] * 3


def test_means_over_time(run, frame):
    assert run.topics_over("when", "year").when.unique().tolist() == ["2020", "2021", "2022"]
    quarters = run.topics_over("when", "quarter")
    assert quarters.when.iloc[0] == "2020-Q1"
    assert quarters.documents.iloc[0] == (frame.when < "2020-04-01").sum()
    assert run.topics_over("when").when.iloc[0] == "2020"  # 13 documents a quarter are few
    with pytest.raises(KeyError, match="no column 'nothing' with values came along"):
        run.topics_over("nothing")
    with pytest.raises(ValueError, match="no date such as"):
        run.topics_over("stars", "year")


def test_sections_of_a_row_count_as_one_document(by_sections):
    documents = by_sections.documents
    assert len(documents) == 120
    assert documents.section.tolist() == [1, 2] * 60
    assert documents.id.tolist() == [i // 2 + 1 for i in range(120)]
    found = by_sections.topics_over("year")
    assert found.documents.tolist() == [30] * 6
    tokens = documents.tokens.groupby(documents.id).sum()
    mean = (documents.topic_0 * documents.tokens).groupby(documents.id).sum() / tokens
    assert math.isclose(found.share[0], mean[documents.groupby("id").year.first() == 0].mean())
    assert by_sections.evaluate(threads=1).n_documents == len(
        {article_of(each) for each in by_sections.loaded.parts.test.doc_ids}
    )


def test_typical_documents_are_those_of_the_report(run):
    train = run.loaded.parts.train
    shares = run.model.topics.proportions(train.counts)
    expected = typical_documents(shares, np.asarray(train.counts.sum(axis=1)), 4)
    ids = dict(zip(run.corpus.doc_ids, run.documents.id, strict=True))
    for k in range(3):
        found = run.typical(k, 4)
        assert found.id.tolist() == [ids[train.doc_ids[d]] for d in expected[k]]
        np.testing.assert_array_equal(found.share, shares[expected[k], k])
        assert {"title", "tokens", "stars", "when", "part_"} <= set(found.columns)
    for topic in (3, -1):
        with pytest.raises(IndexError, match="numbered from 0 to 2"):
            run.typical(topic)


def test_a_report_is_written_where_it_is_asked_for(run, tmp_path):
    page = run.report(tmp_path / "reviews.html", scored=0)
    assert page == tmp_path / "reviews.html"
    assert HOSTILE not in page.read_text("utf-8")
    assert list(tmp_path.iterdir()) == [page]
    assert not (run.path / "figures").exists()
    with pytest.raises(TypeError, match="no_such"):
        run.report(no_such=1)


def test_pictures_are_those_of_the_report(run, tmp_path, monkeypatch):
    pictures = run.pictures
    assert {"topic-map", "word-clouds", "prevalence"} <= set(pictures)
    picture = pictures["topic-map"]
    assert picture._repr_png_().startswith(b"\x89PNG")
    assert "topic-map" in repr(picture)
    assert "<code>topic-map</code>" in pictures._repr_html_()
    monkeypatch.setattr(report, "all_figures", lambda *given: all_figures(*given)[1:2])
    monkeypatch.setattr(report, "page_svg", lambda *_: "<svg></svg>")
    run.report(tmp_path / "report.html", page_only=False, scored=0, documents=0)
    written = (run.path / "figures" / "topic-map.svg").read_bytes()
    assert picture.save(tmp_path / "map.svg").read_bytes() == written
    shutil.rmtree(run.path / "figures")
    with pytest.raises(ValueError, match=r"must end in \.svg or \.png"):
        picture.save(tmp_path / "map.jpeg")


def test_input_of_pyldavis_is_that_of_the_training_documents(run):
    found = run.pyldavis()
    assert found["doc_topic_dists"].shape == (run.loaded.parts.train.n_docs, 3)
    assert set(found["vocab"]) <= set(run.model.vocabulary)


def test_a_notebook_shows_topics_with_everything_escaped(run):
    shown = run._repr_html_()
    assert "120 documents" in shown
    assert "temporary: .save(path) keeps it" in shown
    for row in run.top_words(1).itertuples():
        assert f"{row.share:.1%}" in shown
    words = (HOSTILE, *run.model.vocabulary[1:])
    with mock.patch.dict(run.loaded.__dict__, {"model": replace(run.model, vocabulary=words)}):
        assert HOSTILE in run.top_words(len(words)).word.tolist()
        with mock.patch.object(run_module, "WORDS", len(words)):
            shown = run._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "<script" not in shown
    assert "color" not in shown


def test_without_pandas_there_are_structured_arrays(run):
    documents = run.documents
    with mock.patch.dict(sys.modules, {"pandas": None}):
        found = run.documents
        assert isinstance(found, np.ndarray)
        assert found.dtype.names == tuple(documents.columns)
        assert found["id"].tolist() == documents.id.tolist()
        np.testing.assert_array_equal(found["topic_1"], documents.topic_1)
        assert found["stars"].dtype.kind == "i"
        assert found["part_"].tolist() == ["east", None] * 60
        assert run.topics["word"].tolist() == documents_words(run)
        shown = found._repr_html_()
        assert "<script" not in shown
        assert HOSTILE in unescape(shown)
        assert "120 rows" in shown
        assert run.topics_over("stars")["documents"].tolist() == [30] * 12
        assert len(run.infer(["river"])) == 1
        assert run.typical(0)["share"][0] > 0.5


def documents_words(run):
    rows = run.model.topics.top_words(10)
    order = np.argsort(-run.model.prevalence, kind="stable")
    return [run.model.vocabulary[w] for k in order for w in rows[k]]
