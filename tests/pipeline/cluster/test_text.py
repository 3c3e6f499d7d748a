import os
import pickle
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from corpora import Article, ArticleStore, CorpusFormatError, TextSettings, TokenStore
from corpora.errors import MissingModelError
from corpora.tokens import store as store_module
from corpora.tokens.workers import AnnotationFile
from pipeline.cluster.connection import cluster_of
from pipeline.errors import TaskKilledError
from pipeline.runs.run_directory import RunDirectory
from pipeline.settings import TrainSettings
from pipeline.text import on_cluster as text_module
from pipeline.text.documents import count_with, make_corpus, token_store, tokens_of, tokens_path
from pipeline.text.on_cluster import TextWorkers
from tests.corpora.tokens.models import save_all_nouns
from tests.corpora.tokens.scripted import DEADLY, nouns, prepare_scripted
from tests.corpora.tokens.test_store import articles, content

NOWHERE = "/no/such/directory"
SETTINGS = TrainSettings(
    no_below=2, no_above=0.9, validation=0.2, test=0.2, bigram_min_count=2, bigram_threshold=1.0
)
_annotate = text_module._annotate


class Bench:
    """Cluster in this process, the last result first; tasks may see none of our files."""

    def __init__(self, n_threads=2, *, is_elsewhere=False, kills=lambda _: False):
        self.n_threads, self.is_elsewhere, self.kills = n_threads, is_elsewhere, kills
        self.max_worker_deaths = 0
        self.n_given = 0
        self.n_sent = 0

    def share(self, value):
        return pickle.dumps(value)

    def map(self, function, items, *shared, max_worker_deaths=3):
        assert not shared
        self.max_worker_deaths = max_worker_deaths
        iterator = enumerate(items)
        while some := [each for _, each in zip(range(self.n_threads), iterator, strict=False)]:
            for index, item in reversed(some):
                if self.kills(item):
                    error = TaskKilledError("workers died")
                    error.index = index
                    raise error
                yield index, self._done(function, item, shared)

    def ordered_map(self, function, items, *shared):
        iterator = iter(items)
        while some := [each for _, each in zip(range(self.n_threads), iterator, strict=False)]:
            yield from [self._done(function, item, shared) for item in some]

    def changed(self, articles):
        assert Path(articles.store).is_absolute()
        model = articles.settings.spacy_model
        assert model.startswith("blank:") or Path(model).is_absolute()
        return replace(articles, store=NOWHERE) if self.is_elsewhere else articles

    def _done(self, function, item, shared):
        self.n_given += 1
        if isinstance(item, str):
            item = NOWHERE if self.is_elsewhere else item
        elif isinstance(item[0], AnnotationFile):
            self.n_sent += item[0].data is not None
            assert all(Path(file.path).is_absolute() for file in item)
            if self.is_elsewhere:
                item = tuple(replace(file, path=NOWHERE) for file in item)
        else:
            entry, data, articles = item
            self.n_sent += data is not None
            item = entry, data, self.changed(articles)
        function, item = pickle.loads(pickle.dumps((function, item)))
        return pickle.loads(pickle.dumps(function(item, *map(pickle.loads, shared))))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_all_nouns(tmp_path_factory.mktemp("model"))


@pytest.fixture
def store(tmp_path):
    store = ArticleStore(tmp_path / "articles", shard_size=3)
    store.append(articles(range(18)))
    return store


def in_memory(store):
    fsspec = pytest.importorskip("fsspec")
    for file in store.path.rglob("*"):
        if file.is_file() and file.suffix != ".npz":
            to = f"/bucket/{file.relative_to(store.path)}"
            fsspec.filesystem("memory").pipe_file(to, file.read_bytes())
    return ArticleStore("memory://bucket")


def counted(path, tokens, cluster=None):
    run = RunDirectory(path)
    run.create(replace(SETTINGS, articles=str(tokens.articles.path)), {})
    return make_corpus(run, SETTINGS, tokens, 1, cluster)


@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_workers_come_to_the_same_bits_as_this_machine(
    is_elsewhere, store, model, tmp_path, monkeypatch
):
    here = TokenStore(store, tmp_path / "here", TextSettings(spacy_model=model))
    list(here.fill())
    bench = Bench(is_elsewhere=is_elsewhere)
    monkeypatch.chdir(tmp_path)  # workers are in other directories
    relative = TextSettings(spacy_model=os.path.relpath(model))
    there = tokens_of(ArticleStore("articles"), relative, 1, cluster=bench)
    assert content(there) == content(here)
    # Of the first two none was seen, all later ones and those again were sent.
    assert (bench.n_given, bench.n_sent) == ((8, 6) if is_elsewhere else (6, 0))
    corpus = counted(tmp_path / "run_here", here)
    monkeypatch.setattr(text_module, "TOGETHER", 4)
    bench = Bench(is_elsewhere=is_elsewhere)
    assert counted(tmp_path / "run_there", there, bench).content_hash == corpus.content_hash
    # In each of the passes two look whether they see, until one did not; six files are two tasks.
    n_tasks, n_probes = 3 * 2, 1 if is_elsewhere else 3 * 2
    assert (bench.n_given, bench.n_sent) == (n_tasks + n_probes, n_tasks if is_elsewhere else 0)
    files = [RunDirectory(tmp_path / name).bigrams_path for name in ("run_here", "run_there")]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert any("_" in word for word in corpus.vocabulary)


