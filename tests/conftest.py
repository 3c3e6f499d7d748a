"""What all tests share."""

import pytest
from hypothesis import settings

# A busy machine is no fault of the code: laws are checked without a clock. Laws that do not say of
# how many examples have a hundred, and fewer where the slow tests are left out.
settings.register_profile("all", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=40)


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("quick" if "not slow" in config.option.markexpr else "all")


@pytest.fixture
def fifth_family(monkeypatch: pytest.MonkeyPatch) -> None:
    """The family that only tests know, in both registries."""
    from tests import unigrams

    unigrams.register(monkeypatch)
