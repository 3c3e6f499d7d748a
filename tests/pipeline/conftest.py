"""Stores and runs that are made once and copied by the tests that change them."""

import shutil
from functools import cache
from importlib import metadata
from unittest import mock

import pytest

import pipeline.runs.infer as infer_module
from corpora import Article, ArticleStore, find_model, load_annotator, worker_pool
from corpora.tokens import filling, spacy_model
from models.families import model_names
from pipeline import cli
from pipeline.cli import build_parser
from pipeline.figures import write
from pipeline.report import documents_section, report
from tests.pipeline.scoring.support import make_zoo
from tests.pipeline.support import TINY, TINY_GIBBS, call, logging_restored, made_up_texts


@pytest.fixture(scope="session", autouse=True)
def _annotator_loaded_once():
    """Load the English model once; processes that tests start load it for themselves."""
    kept = {}

    def load(model, *, noun_chunks=False, **more):
        if model != find_model(""):
            return load_annotator(model, noun_chunks=noun_chunks, **more)
        if noun_chunks not in kept:
            kept[noun_chunks] = load_annotator(model, noun_chunks=noun_chunks)
        return kept[noun_chunks]

    with (
        mock.patch.object(filling, "load_annotator", load),
        mock.patch.object(infer_module, "load_annotator", load),
        mock.patch.object(documents_section, "load_annotator", load),
    ):
        yield


@pytest.fixture(scope="session", autouse=True)
def _model_hashed_once():
    """Every command on texts hashes the files of the English model, which stay as they are here."""
    of_any, name = spacy_model._fingerprint, find_model("")
    of_default = of_any(name)

    def fingerprint(model):
        return of_default if model == name else of_any(model)

    with mock.patch.object(spacy_model, "_fingerprint", fingerprint):
        yield


@pytest.fixture(scope="session", autouse=True)
def _versions_looked_up_once():
    """Every run writes down the versions of packages, each of which takes a walk over all."""
    with mock.patch.object(metadata, "version", cache(metadata.version)):
        yield


@pytest.fixture(scope="session", autouse=True)
def _parser_built_once():
    """Every call of the command line builds the parser of all commands and options anew."""
    build = cache(lambda _: build_parser())

    def built():
        return build(model_names())

    with mock.patch.object(cli, "build_parser", built):
        yield


@pytest.fixture(scope="module", autouse=True)
def _work_is_done_here():
    """Commands use all cores if they are not told otherwise: as on one core, they start no workers,
    of which each would import and load everything anew. Tests of workers ask for two.
    """
    with mock.patch.object(worker_pool, "available_cores", return_value=1):
        yield


@pytest.fixture
def images_left_out(monkeypatch):
    """Figures of files are drawn, but not rendered, and those of pages are left out."""
    monkeypatch.setattr(write, "_image", mock.Mock(return_value=b"no image"))
    monkeypatch.setattr(report, "page_svg", mock.Mock(return_value="<svg></svg>"))


@pytest.fixture(autouse=True)
def _logging_as_before():
    """What a test of the command line does to logging is undone, also where it forgets to."""
    with logging_restored():
        yield


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A directory with a store of twelve real articles and a run `small`; leave it as it is."""
    directory = tmp_path_factory.mktemp("finished")
    call("download", "--limit", 12, "--threads", 1, cwd=directory).succeeded()
    call(
        *("train", "--articles", "articles", "--run", "small", "--topics", 4, "--seed", 1),
        *("--threads", 1, "--test", 0.3, "--validation", 0.2),
        cwd=directory,
    ).succeeded()
    return directory


@pytest.fixture
def real(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "real")


@pytest.fixture(scope="session")
def tiny_finished(tmp_path_factory):
    """A directory with a store of sixty made-up articles in six shards, and a run `tiny`."""
    directory = tmp_path_factory.mktemp("tiny")
    fill_store(directory / "articles", 60)
    call("train", "--run", "tiny", *TINY, cwd=directory).succeeded()
    return directory


@pytest.fixture
def tiny(tiny_finished, tmp_path):
    return shutil.copytree(tiny_finished, tmp_path / "tiny")


@pytest.fixture(scope="session")
def tiny_gibbs(tiny_finished, tmp_path_factory):
    """A copy of `tiny_finished` with a run `gibbs` too; leave it as it is."""
    directory = shutil.copytree(tiny_finished, tmp_path_factory.mktemp("gibbs") / "tiny")
    call("train", "--run", "gibbs", *TINY_GIBBS, cwd=directory).succeeded()
    return directory


@pytest.fixture
def untouched(tiny):
    shutil.rmtree(tiny / "runs")
    shutil.rmtree(tiny / "articles" / "tokens")
    return tiny


@pytest.fixture(scope="session")
def zoo_finished(tmp_path_factory):
    """A directory that `make_zoo` filled; leave it as it is."""
    directory = tmp_path_factory.mktemp("zoo")
    make_zoo(directory)
    return directory


@pytest.fixture
def zoo(zoo_finished, tmp_path):
    return shutil.copytree(zoo_finished, tmp_path / "zoo")


def fill_store(path, number, n_words=40):
    ArticleStore(path, shard_size=10).append(
        Article(i + 1, 0, f"Article {i + 1}", "", "", "en", "", text)
        for i, text in enumerate(made_up_texts(number, n_words))
    )