def test_a_shard_that_kills_workers_is_annotated_here_at_last(tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "prepare", prepare_scripted)
    store = ArticleStore(tmp_path / "articles", shard_size=2)
    texts = [nouns(DEADLY if n == 5 else "river lake") for n in range(10)]
    store.append(Article(n, 0, "", "", "", "en", "", text) for n, text in enumerate(texts))
    killing = store.entries[2].shard
    bench = Bench(kills=lambda item: item[0].shard == killing)
    tokens = TokenStore(store, tmp_path / "tokens", TextSettings("blank:en"))
    filled = list(tokens.fill(1, TextWorkers(bench)))
    assert filled[-1] == (2, 2)  # tokens of the one of its two articles that is left
    assert tokens.missing() == []
    assert [list(found) for found in tokens.skipped().values()] == [["en:5"]]
    assert (bench.n_given, bench.max_worker_deaths) == (4, 1)


def test_what_a_worker_lacks_is_said_with_its_name(store, model, tmp_path, monkeypatch):
    class Without(Bench):
        def changed(self, articles):
            settings = replace(articles.settings, spacy_model="no_such_model")
            return replace(articles, settings=settings, about="other")

    monkeypatch.setattr(text_module, "_name", lambda: "tcp://host:1")
    tokens = TokenStore(store, tmp_path / "tokens", TextSettings(spacy_model=model))
    bench = Without()
    with pytest.raises(MissingModelError, match=r"worker tcp://host:1: .*download no_such_model"):
        list(tokens.fill(1, TextWorkers(bench)))
    assert len(tokens.missing()) == 6


def test_a_damaged_shard_is_found_out_here(store, model):
    path = store.path / "shards" / store.entries[4].shard
    path.write_bytes(path.read_bytes()[:-1])
    tokens, bench = token_store(store, TextSettings(spacy_model=model)), Bench()
    with pytest.raises(CorpusFormatError, match=r"000005\.pkl\.gz: the shard is damaged"):
        list(tokens.fill(1, TextWorkers(bench)))
    assert len(tokens.missing()) < 6  # those that came before are kept


def test_tokens_of_a_url_are_kept_beside_the_runs(store, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = TextSettings(spacy_model=model)
    url, before = ArticleStore(store.path.as_uri()), sorted(store.path.rglob("*"))
    tokens = tokens_of(url, settings, 1, runs=tmp_path / "some runs")
    assert tokens.directory.parent == tokens_path(url, "some runs").absolute()
    assert tokens.directory.parent.name.startswith("tokens-")
    assert len(tokens.directory.parent.name) == len("tokens-") + 12
    assert sorted(store.path.rglob("*")) == before
    assert tokens_path(ArticleStore("https://host/a")) != tokens_path(
        ArticleStore("https://host/b")
    )
    here = tokens_of(store, settings, 1)
    assert content(tokens) == content(here)
    memory = in_memory(store)
    assert content(tokens_of(memory, settings, 2, runs=tmp_path / "others")) == content(here)
    corpus = counted(tmp_path / "some runs" / "run", here)
    trained = replace(SETTINGS, spacy_model=model, documents="article")
    run = RunDirectory(tmp_path / "some runs" / "run")
    assert count_with(run, trained, url, corpus.vocabulary, 1).content_hash == corpus.content_hash
    assert not (tmp_path / "runs").exists()


def deadly_annotate(item):
    if item[0].shard == "000003.pkl.gz":
        os.kill(os.getpid(), signal.SIGKILL)
    return _annotate(item)


@pytest.mark.slow
def test_processes_of_a_cluster_come_to_the_same_bits(store, model, tmp_path, monkeypatch):
    settings = TextSettings(spacy_model=model)
    here = TokenStore(store, tmp_path / "here", settings)
    list(here.fill())
    corpus = counted(tmp_path / "run_here", here)
    with cluster_of("local:2") as cluster:
        assert cluster is not None
        # No process but this one has any article of it.
        unseen = tokens_of(in_memory(store), settings, 1, None, cluster, tmp_path)
        assert content(unseen) == content(here)
        assert counted(tmp_path / "run_there", unseen, cluster).content_hash == corpus.content_hash
        monkeypatch.setattr(text_module, "_annotate", deadly_annotate)
        assert content(tokens_of(store, settings, 1, cluster=cluster)) == content(here)
