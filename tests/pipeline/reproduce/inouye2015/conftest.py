import pytest

from tests.pipeline.reproduce.inouye2015.small_models import documents, split_counts


@pytest.fixture
def split():
    return split_counts(documents())
