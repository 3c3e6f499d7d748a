"""Where the reference corpora are, for the tests marked `shared`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("WIKITOPICS_SHARED", Path(__file__).parents[2] / "shared")) / "data"


def shared_file(name: str) -> Path:
    """Path of a file of the reference data; the test is skipped where it is not there."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} of the reference data is not here; set WIKITOPICS_SHARED")
    return path
