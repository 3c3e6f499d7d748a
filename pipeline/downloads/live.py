"""Download from a live wiki or another server, with rate limit, estimate and progress."""

import logging
import math
import re
from contextlib import closing
from pathlib import Path
from typing import Any

from corpora import ArticleStore
from downloader.category import Category, check_name
from downloader.cirrus import CirrusShards
from downloader.contact import check_contact, user_agent
from downloader.crawl import CrawlReport, crawl
from downloader.estimate import estimate
from downloader.http_client import PoliteClient
from downloader.live import BATCH_SIZE, Batch, LiveSource, TextForm
from downloader.mediawiki_api import MediaWikiApi
from downloader.random_pages import RandomPages
from downloader.rate_limit import RateLimiter
from downloader.service import is_wikimedia, rate_limit_path, service_of
from downloader.titles import Titles
from pipeline.downloads.job import Status
from pipeline.downloads.one_wiki import refuse_another_wiki
from pipeline.errors import UsageError
from pipeline.progress import Progress
from pipeline.settings import DownloadSettings, is_address

logger = logging.getLogger(__name__)

MAX_OF_WIKIMEDIA = 200  # Requests a minute that Wikimedia allows without login
USUAL_BURST = 4  # Requests in any second, unless more than 240 a minute are allowed


def check(settings: DownloadSettings) -> None:
    """Refuse impossible settings before any request.

    Raises UsageError, ContactError or SourceError if address, contact, rate or category cannot be
    used.
    """
    address = wiki_address(settings)
    service_of(address)
    if settings.source == "category":
        check_name(settings.input)
    check_contact(settings.contact, address)
    if is_wikimedia(address) and settings.requests_per_minute > MAX_OF_WIKIMEDIA:
        raise UsageError(
            f"Wikimedia allows {MAX_OF_WIKIMEDIA} requests a minute: lower "
            "--requests-per-minute, or use a dump (--source dump)"
        )


def wiki_address(settings: DownloadSettings) -> str:
    """Return the address of requests: api.php of a wiki, or the folder of cirrus files."""
    if settings.source == "cirrus":
        return settings.input
    if settings.api:
        if not is_address(settings.api) or not settings.api.endswith("/api.php"):
            raise UsageError(
                "--api must be the address of a wiki's api.php, such as "
                f"https://en.wikipedia.org/w/api.php; found {settings.api!r}"
            )
        return settings.api
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", settings.language):
        raise UsageError(f"--language must be a code such as en or zh-min-nan: {settings.language}")
    return f"https://{settings.language}.wikipedia.org/w/api.php"


def download(settings: DownloadSettings, status: Status, store: ArticleStore) -> dict[str, Any]:
    """Crawl, with a progress bar here and the status file for other processes."""
    address = wiki_address(settings)
    directory = Path(settings.output) / "download"
    path = rate_limit_path(address, directory)
    limiter = RateLimiter(path, settings.requests_per_minute, _burst(settings))
    client = PoliteClient(user_agent(settings.contact), limiter, patience=settings.patience * 60)
    client.on_trouble = status.trouble
    source = _live_source(settings, client, store, directory)
    stored_before = len(store) if store.exists else 0
    total = source.total()
    total = settings.limit if total is None else min(total, settings.limit or total)
    with closing(client), Progress("articles", total, "articles") as progress:
        reached = 0

        def on_progress(report: CrawlReport, _: Batch) -> None:
            nonlocal reached
            status.update(
                report.total_added,
                articles=stored_before + report.added,
                of=total,
                requests=client.n_requests,
                bytes=client.n_bytes,
                skipped=report.skipped,
            )
            progress.update(report.total_added - reached)
            reached = report.total_added

        report = crawl(store, source, directory, settings.limit, on_progress)
        if isinstance(source, CirrusShards) and report.finished:
            source.clear()
    return {
        "output": settings.output,
        "added": report.added,
        "already_there": report.already_there,
        "articles": len(store),
        "skipped": report.skipped,
        "finished": report.finished,
        "requests": client.n_requests,
        "bytes": client.n_bytes,
    }


def _live_source(
    settings: DownloadSettings, client: PoliteClient, store: ArticleStore, directory: Path
) -> LiveSource:
    if settings.source == "cirrus":
        shards = CirrusShards(client, settings.input, directory, n_processes=settings.n_processes)
        refuse_another_wiki(store, shards.language, shards.site)
        logger.info("how long it takes shows as it goes: the files do not say what is in them")
        return shards
    api = MediaWikiApi(client, wiki_address(settings))
    site = api.site().site
    refuse_another_wiki(store, site.language, site.article_path)
    source: LiveSource
    text: TextForm = "html" if settings.text == "html" else "wikitext"
    if settings.source == "titles":
        source = Titles(api, settings.input, text)
    elif settings.source == "category":
        source = Category(api, settings.input, settings.depth, text)
    else:
        source = RandomPages(api, text)
    _say_how_long(settings, api, source, text)
    return source


def _say_how_long(
    settings: DownloadSettings, api: MediaWikiApi, source: LiveSource, text: TextForm
) -> None:
    """Log the expected time before the first request, and whether a dump would be faster."""
    total = source.total()
    n_articles = settings.limit if total is None else min(total, settings.limit or total)
    if n_articles is None:
        logger.info(
            "how many articles there are shows as they are listed; at most %s a minute",
            f"{settings.requests_per_minute * (1 if text == 'html' else BATCH_SIZE):,}",
        )
        return
    expected = estimate(
        api.site(),
        n_articles,
        text,
        any_articles=settings.source == "random",
        per_minute=settings.requests_per_minute,
        per_second=_burst(settings),
        n_processes=settings.n_processes,
    )
    logger.info("%s", expected.sentence)


def _burst(settings: DownloadSettings) -> int:
    return max(USUAL_BURST, math.ceil(settings.requests_per_minute / 60))
