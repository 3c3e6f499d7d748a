import html
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora import Article, ArticleStore, Corpus, article_of, load_annotator, part_of
from models import FixedLengthPoissonMRF, GammaPoissonTopics, LDATopics, SavedModel
from models.poisson_mrf.topics import LPMRFClusters, LPMRFTopics
from pipeline.report import documents_section as module
from pipeline.report.article_names import names_of
from pipeline.report.documents_section import (
    BYTES_OF_TOPIC,
    MAX_BYTES,
    MAX_REPEATED,
    MIN_WORDS,
    chosen_documents,
    cost,
    cut,
    documents_section,
    word_topics,
)
from pipeline.runs.loaded_run import LoadedRun
from pipeline.runs.run_directory import RunDirectory
from pipeline.settings import TrainSettings
from tests.pipeline.report.made_up_runs import loaded as loaded_run
from tests.pipeline.support import call, flip, inside, made_up_texts

HOSTILE = "<script>alert(\"1\")</script> & 'x' $y$ \u202egnp\u202c \x01"
TEXTS = st.text(st.sampled_from("ab <&'\"é語😀\n"), max_size=30)
WORDS = st.text(st.sampled_from("ab<é"), min_size=1, max_size=8)


class Made(NamedTuple):
    directory: Path
    run: RunDirectory
    model: SavedModel
    corpus: Corpus
    settings: TrainSettings

    def section(self, **how):
        known = {"model": self.model, "corpus": self.corpus, "settings": self.settings}
        known["store"] = ArticleStore(self.directory / "articles")
        known |= {name: how.pop(name) for name in known if name in how}
        run = loaded_run(self.run, **known)
        return documents_section(run, names_of(run), **{"n_documents": 20, **how})

    def documents(self, **how):
        return self.section(**how).documents


def article(number, text):
    url = f"https://en.wikipedia.org/wiki/{number}"
    return Article(number, 100 + number, f"Article {number} <b>", url, "", "en", "", text)


def fill(path, changed=-1):
    texts = made_up_texts(80)
    ArticleStore(path, shard_size=10).append(
        article(n, f"{texts[n]}\n\n== {HOSTILE} ==\n=== River ===\n{HOSTILE}\n{texts[40 + n]}")
        if n != changed
        else article(n, "Another river.\n\n== Lake ==\n\nAnother lake.")
        for n in range(40)
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    directory = tmp_path_factory.mktemp("documents")
    fill(directory / "articles")
    call(
        *("train", "--articles", "articles", "--run", "r", "--topics", 3, "--seed", 1),
        *("--threads", 1, "--test", 0.3, "--validation", 0.2, "--spacy-model", "blank:en"),
        *("--documents", "section", "--no-below", 1, "--no-above", 1, "--bigram-threshold", 0.1),
        *("--batch-size", 10, "--max-passes", 2),
        cwd=directory,
    ).succeeded()
    run = RunDirectory(directory / "runs" / "r")
    corpus = Corpus.load(run.corpus_path)
    return Made(directory, run, LoadedRun(run).model, corpus, run.settings())


@pytest.fixture(scope="module", autouse=True)
def annotators():
    asked, loaded = [], cache(load_annotator)

    def load(model, **how):
        asked.append(model)
        return loaded(model, noun_chunks=bool(how["noun_chunks"]))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "load_annotator", load)
        yield asked


def readable(title):
    return title.replace(" § ", ": ").replace("\x01", "").strip()


def row_of(made, shown):
    titles = [readable(title) for title in made.corpus.titles]
    (d,) = [d for d, title in enumerate(titles) if title == shown.title]
    return d


def number_of(made, shown):
    return int(article_of(made.corpus.doc_ids[row_of(made, shown)]).partition(":")[2])


