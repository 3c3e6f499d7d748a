"""Clusters that tests of one file share."""

import pytest

from tests.pipeline.cluster.workers import threads_as_workers


@pytest.fixture(scope="module")
def two():
    """Two workers of one thread, in this process."""
    with threads_as_workers(2) as cluster:
        yield cluster
