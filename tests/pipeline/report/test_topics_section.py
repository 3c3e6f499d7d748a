import math
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from scipy import sparse

from corpora import Article, ArticleStore, Corpus, CorpusFormatError, split
from evaluation import typical_documents
from models import FixedLengthPoissonMRF, GammaPoissonTopics, LDATopics, SavedModel, load_model
from models.poisson_mrf.topics import LPMRFClusters, LPMRFTopics
from pipeline.report.article_names import ArticleName, names_of
from pipeline.report.topics_section import TypicalDocuments, topics_section
from pipeline.runs.loaded_run import LoadedRun
from pipeline.runs.run_directory import RunDirectory, about_articles
from pipeline.settings import TrainSettings
from tests.pipeline.report.made_up_runs import loaded
from tests.pipeline.support import inside

WORDS = tuple(f"{letter}{w}" for letter in "abc" for w in range(8))
N_DOCS = 60
FAMILIES = ("lda", "gamma-poisson", "poisson-mrf-mixture", "poisson-mrf")


def themes(weight=40.0):
    falling = np.arange(8, 0, -1.0) * weight
    rows = np.vstack([(np.kron(np.eye(3), falling) + 1.0), np.ones(24)])
    return rows / rows.sum(1, keepdims=True)


def fields_of(rows):
    none = sparse.csr_array(rows.shape[1:] * 2)
    return [FixedLengthPoissonMRF(np.log(row), none, 30.0) for row in rows]


def model_of(family):
    rows = themes()
    if family == "lda":
        return LDATopics(rows, np.full(4, 0.1))
    if family == "gamma-poisson":
        scaled = rows * np.array([[1.0], [3.0], [0.5], [2.0]])
        return GammaPoissonTopics(scaled, np.full(4, 0.3), np.full(4, 0.9))
    kind = LPMRFClusters if family == "poisson-mrf-mixture" else LPMRFTopics
    return kind.of_fields(fields_of(rows), np.zeros((4, 200)), np.full(4, 0.5))


@dataclass
class Asked:
    doc_ids: tuple[str, ...] = ()

    def __call__(self, doc_ids):
        self.doc_ids = tuple(doc_ids)
        return {i: ArticleName(f"Name of {i}", f"https://a.org/{i}") for i in self.doc_ids}


def corpus_of_themes(seed=0):
    """Document d is of theme d mod 3, but for every tenth, which has three tokens of its own."""
    rng, counts = np.random.default_rng(seed), np.zeros((N_DOCS, 24), dtype=np.int64)
    for d in range(N_DOCS):
        counts[d] = rng.multinomial(3 if d % 10 == 0 else 60, 0.9 * themes()[d % 3] + 0.1 / 24)
    return Corpus(sparse.csr_array(counts), WORDS, [f"en:{d}" for d in range(N_DOCS)])


def section_of(model, corpus, names, **more):
    run = RunDirectory(Path("runs/made-up"))
    made_up = loaded(run, model=model, corpus=corpus, settings=TrainSettings())
    return topics_section(made_up, names, **{"n_words": 30, "n_typical": 10, **more})


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family(family):
    topics, corpus, names = model_of(family), corpus_of_themes(), Asked()
    found = section_of(SavedModel(topics, WORDS), corpus, names, n_words=5, n_typical=4)
    parts = split(corpus, TrainSettings.validation, TrainSettings.test)
    prevalence = [row.prevalence for row in found.topics]
    assert prevalence == sorted(prevalence, reverse=True)
    assert sum(prevalence) == pytest.approx(1)
    assert sorted(row.number for row in found.topics) == [0, 1, 2, 3]
    rows, places = themes(), [x for row in found.topics for x in row.place]
    assert 0 <= min(places) <= max(places) <= 1
    assert 0 < found.map_share <= 1
    for row in found.topics:
        words = [found.words[w] for w in row.words]
        expected = [rows[row.number, WORDS.index(word)] for word in words]
        assert row.probabilities == pytest.approx(expected)
        assert list(row.probabilities) == sorted(row.probabilities, reverse=True)
        if row.number < 3:
            theme = "abc"[row.number]
            assert {word[0] for word in words} == {theme}
            assert (row.label, len(row.typical)) == (f"{theme}0, {theme}1, {theme}2", 4)
            shares = [each.share for each in row.typical]
            assert shares == sorted(shares, reverse=True)
            assert shares[0] > 0.5
            for each in row.typical:
                doc_id = each.title.removeprefix("Name of ")
                assert int(doc_id.removeprefix("en:")) % 3 == row.number
                assert doc_id in parts.train.doc_ids
                assert int(doc_id.removeprefix("en:")) % 10 != 0  # of three tokens
                assert each.url == f"https://a.org/{doc_id}"
        cloud = found.clouds[found.topics.index(row)]
        top = [WORDS[w] for w in topics.top_words(3)[row.number]]
        assert [word.word for word in cloud][:3] == top
    shown = [WORDS.index(word) for word in found.words]
    share = sum(row.prevalence * rows[row.number] for row in found.topics)
    assert found.word_share == pytest.approx(share[shown])
    assert len(names.doc_ids) == sum(len(row.typical) for row in found.topics)


