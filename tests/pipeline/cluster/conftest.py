import pytest

from tests.pipeline.cluster.workers import threads_as_workers


@pytest.fixture(scope="module")
def two():
    with threads_as_workers(2) as cluster:
        yield cluster
