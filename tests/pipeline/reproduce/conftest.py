from __future__ import annotations

import json
from pathlib import Path
from unittest import mock

import pytest
from scipy import sparse

import pipeline.reproduce.run as command
from tests.pipeline.reproduce.support import SMALL, few_counts, write_tables


@pytest.fixture
def stored():
    """The stored result of each experiment."""
    return json.loads(Path(__file__).with_name("small_results.json").read_text())


@pytest.fixture
def quick(monkeypatch):
    """Quicker than quick."""
    for module, values in SMALL.items():
        for name, value in values.items():
            monkeypatch.setattr(module, name, value)


@pytest.fixture
def place(tmp_path):
    """A directory with counts.npz, more.npz, abalone.csv and pairs.csv."""
    for seed, name in enumerate(("counts", "more")):
        sparse.save_npz(tmp_path / f"{name}.npz", few_counts(seed))
    write_tables(tmp_path)
    return tmp_path


@pytest.fixture
def no_pictures(monkeypatch):
    """They take most of the time."""
    monkeypatch.setattr(command, "write_figures", mock.Mock(return_value=[]))