def test_words_to_search_for():
    topics, corpus = model_of("lda"), corpus_of_themes()
    prevalence = np.array([0.5, 0.2, 0.2, 0.1])
    model = SavedModel(topics, WORDS, {}, prevalence)
    found = section_of(model, corpus, Asked())
    assert found.searched == tuple(sorted(WORDS))
    assert found.n_not_searched == 0
    with mock.patch("pipeline.report.topics_section.MAX_SEARCHED", 6):
        few = section_of(model, corpus, Asked())
    most = np.argsort(-(prevalence @ themes()), kind="stable")[:6]
    assert few.searched == tuple(sorted(WORDS[w] for w in most))
    assert few.n_not_searched == 18
    for section in (found, few):
        assert len(section.topics_of_word) == len(section.searched)
        for word, listed in zip(section.searched, section.topics_of_word, strict=True):
            joint = prevalence * themes()[:, WORDS.index(word)]
            joint /= joint.sum()
            assert 1 <= len(listed) <= 3
            order = np.argsort(-joint, kind="stable")[:3]
            expected = [(int(k), joint[k]) for k in order if joint[k] >= 0.01]
            assert [k for k, _ in listed] == [k for k, _ in expected]
            assert [p for _, p in listed] == pytest.approx([p for _, p in expected])


def test_prevalence_is_the_models_if_it_knows_it_and_else_that_of_the_training_part():
    topics, corpus = model_of("lda"), corpus_of_themes()
    known = SavedModel(topics, WORDS, {}, np.array([0.1, 0.2, 0.6, 0.1]))
    found = section_of(known, corpus, Asked())
    in_order = [(row.number, row.prevalence) for row in found.topics]
    assert in_order == [(2, 0.6), (1, 0.2), (0, 0.1), (3, 0.1)]  # equal ones by number
    train = split(corpus, TrainSettings.validation, TrainSettings.test).train
    n_tokens = train.counts.sum(axis=1)
    expected = n_tokens @ topics.proportions(train.counts) / n_tokens.sum()
    found = section_of(SavedModel(topics, WORDS), corpus, Asked())
    prevalence = {row.number: row.prevalence for row in found.topics}
    assert prevalence == pytest.approx(dict(enumerate(expected)))


def test_threads_change_nothing():
    model, corpus = SavedModel(model_of("lda"), WORDS), corpus_of_themes()
    one, two = (section_of(model, corpus, Asked(), n_threads=n) for n in (1, 2))
    assert [vars(row) for row in one.topics] == [vars(row) for row in two.topics]
    assert (one.clouds, one.topics_of_word) == (two.clouds, two.topics_of_word)


@pytest.mark.parametrize("n_topics", [1, 2])
def test_few_topics(n_topics):
    model = SavedModel(LDATopics(themes()[:n_topics], np.ones(n_topics)), WORDS)
    found = section_of(model, corpus_of_themes(), Asked())
    assert (len(found.topics), found.map_share) == (n_topics, 1)


def test_a_topic_without_words_and_words_without_a_topic():
    rows = themes()
    rows[3] = 0.0
    rows[:, 23] = 0.0
    topics = GammaPoissonTopics(rows, np.full(4, 0.3), np.full(4, 0.9))
    found = section_of(SavedModel(topics, WORDS), corpus_of_themes(), Asked())
    (dead,) = (row for row in found.topics if row.number == 3)
    assert (dead.label, dead.words, dead.typical) == ("no words", (), ())
    assert found.clouds[found.topics.index(dead)] == ()
    assert found.topics_of_word[found.searched.index("c7")] == ()
    assert "c7" not in found.words
    assert all(math.isfinite(each) for row in found.topics for each in row.place)


