"""What all tests share."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import tempfile
from itertools import count
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# A busy machine is no fault of the code: laws are checked without a clock. Laws that do not say of
# how many examples have a hundred, and fewer where the slow tests are left out.
settings.register_profile("thorough", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=40)


SESSION_CACHE = pytest.StashKey[tempfile.TemporaryDirectory[str]]()
NUMBERS = count()


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("quick" if "not slow" in config.option.markexpr else "thorough")
    # Results that fixtures of several tests compute, and those of the user, are none of a test's.
    config.stash[SESSION_CACHE] = tempfile.TemporaryDirectory(prefix="wikitopics-cache-")
    os.environ["WIKITOPICS_CACHE"] = config.stash[SESSION_CACHE].name
    os.environ["WIKITOPICS_COMPILE_AHEAD"] = "0"  # tests that compile ahead say so
    os.fsync = os.fstat  # which checks the descriptor, and does not wait for the disk


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[SESSION_CACHE].cleanup()


def pytest_collection_finish() -> None:
    """Leave what the collection made out of all later searches for garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def _memory_given_back(request: pytest.FixtureRequest) -> Iterator[None]:
    """Give the memory of a module's tests back to the system, and what it cached."""
    yield
    for each in vars(request.module).values():
        if hasattr(each, "cache_clear") and each.__module__ == request.module.__name__:
            each.cache_clear()
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)


@pytest.fixture(autouse=True)
def cache_directory(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A cache of the test's own, for processes that it starts too; made when it is written to."""
    directory = tmp_path_factory.getbasetemp() / "caches" / str(next(NUMBERS))
    monkeypatch.setenv("WIKITOPICS_CACHE", str(directory))
    return directory


@pytest.fixture
def fifth_family(monkeypatch: pytest.MonkeyPatch) -> None:
    """The family that only tests know, in both registries."""
    from tests import unigrams

    unigrams.register(monkeypatch)
