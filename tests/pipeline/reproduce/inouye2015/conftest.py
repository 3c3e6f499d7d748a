"""Commands of experiments without pictures, which take most of the time."""

from unittest import mock

import pytest

import pipeline.reproduce.run as command


@pytest.fixture
def no_pictures(monkeypatch):
    monkeypatch.setattr(command, "write_figures", mock.Mock(return_value=[]))
