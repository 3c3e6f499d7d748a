from __future__ import annotations

import json
from pathlib import Path
from unittest import mock

import pytest

import pipeline.reproduce.run as command
from tests.pipeline.reproduce.support import SMALL


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
def no_pictures(monkeypatch):
    """They take most of the time."""
    monkeypatch.setattr(command, "write_figures", mock.Mock(return_value=[]))
