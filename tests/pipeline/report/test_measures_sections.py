"""Coherence of a run, and several runs by all measures."""

from dataclasses import replace

import numpy as np
import pytest

from corpora import Corpus
from evaluation import coherence
from pipeline.report.coherence_section import coherence_section
from pipeline.report.comparison_section import comparison_section
from pipeline.report.measures_section import measures_section
from pipeline.settings import ReportSettings
from tests.evaluation.topics.reference.support import built
from tests.pipeline.report.made_up_runs import (
    WORDS,
    as_gamma_poisson,
    blurred,
    made_up_corpus,
    made_up_run,
    true_topics,
)


def test_coherence_is_that_in_the_test_part_with_intervals_where_they_can_be_trusted(tmp_path):
    run = made_up_run(tmp_path, "a", true_topics(), made_up_corpus(600))
    section, test = coherence_section(run, ""), run.parts.test
    expected = coherence(run.model.topics, test, "c_npmi")
    assert section.counted_in == f"the {test.n_docs} documents of the test part, each a window"
    assert [each.value for _, each in section.topics] == sorted(expected.per_topic, reverse=True)
    for k, of in section.topics:
        assert of.value == expected.per_topic[k]
        error = expected.by_document.topics[k]
        assert bool(of.why) == (of.low is None) == bool(error.why_none)
        if of.low is not None:
            assert (of.low, of.high) == (of.value - error.margin, of.value + error.margin)
    assert any(of.low is not None for _, of in section.topics)
    assert section.mean.value == pytest.approx(expected.mean)


def test_topics_of_weight_0_have_no_coherence(tmp_path):
    topics = as_gamma_poisson(true_topics())
    weights = topics.topic_word.copy()
    weights[1] = 0.0
    run = made_up_run(tmp_path, "a", replace(topics, topic_word=weights))
    last, of = coherence_section(run, "").topics[-1]
    assert (last, of.value, of.why) == (1, None, "it has no words")


def test_an_index_has_the_coherence_and_without_documents_there_is_no_section(tmp_path):
    run = made_up_run(tmp_path, "a", true_topics(), test=0.0)
    assert not run.parts.test.n_docs
    assert coherence_section(run, "") is None
    rng = np.random.default_rng(0)
    texts = [
        [WORDS[w] for w in rng.permutation(np.repeat(np.arange(len(WORDS)), row))]
        for row in run.corpus.counts.toarray()
    ]
    built(tmp_path / "made.index", texts, words=WORDS)
    section = coherence_section(run, str(tmp_path / "made.index"))
    assert (
        section.counted_in == f"120 articles of {tmp_path / 'made.index'}, in windows of 10 words"
    )
    assert len(section.topics) == 3


def columns_of(runs, **settings):
    asked = ReportSettings(threads=1, **settings)
    compared = comparison_section(runs, asked, 1)
    section = measures_section(runs, asked, compared)
    return (
        compared,
        section,
        {} if section is None else {each.name: each for each in section.columns},
    )


def test_measures_of_runs_on_the_documents_of_their_comparison(tmp_path):
    corpus = made_up_corpus(200)
    runs = [
        made_up_run(tmp_path, name, topics, corpus)
        for name, topics in (("a", blurred(true_topics(), 0.4)), ("b", true_topics()))
    ]
    compared, section, columns = columns_of(runs, scored=30)
    assert section.models == ("a", "b")
    assert section.documents == runs[0].parts.test.n_docs > compared.documents == 30
    nats = {row.model: row.nats_per_word for row in compared.rows}
    found = [of.value for of in columns["nats a word"].figures]
    assert found == pytest.approx([nats["a"], nats["b"]])
    assert columns["nats a word"].best == "b"
    assert columns["nats a word"].worse == ("a",)
    assert columns["exclusivity"].best == "b"
    for of in columns["nats a word"].figures:
        assert of.low < of.value < of.high
    assert [of.why for of in columns["cosine"].figures] == ["there are too few models"] * 2
    for run, of in zip(runs, columns["c_npmi"].figures, strict=True):
        mean = coherence_section(run, "").mean
        assert "pairs of words are together" in of.why
        assert (of.value, of.low) == (pytest.approx(mean.value), None)
        assert of.why == mean.why
    for name, least in (("diversity", 10), ("exclusivity", 20)):
        for of in columns[name].figures:
            assert 0 <= of.value <= 1
            assert (of.low, of.why) == (None, f"topics are too few: 3, it needs {least}")
    assert any(
        note == "a, b: no interval of cosine, rbo, found again, because there are too few models."
        for note in section.notes
    )


def test_where_likelihoods_do_not_rank_models_they_are_no_measure(tmp_path):
    runs = [made_up_run(tmp_path, name, true_topics()) for name in ("a", "b")]
    _, _, columns = columns_of(runs, scored=0)
    assert "nats a word" not in columns
    assert columns["c_npmi"].figures[0] == columns["c_npmi"].figures[1]
    nothing = Corpus(np.zeros((0, len(WORDS)), dtype=int), WORDS, ())
    vars(runs[0])["parts"] = runs[0].parts._replace(test=nothing)
    assert columns_of(runs)[1] is None
