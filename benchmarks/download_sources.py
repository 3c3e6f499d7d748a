"""Requests, bytes and time an article of each source, beside wikipedia-api and gensim's WikiCorpus.

    pip install wikipedia-api
    python -m benchmarks.download_sources

All of them take the same articles, those of the built-in sample, live ones from a real MediaWiki on
this machine (Debian's package `mediawiki` and PHP, as for the tests) through a proxy that counts
requests and the bytes of the answers as they were sent. There is no rate limit: the wiki is ours.
The last column is how much text came of it; WikiCorpus gives tokens without punctuation.

What the wiki does for an answer takes the greater part of the time, and its pages render without
most templates, so compare requests and bytes rather than seconds; on Wikipedia the rate limit
counts, and the column "at 200 a minute" says what the requests alone take then.
"""

from __future__ import annotations

import bz2
import json
import sys
import tempfile
import time
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import gensim.corpora.wikicorpus

from corpora import ArticleStore
from corpora.articles.mediawiki_xml import read_pages
from corpora.articles.page import page_to_article
from downloader.category import Category
from downloader.cirrus import read_cirrus
from downloader.crawl import crawl
from downloader.http_client import PoliteClient
from downloader.mediawiki_api import MediaWikiApi
from downloader.random_pages import RandomPages
from downloader.rate_limit import RateLimiter
from downloader.sources import sample_path
from downloader.titles import Titles
from tests.downloader import mediawiki
from tests.downloader.fault_proxy import FaultProxy
from tests.downloader.mediawiki import NEEDED, missing_packages, running_mediawiki

if TYPE_CHECKING:
    from collections.abc import Callable

    from downloader.live import LiveSource

FAST = 10**9


def report(name: str, n: int, seconds: float, n_requests: int, n_bytes: int, text: int) -> None:
    """One line of the table."""
    pace = f"{60 * n / n_requests * 200 / 60:9,.0f}" if n_requests else f"{'-':>9s}"
    print(
        f"{name:34s} {n:5d} {n_requests / n:9.3f} {n_bytes / n / 1e3:9.1f} {n / seconds:9.1f} "
        f"{pace} {text / n / 1e3:9.1f}",
        flush=True,
    )


class Counted:
    """Requests and bytes that went through the proxy since this was made."""

    def __init__(self, proxy: FaultProxy) -> None:
        self._proxy = proxy
        self._before = len(proxy.requests)
        self._started = time.perf_counter()

    def report(self, name: str, n: int, text: int) -> None:
        """One line, of `n` articles with so many characters of text."""
        seconds = time.perf_counter() - self._started
        requests = self._proxy.requests[self._before :]
        report(name, n, seconds, len(requests), sum(each.n_bytes for each in requests), text)


def ours(
    name: str, proxy: FaultProxy, folder: Path, make: Callable[[MediaWikiApi], LiveSource]
) -> None:
    """One of our live sources, into a store of its own."""
    store = ArticleStore(folder / name.replace(" ", "-"), 100)
    client = PoliteClient("wikitopics-benchmark", RateLimiter(folder / "rate", FAST, FAST))
    counted = Counted(proxy)
    crawl(store, make(MediaWikiApi(client, proxy.url)), store.path / "download")
    articles = list(store)
    counted.report(name, len(articles), sum(len(article.text) for article in articles))
    client.close()


def wikipedia_api(proxy: FaultProxy, titles: list[str]) -> None:
    """The package `wikipedia-api`: `page(title).text`, one after the other."""
    try:
        import wikipediaapi  # noqa: PLC0415 - not a dependency
    except ImportError:
        print("wikipedia-api is not installed: pip install wikipedia-api")
        return

    class Local(wikipediaapi.Wikipedia):  # type: ignore[misc]
        @staticmethod
        def _build_url(language: str) -> str:
            del language
            return proxy.url

    wiki = Local(user_agent="wikitopics-benchmark (test@wikitopics.invalid)", language="en")
    counted = Counted(proxy)
    texts = [wiki.page(title).text for title in titles]
    found = [text for text in texts if text]
    counted.report(f"wikipedia-api {version('wikipedia-api')}", len(found), sum(map(len, found)))


def from_files(folder: Path) -> None:
    """What reads files: the dump by us and by gensim, and the same as a search-index dump."""
    dump = sample_path()
    size = dump.stat().st_size
    started = time.perf_counter()
    articles = [article for page in read_pages(dump) if (article := page_to_article(page))]
    seconds = time.perf_counter() - started
    text = sum(len(article.text) for article in articles)
    report("dump", len(articles), seconds, 0, size, text)

    started = time.perf_counter()
    corpus = gensim.corpora.wikicorpus.WikiCorpus(str(dump), processes=2, dictionary={})
    tokens = [sum(len(token) + 1 for token in tokens) for tokens in corpus.get_texts()]
    seconds = time.perf_counter() - started
    report(f"gensim {gensim.__version__} WikiCorpus", len(tokens), seconds, 0, size, sum(tokens))

    for what, fields in (("wikitext", ("source_text",)), ("extracted", ("text",))):
        path = folder / f"enwiki-cirrus-{what}.json.bz2"
        text_of = {article.page_id: article.text for article in articles}
        lines = []
        for page in read_pages(dump):
            document = {
                "title": page.title,
                "namespace": 0,
                "wiki": "enwiki",
                "version": page.revision_id,
                "timestamp": page.timestamp,
                fields[0]: page.wikitext if what == "wikitext" else text_of[page.page_id],
            }
            lines += [json.dumps({"index": {"_id": page.page_id}}), json.dumps(document)]
        path.write_bytes(bz2.compress(("\n".join(lines) + "\n").encode()))
        started = time.perf_counter()
        found = list(read_cirrus(path))
        seconds = time.perf_counter() - started
        n_characters = sum(len(article.text) for article in found)
        report(f"cirrus, {what}", len(found), seconds, 0, path.stat().st_size, n_characters)


def main() -> None:
    if missing_packages():
        sys.exit(f"the benchmark {NEEDED}")
    print(__doc__.split("\n\n")[2])
    print(
        f"\n{'source':34s} {'found':>5s} {'requests':>9s} {'kB':>9s} {'articles':>9s} "
        f"{'articles':>9s} {'kB of':>9s}\n{'':34s} {'':5s} {'/article':>9s} {'/article':>9s} "
        f"{'/s':>9s} {'/min, 200':>9s} {'text':>9s}"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        listed = folder / "titles.txt"
        titles = [page.title for page in read_pages(sample_path())]
        listed.write_text("\n".join(titles) + "\n")
        (folder / "wiki").mkdir()
        mediawiki.strange_pages, mediawiki.GONE = list, ()  # the sample alone, not the tests' own
        mediawiki.LARGEST_ANSWER = 8 * 2**20  # MediaWiki's default; the tests have theirs cut up
        with (
            contextmanager(running_mediawiki)(folder / "wiki") as wiki,
            FaultProxy(wiki.url) as proxy,
        ):
            ours("random, wikitext", proxy, folder, RandomPages)
            ours("titles, wikitext", proxy, folder, lambda api: Titles(api, listed))
            ours("category, wikitext", proxy, folder, lambda api: Category(api, "Everything", 0))
            ours("titles, html", proxy, folder, lambda api: Titles(api, listed, "html"))
            wikipedia_api(proxy, titles)
        from_files(folder)


if __name__ == "__main__":
    main()
