"""Clusters that tests of one file share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.pipeline.cluster.workers import threads_as_workers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.cluster.cluster import Cluster


@pytest.fixture(scope="module")
def two() -> Iterator[Cluster]:
    """Two workers of one thread, in this process."""
    with threads_as_workers(2) as cluster:
        yield cluster
