"""Stores and runs that are made once and copied by the tests that change them."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from corpora import Article, ArticleStore
from tests.pipeline.evaluate_support import make_zoo
from tests.pipeline.support import TINY, TINY_GIBBS, call, made_up_texts

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a store of twelve real articles and a run `small`; leave it as it is."""
    directory = tmp_path_factory.mktemp("finished")
    outcome = call("download", "--limit", 12, "--threads", 1, cwd=directory)
    assert outcome.code == 0, outcome.err
    outcome = call(
        *("train", "--articles", "articles", "--run", "small", "--topics", 4, "--seed", 1),
        *("--threads", 1, "--test", 0.3, "--validation", 0.2),
        cwd=directory,
    )
    assert outcome.code == 0, outcome.err
    return directory


@pytest.fixture
def real(finished: Path, tmp_path: Path) -> Path:
    """A copy of `finished`."""
    return shutil.copytree(finished, tmp_path / "real")


@pytest.fixture(scope="session")
def tiny_finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a store of sixty made-up articles in six shards, and a run `tiny`."""
    directory = tmp_path_factory.mktemp("tiny")
    fill_store(directory / "articles", 60)
    outcome = call("train", "--run", "tiny", *TINY, cwd=directory)
    assert outcome.code == 0, outcome.err
    return directory


@pytest.fixture
def tiny(tiny_finished: Path, tmp_path: Path) -> Path:
    """A copy of `tiny_finished`."""
    return shutil.copytree(tiny_finished, tmp_path / "tiny")


@pytest.fixture(scope="session")
def tiny_gibbs(tiny_finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of `tiny_finished` with a run `gibbs` too; leave it as it is."""
    directory = shutil.copytree(tiny_finished, tmp_path_factory.mktemp("gibbs") / "tiny")
    outcome = call("train", "--run", "gibbs", *TINY_GIBBS, cwd=directory)
    assert outcome.code == 0, outcome.err
    return directory


@pytest.fixture
def untouched(tiny: Path) -> Path:
    """The same store without its tokens, and no run."""
    shutil.rmtree(tiny / "runs")
    shutil.rmtree(tiny / "articles" / "tokens")
    return tiny


@pytest.fixture(scope="session")
def zoo_finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that `make_zoo` filled; leave it as it is."""
    directory = tmp_path_factory.mktemp("zoo")
    make_zoo(directory)
    return directory


@pytest.fixture
def zoo(zoo_finished: Path, tmp_path: Path) -> Path:
    """A copy of `zoo_finished`."""
    return shutil.copytree(zoo_finished, tmp_path / "zoo")


def fill_store(path: Path, number: int, n_words: int = 40) -> None:
    ArticleStore(path, shard_size=10).append(
        Article(i + 1, 0, f"Article {i + 1}", "", "", "en", "", text)
        for i, text in enumerate(made_up_texts(number, n_words))
    )