def test_texts_are_those_of_the_store(made):
    section = made.section(n_documents=8)
    parts = [part_of(doc_id, 0.2, 0.3) for doc_id in made.corpus.doc_ids]
    assert section.of == parts.count("test") > 8
    assert len(section.documents) == 8
    texts = {each.document_id: each for each in ArticleStore(made.directory / "articles")}
    n_bigrams = 0
    for shown in section.documents:
        d = row_of(made, shown)
        doc_id = made.corpus.doc_ids[d]
        stored = texts[article_of(doc_id)]
        (heading, text) = stored.sections()[int(doc_id.partition("#")[2]) - 1]
        assert parts[d] == "test"
        assert shown.title == readable(stored.title + (f": {heading}" if heading else ""))
        assert shown.url == f"{stored.url}?oldid={stored.revision_id}"
        assert (shown.is_text, shown.is_cut) == (True, False)
        assert "".join(shown.pieces) == text
        words, counted = shown.pieces[1::2], made.corpus.counts[[d]].toarray()[0]
        assert len(words) == len(shown.word_topics) == len(shown.certainty) == shown.tokens
        assert shown.tokens == counted.sum()
        assert shown.unknown == made.corpus.n_unknown[d]
        for word, n in zip(made.corpus.vocabulary, counted, strict=True):
            surface = word.replace("_", " ")
            assert [each.lower() for each in words].count(surface) == n, word
            n_bigrams += n * ("_" in word)
    assert n_bigrams > 0
    assert {": " in shown.title for shown in section.documents} == {True, False}


def test_topics_are_those_of_bayes_rule(made):
    topics = made.model.topics
    assert isinstance(topics, LDATopics)
    seen = set()
    for shown in made.documents(n_documents=4):
        theta = topics.transform(made.corpus.counts[[row_of(made, shown)]])[0]
        largest_first = sorted(range(3), key=lambda k: -theta[k])
        assert [k for k, _ in shown.topics] == largest_first[: len(shown.topics)]
        assert dict(shown.topics) == pytest.approx({k: t for k, t in enumerate(theta) if t >= 0.01})
        found = zip(shown.pieces[1::2], shown.word_topics, shown.certainty, strict=True)
        for word, k, certainty in found:
            w = made.corpus.vocabulary.index(word.lower().replace(" ", "_"))
            joint = [theta[j] * topics.topic_word[j, w] for j in range(3)]
            assert k == joint.index(max(joint))
            assert certainty == pytest.approx(max(joint) / sum(joint))
            seen.add(k)
    assert len(seen) > 1


def test_a_model_is_loaded_once_and_only_for_texts(made, annotators):
    annotators.clear()
    made.section()
    assert annotators == ["blank:en"]
    made.section(store=ArticleStore(made.directory / "nowhere"))
    assert annotators == ["blank:en"]


def test_without_the_store_words_stand_alphabetically(made):
    with_text = made.documents()
    shown = made.documents(store=ArticleStore(made.directory / "nowhere"))
    assert [each.title for each in shown] == [each.title for each in with_text]
    for each, there in zip(shown, with_text, strict=True):
        words = list(each.pieces[1::2])
        assert (each.is_text, each.is_cut, each.url) == (False, False, "")
        assert words == sorted(words)
        assert each.pieces[::2] == ("", *[" "] * (len(words) - 1), "")
        counted = made.corpus.counts[[row_of(made, each)]].toarray()[0]
        repeated = zip(made.corpus.vocabulary, np.minimum(counted, MAX_REPEATED), strict=True)
        assert words == [word for word, n in repeated for _ in range(n)]
        of_word = dict(zip(words, each.word_topics, strict=True))
        surfaces = [word.lower().replace(" ", "_") for word in there.pieces[1::2]]
        assert tuple(of_word[word] for word in surfaces) == there.word_topics
        for name in ("tokens", "unknown", "topics"):
            assert getattr(each, name) == getattr(there, name)


def test_an_article_that_was_changed_is_shown_without_its_text(made, tmp_path):
    before = made.documents(n_documents=6)
    number = number_of(made, before[2])
    fill(tmp_path / "articles", changed=number)
    after = made.documents(n_documents=6, store=ArticleStore(tmp_path / "articles"))
    is_changed = [number_of(made, each) == number for each in before]
    assert any(is_changed)
    assert not all(is_changed)
    assert [each.is_text for each in after] == [not each for each in is_changed]
    for b, a, c in zip(before, after, is_changed, strict=True):
        # Its whole shard is another by now, but the other texts in it are what they were.
        assert a.url in (("",) if c else ("", b.url))
        assert (a == replace(b, url=a.url)) != c
    assert before[-1].url == after[-1].url


