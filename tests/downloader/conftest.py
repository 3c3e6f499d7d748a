"""What the tests of the downloader share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.downloader.impatient_client import new_client
from tests.downloader.made_up_answers import N_PAGES, MadeUp
from tests.downloader.mediawiki import running_mediawiki
from tests.downloader.synthetic_wiki import Scripted, SyntheticWiki, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from downloader.http_client import PoliteClient
    from tests.downloader.mediawiki import MediaWiki


@pytest.fixture(autouse=True)
def _no_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback is asked directly, whatever proxy the machine has."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PoliteClient]:
    """A client with the settings that the module calls `CLIENT`, if it does."""
    client = new_client(tmp_path, **getattr(request.module, "CLIENT", {}))
    yield client
    client.close()


@pytest.fixture(scope="session")
def wiki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MediaWiki]:
    """A real MediaWiki with the built-in sample and strange pages; tests only read it."""
    yield from running_mediawiki(tmp_path_factory.mktemp("mediawiki"))


@pytest.fixture
def made_up() -> Iterator[MadeUp]:
    """A wiki, what it was asked, and where it is."""
    wiki = SyntheticWiki(N_PAGES)
    recorded = Scripted(wiki.answer)
    with serving(recorded) as url:
        yield wiki, recorded, url
