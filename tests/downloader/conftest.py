import pytest

from tests.downloader.impatient_client import new_client
from tests.downloader.made_up_answers import N_PAGES
from tests.downloader.mediawiki import running_mediawiki
from tests.downloader.synthetic_wiki import Scripted, SyntheticWiki, serving


@pytest.fixture(autouse=True)
def _no_surroundings(monkeypatch):
    """Loopback is asked directly, whatever proxy the machine has."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def client(request, tmp_path):
    """A client with the settings that the module calls `CLIENT`, if it does."""
    client = new_client(tmp_path, **getattr(request.module, "CLIENT", {}))
    yield client
    client.close()


@pytest.fixture(scope="session")
def wiki(tmp_path_factory):
    yield from running_mediawiki(tmp_path_factory.mktemp("mediawiki"))


@pytest.fixture
def made_up():
    """A wiki, what it was asked, and where it is."""
    wiki = SyntheticWiki(N_PAGES)
    recorded = Scripted(wiki.answer)
    with serving(recorded) as url:
        yield wiki, recorded, url