def test_missing_articles_and_damaged_stores_give_no_text(made, tmp_path, caplog):
    store = ArticleStore(tmp_path / "other")
    store.append([article(99, "Another river.")])
    assert not any(each.is_text for each in made.documents(store=store))
    path = shutil.copytree(made.directory / "articles", tmp_path / "articles")
    for shard in (path / "shards").iterdir():
        flip(shard, 100)
    assert not any(each.is_text for each in made.documents(store=ArticleStore(path)))
    assert "without their text" in caplog.text


def test_a_model_that_is_not_installed(made, caplog):
    shown = made.documents(settings=replace(made.settings, spacy_model="nowhere_to_be_found"))
    assert not any(each.is_text for each in shown)
    assert all(each.url.endswith(f"?oldid={100 + number_of(made, each)}") for each in shown)
    assert "nowhere_to_be_found" in caplog.text


def test_long_documents_are_cut(made):
    wholes = made.documents(n_documents=4)
    with mock.patch("pipeline.report.documents_section.MAX_WORDS", 5):
        few = made.documents(n_documents=4)
    for whole, shown in zip(wholes, few, strict=True):
        assert (shown.is_cut, len(shown.word_topics), len(shown.certainty)) == (True, 5, 5)
        assert shown.pieces == (*whole.pieces[:10], "")
        assert shown.tokens == whole.tokens > 5
        assert sum(len(piece.encode()) for piece in whole.pieces) < MAX_BYTES


def test_without_a_test_part_it_is_the_validation_part(made):
    # The parts are told apart by the ids alone: what was the test part counts as validation now.
    assert made.section(settings=replace(made.settings, test=0.0, validation=0.3)) == made.section()
    assert made.section(settings=replace(made.settings, test=0.0, validation=0.0)) is None


def test_another_models_words_are_refused(made):
    model = SavedModel(made.model.topics, (("zebra", *made.model.vocabulary[1:])))
    with pytest.raises(ValueError, match="the corpus must be the one"):
        made.section(model=model)


def test_articles_as_documents(made, tmp_path):
    shutil.copytree(made.directory / "articles", tmp_path / "articles")
    call(
        *("train", "--articles", "articles", "--run", "r", "--topics", 3, "--seed", 1),
        *("--threads", 1, "--test", 0.3, "--spacy-model", "blank:en", "--documents", "article"),
        *("--model", "gamma-poisson", "--max-passes", 5, "--no-below", 1, "--no-above", 1),
        cwd=tmp_path,
    ).succeeded()
    run = RunDirectory(tmp_path / "runs" / "r")
    with inside(tmp_path):
        section = documents_section(LoadedRun(run), names_of(LoadedRun(run)), 3)
    stored = {each.title: each.text for each in ArticleStore(tmp_path / "articles")}
    for shown in section.documents:
        assert "".join(shown.pieces) == stored[shown.title]
        assert shown.is_text
        assert HOSTILE in "".join(shown.pieces[::2])


def test_documents_are_evenly_spaced_among_long_ones_or_the_longest():
    lengths = np.full(100, MIN_WORDS)
    assert chosen_documents(lengths, 5).tolist() == [10, 30, 50, 70, 90]
    lengths[1::2] = MIN_WORDS - 1
    assert chosen_documents(lengths, 5).tolist() == [10, 30, 50, 70, 90]
    lengths[::2] = MIN_WORDS - 2
    lengths[1::2] = MIN_WORDS
    assert chosen_documents(lengths, 5).tolist() == [11, 31, 51, 71, 91]
    assert chosen_documents(lengths, 50).tolist() == list(range(1, 100, 2))
    lengths = np.array([3, 0, MIN_WORDS, 5, 4, 5, 0, 1])
    assert chosen_documents(lengths, 3).tolist() == [2, 3, 5]
    assert chosen_documents(lengths, 20).tolist() == [0, 2, 3, 4, 5, 7]
    assert chosen_documents(np.zeros(3, dtype=np.int64), 2).tolist() == []