def test_hostile_words_are_handed_on_as_they_are():
    hostile = ["<script>alert(1)</script>", '"', "$x$", "\u202eabc", "שלום", "東京", "a\0b"]
    words = (*hostile, *WORDS[len(hostile) :])
    corpus = corpus_of_themes()
    corpus = Corpus(corpus.counts, words, corpus.doc_ids)
    found = section_of(SavedModel(model_of("lda"), words), corpus, Asked())
    assert set(hostile) <= set(found.words)
    assert set(hostile) <= set(found.searched)
    assert next(row for row in found.topics if row.number == 0).label == ", ".join(hostile[:3])


def test_a_model_of_another_corpus_is_refused():
    model = SavedModel(model_of("lda"), tuple(reversed(WORDS)))
    with pytest.raises(CorpusFormatError, match=r"made-up: the vocabularies of the model"):
        section_of(model, corpus_of_themes(), Asked())


def test_names_are_looked_up_in_the_store_that_the_run_learned_from(tmp_path):
    corpus, store = corpus_of_themes(), ArticleStore(tmp_path / "store", shard_size=30)
    url = "https://en.wikipedia.org/wiki/"
    store.append(
        Article(d, 1000 + d, f"Title {d}", f"{url}{d}", "", "en", "", "Text.")
        for d in range(N_DOCS // 2)
    )
    run = RunDirectory(tmp_path / "run")
    run.path.mkdir()
    settings = TrainSettings(articles=str(store.path))
    about = about_articles(settings, store.entries, settled=True)
    run.update_provenance({"format": "wikitopics run", "version": 1, **about})
    # What came to the store later is nothing that the run learned from.
    store.append(
        Article(d, 1, f"Later {d}", f"{url}{d}", "", "en", "", "Text.")
        for d in range(N_DOCS // 2, N_DOCS)
    )
    model = SavedModel(model_of("lda"), WORDS)
    made_up = loaded(run, model=model, corpus=corpus, settings=settings)
    found = topics_section(made_up, names_of(made_up), 30, 10)
    typical = [each for row in found.topics for each in row.typical]
    linked = {each.title: each.url for each in typical if each.url}
    assert linked == {
        title: f"{url}{title.removeprefix('Title ')}?oldid=10{int(title.removeprefix('Title ')):02}"
        for title in linked
    }
    unlinked = {each.title for each in typical if not each.url}
    assert unlinked <= {f"en:{d}" for d in range(N_DOCS // 2, N_DOCS)}
    assert min(len(linked), len(unlinked)) > 5


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("n", "at_once"), [(0, 9), (1, 1), (4, 10), (30, 7), (300, 64)])
def test_typical_documents_are_those_of_all_at_once(seed, n, at_once):
    rng = np.random.default_rng(seed)
    n_topics, n_docs = 3, 200
    # With many ties, in shares and in lengths.
    shares = rng.integers(0, 5, (n_docs, n_topics)) / 4
    n_tokens = rng.integers(0, 4, n_docs)
    found = TypicalDocuments(n_tokens, n_topics, n)
    for first in range(0, n_docs, at_once):
        found.add(first, shares[first : first + at_once])
    for k, of_all in enumerate(typical_documents(shares, n_tokens, max(n, 1))):
        expected = of_all[:n]
        assert found.documents[k].tolist() == expected.tolist()
        assert found.shares[k].tolist() == shares[expected, k].tolist()


def test_no_typical_documents_without_tokens():
    found = TypicalDocuments(np.zeros(4, dtype=np.int64), 2, 3)
    found.add(0, np.full((4, 2), 0.5))
    assert [len(each) for each in found.documents] == [0, 0]


@pytest.mark.slow
def test_a_run(tiny_finished):
    run = RunDirectory(tiny_finished / "runs" / "tiny")
    corpus, model = Corpus.load(run.corpus_path, mmap=True), load_model(run.model_path)
    with inside(tiny_finished):
        found = topics_section(LoadedRun(run), names_of(LoadedRun(run)), 30, 3)
    assert [row.prevalence for row in found.topics] == sorted(model.prevalence, reverse=True)
    titles = {each.title for row in found.topics for each in row.typical}
    assert len(titles) > 3
    assert titles <= set(corpus.titles)
    # Without a prevalence in the model the same comes out as training wrote there.
    again = topics_section(loaded(run, model=replace(model, prevalence=None)), Asked(), 30, 10)
    assert [row.prevalence for row in again.topics] == [row.prevalence for row in found.topics]
