from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def stored():
    """The stored result of each experiment."""
    return json.loads(Path(__file__).with_name("small_results.json").read_text())