def test_topics_of_words_under_gamma_poisson():
    rng = np.random.default_rng(0)
    topic_word = rng.gamma(0.5, size=(4, 12)) * np.array([[3.0], [0.2], [0.0], [1.0]])
    topics = GammaPoissonTopics(topic_word, np.full(4, 0.7), np.array([0.5, 0.9, 0.5, 0.7]))
    counts, words = rng.poisson(2.0, size=(1, 12)), np.arange(12)
    topic, certainty = word_topics(topics, topics.proportions(counts)[0], words)
    joint = topics.transform(counts)[0][:, None] * topic_word
    assert topic.tolist() == joint.argmax(axis=0).tolist()
    assert certainty == pytest.approx(joint.max(axis=0) / joint.sum(axis=0))
    assert len(set(topic.tolist())) > 1
    # Were p(w | k) taken for φ_kw, it would be another result.
    naive = topics.proportions(counts)[0][:, None] * topic_word
    assert certainty != pytest.approx(naive.max(axis=0) / naive.sum(axis=0))


def fields():
    rng = np.random.default_rng(1)
    return [FixedLengthPoissonMRF(np.log(p), np.zeros((6, 6))) for p in rng.dirichlet([1] * 6, 3)]


def test_topics_of_words_under_poisson_mrfs():
    topics = LPMRFClusters.of_fields(fields(), np.zeros((3, 10)), np.ones(3))
    topic, certainty = word_topics(topics, np.array([0.2, 0.7, 0.1]), np.array([0, 3, 5]))
    assert topic.tolist() == [1, 1, 1]
    assert certainty == pytest.approx([0.7, 0.7, 0.7])
    topics = LPMRFTopics.of_fields(fields(), np.zeros((3, 10)), np.ones(3))
    lda = LDATopics(topics.topic_word, np.ones(3))
    theta, words = np.array([0.2, 0.7, 0.1]), np.arange(6)
    for a, b in zip(word_topics(topics, theta, words), word_topics(lda, theta, words), strict=True):
        assert (a == b).all()


def test_a_word_that_no_topic_has_is_as_the_document():
    topics = LDATopics(np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]), np.ones(2))
    topic, certainty = word_topics(topics, np.array([0.25, 0.75]), np.array([0, 1, 2]))
    assert topic.tolist() == [1, 0, 1]
    assert certainty == pytest.approx([0.75 / 0.875, 1.0, 0.75])


@st.composite
def pieces_of_odd_number(draw):
    pieces = [draw(TEXTS)]
    for _ in range(draw(st.integers(0, 6))):
        pieces += [draw(WORDS), draw(TEXTS)]
    return pieces


@given(text=TEXTS)
def test_no_page_takes_more_than_is_thought(text):
    assert len(html.escape(text).encode()) <= cost(text)


@given(pieces=pieces_of_odd_number(), max_words=st.integers(1, 6), max_bytes=st.integers(1, 200))
def test_what_is_left(pieces, max_words, max_bytes):
    left, n_words, is_cut = cut(pieces, max_words, max_bytes)
    assert (len(left), left[:-1]) == (2 * n_words + 1, pieces[: 2 * n_words])
    assert n_words <= max_words
    assert "".join(pieces).startswith("".join(left))
    assert is_cut == ("".join(left) != "".join(pieces))
    assert sum(map(cost, left)) + BYTES_OF_TOPIC * n_words <= max_bytes
    if is_cut and 0 < n_words < len(pieces) // 2:
        # It ends with a word, and the next one would have been too much.
        assert left[-1] == ""
        more = sum(map(cost, pieces[: 2 * n_words + 2])) + BYTES_OF_TOPIC * (n_words + 1)
        assert n_words == max_words or more > max_bytes


def test_texts_are_cut_between_two_words():
    pieces = ["The ", "river", " and the ", "lake", "."]
    assert cut(pieces, 2) == (pieces, 2, False)
    assert cut(pieces, 1) == (["The ", "river", ""], 1, True)
    assert cut(["one two three"], 5, 11) == (["one two"], 0, True)
    assert cut(["one two three", "four", ""], 5, 11) == (["one two"], 0, True)
    assert cut(["", "one", " two three"], 5, 11 + 3) == (["", "one", ""], 1, True)
    assert cut(["", "one", " two three"], 5, 11 + 5) == (["", "one", " two"], 1, True)
    assert cut(["onetwothree"], 5, 6) == (["onetwo"], 0, True)
