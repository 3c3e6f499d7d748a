import json
import warnings

import numpy as np
import pytest
from scipy import sparse

import corpora.row_blocks as row_blocks_module
from corpora import Corpus
from models import GammaPoissonTopics, LDATopics
from pipeline.exports import pyldavis
from tests.pipeline.exports.made_up_run import made_up_run, run_of
from tests.small_models import TOPICS

WORDS = tuple(f"word{w}" for w in range(40))


@pytest.mark.parametrize("kind", TOPICS.values())
def test_arguments(kind, monkeypatch):
    monkeypatch.setattr(row_blocks_module, "MAX_ROWS", 7)
    run = made_up_run(kind)
    found, train = pyldavis(run), run.parts.train
    counts = train.counts.toarray()
    some = counts.sum(axis=1) > 0
    assert 0 < some.sum() < len(some)
    assert found["vocab"] == list(train.vocabulary)
    assert np.array_equal(found["term_frequency"], counts.sum(axis=0))
    assert np.array_equal(found["doc_lengths"], counts[some].sum(axis=1))
    shares = run.model.topics.proportions(train.counts)[some]
    assert np.array_equal(found["doc_topic_dists"], shares)
    topic_word = run.model.topics.topic_word
    assert found["topic_term_dists"] == pytest.approx(
        topic_word / topic_word.sum(axis=1, keepdims=True), rel=1e-12
    )


def test_words_that_no_training_document_has_are_left_out():
    run = made_up_run(LDATopics)
    counts = run.corpus.counts.toarray()
    counts[:, 2] = 0
    found = pyldavis(run_of(run.model, Corpus(counts, run.corpus.vocabulary, run.corpus.doc_ids)))
    assert found["vocab"] == ["ant", "bee", "doe", "eel", "fox"]
    kept = np.delete(run.model.topics.topic_word, 2, axis=1)
    assert found["topic_term_dists"] == pytest.approx(kept / kept.sum(axis=1, keepdims=True))
    assert found["term_frequency"].min() > 0


def prepared(run):
    tool = pytest.importorskip("pyLDAvis", exc_type=ImportError)
    arguments = pyldavis(run)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        view = tool.prepare(**arguments, sort_topics=False, start_index=0, n_jobs=1, R=10)
        return arguments, view, json.loads(view.to_json())


@pytest.mark.parametrize("kind", TOPICS.values())
def test_pyldavis_takes_them(kind):
    arguments, view, page = prepared(made_up_run(kind, 60, WORDS))
    share = arguments["doc_topic_dists"].T @ arguments["doc_lengths"]
    assert view.topic_coordinates["Freq"].tolist() == pytest.approx(100 * share / share.sum())
    assert view.topic_order == [0, 1, 2]
    assert len(page["mdsDat"]["topics"]) == 3
    assert set(page["tinfo"]["Term"]) <= set(WORDS)


def test_pyldavis_takes_impossible_words():
    run = made_up_run(GammaPoissonTopics, 60, WORDS)
    topics = run.model.topics
    weight = topics.topic_word.copy()
    weight[0, :20] = weight[1, 20:] = 0.0
    vars(run)["model"] = type(run.model)(
        GammaPoissonTopics(weight, topics.shape, topics.probability), WORDS
    )
    counts = sparse.csr_array(run.corpus.counts)
    assert counts.shape[1] == 40
    _, _, page = prepared(run)
    assert len(page["tinfo"]["Term"])
