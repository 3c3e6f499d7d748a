"""What all tests share."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import tempfile
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from corpora import Annotation

# A busy machine is no fault of the code: laws are checked without a clock. Laws that do not say of
# how many examples have a hundred, and fewer where the slow tests are left out.
settings.register_profile("thorough", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=25)


SESSION_CACHE = pytest.StashKey[tempfile.TemporaryDirectory[str]]()
NUMBERS = count()
MUCH_BYTES = 50_000_000
LEFT = [0]
"""What was resident when memory was last given back, as the search for garbage takes long."""


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("quick" if "not slow" in config.option.markexpr else "thorough")
    # Results that fixtures of several tests compute, and those of the user, are none of a test's.
    config.stash[SESSION_CACHE] = tempfile.TemporaryDirectory(prefix="wikitopics-cache-")
    os.environ["WIKITOPICS_CACHE"] = config.stash[SESSION_CACHE].name
    os.environ["WIKITOPICS_COMPILE_AHEAD"] = "0"  # tests that compile ahead say so
    os.fsync = os.fstat  # which checks the descriptor, and does not wait for the disk


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[SESSION_CACHE].cleanup()


def pytest_collectstart() -> None:
    """Search for no garbage while tests are collected: what that makes stays."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave what the collection made out of all later searches for garbage."""
    gc.enable()
    gc.collect()
    gc.freeze()


def resident_bytes() -> int:
    """Return the memory of this process; 0 where it cannot be read."""
    if sys.platform != "linux":
        return 0
    pages = Path("/proc/self/statm").read_text("ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture(autouse=True, scope="module")
def _memory_given_back(request: pytest.FixtureRequest) -> Iterator[None]:
    """Give the memory of a module's tests back to the system, if it is much, and what it cached."""
    yield
    for each in vars(request.module).values():
        if hasattr(each, "cache_clear") and each.__module__ == request.module.__name__:
            each.cache_clear()
    if sys.platform != "linux" or resident_bytes() > LEFT[-1] + MUCH_BYTES:
        gc.collect()
        if sys.platform == "linux":
            ctypes.CDLL(None).malloc_trim(0)
        LEFT[:] = [resident_bytes()]


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


@pytest.fixture(scope="module")
def annotated_once() -> Iterator[None]:
    """Annotate the same texts once: a search does it for each number of topics."""
    from corpora.tokens.fast_annotator import FastAnnotator

    annotate, found = FastAnnotator.annotate, {}

    def annotated(self: FastAnnotator, texts: Iterable[str]) -> Annotation:
        texts = tuple(texts)
        if texts not in found:
            found[texts] = annotate(self, texts)
        return found[texts]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FastAnnotator, "annotate", annotated)
        yield
