"""Download from a live wiki or another server, with rate limit, estimate and progress."""

import logging
import math
import re
from collections.abc import Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

from corpora import ArticleStore
from downloader.category import Category, check_name
from downloader.cirrus import CirrusShards
from downloader.contact import check_contact, user_agent
from downloader.content import ContentFiles, Place, place_of
from downloader.crawl import CrawlReport, crawl
from downloader.dump_files import DumpFiles
from downloader.estimate import estimate
from downloader.http_client import PoliteClient
from downloader.live import BATCH_SIZE, Batch, LiveSource, TextForm
from downloader.mediawiki_api import MediaWikiApi
from downloader.random_pages import RandomPages
from downloader.rate_limit import RateLimiter
from downloader.service import is_wikimedia, rate_limit_path, service_of
from downloader.titles import Titles
from pipeline.downloads.filters import page_filter
from pipeline.downloads.job import Status
from pipeline.downloads.one_wiki import refuse_another_wiki
from pipeline.errors import UsageError
from pipeline.progress import Progress
from pipeline.settings import DownloadSettings, is_address

logger = logging.getLogger(__name__)

MAX_CONNECTIONS = 3  # Connections an address that Wikimedia's dump servers allow
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
    if not 1 <= settings.connections <= MAX_CONNECTIONS:
        raise UsageError(
            f"--connections must be from 1 to {MAX_CONNECTIONS}, found {settings.connections}: the"
            " dump servers allow that many an address, and block those who take more"
        )
    check_contact(settings.contact, address)
    if is_wikimedia(address) and settings.requests_per_minute > MAX_OF_WIKIMEDIA:
        raise UsageError(
            f"Wikimedia allows {MAX_OF_WIKIMEDIA} requests a minute: lower "
            "--requests-per-minute, or use a dump (--source content)"
        )


def wiki_address(settings: DownloadSettings) -> str:
    """Return the address of requests: api.php of a wiki, or the folder of a dump's files."""
    if settings.source == "cirrus":
        return settings.input
    if settings.source == "content":
        return place(settings).url
    if settings.api:
        if not is_address(settings.api) or not settings.api.endswith("/api.php"):
            raise UsageError(
                "--api must be the address of a wiki's api.php, such as "
                f"https://en.wikipedia.org/w/api.php; found {settings.api!r}"
            )
        return settings.api
    return f"https://{checked_language(settings)}.wikipedia.org/w/api.php"


def place(settings: DownloadSettings) -> Place:
    """Return the place of a wiki's dumps; without an input, of the Wikipedia in a language."""
    return place_of(settings.input or f"{checked_language(settings).replace('-', '_')}wiki")


def checked_language(settings: DownloadSettings) -> str:
    """Return the language. Raises UsageError unless it is a code, as of a Wikipedia."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", settings.language):
        raise UsageError(f"--language must be a code such as en or zh-min-nan: {settings.language}")
    return settings.language


def download(settings: DownloadSettings, status: Status, store: ArticleStore) -> dict[str, Any]:
    """Crawl, with a progress bar here and the status file for other processes."""
    directory = Path(settings.output) / "download"
    clients = _clients(settings, status, directory)
    stored_before = len(store) if store.exists else 0
    with ExitStack() as stack:
        for client in clients:
            stack.enter_context(closing(client))
        source = _live_source(settings, clients, store, directory)
        total = source.total()
        total = settings.limit if total is None else min(total, settings.limit or total)
        progress = stack.enter_context(Progress("articles", total, "articles"))
        reached = 0
        if isinstance(source, DumpFiles):
            status.files = source.file_progress
            source.on_wait = lambda: progress.wait(fetched())

        def fetched() -> str:
            n_bytes = status.files.fetched_bytes if status.files else 0
            return f"{n_bytes / 1e6:,.0f} MB fetched" if n_bytes else ""

        def on_progress(report: CrawlReport, _: Batch) -> None:
            nonlocal reached
            status.update(
                report.total_added,
                articles=stored_before + report.added,
                of=total,
                requests=sum(client.n_requests for client in clients),
                bytes=sum(client.n_bytes for client in clients),
                skipped=report.skipped,
            )
            progress.update(report.total_added - reached, fetched())
            reached = report.total_added

        report = crawl(store, source, directory, settings.limit, on_progress)
        if isinstance(source, DumpFiles) and report.finished:
            source.clear()
    return {
        "output": settings.output,
        "added": report.added,
        "already_there": report.already_there,
        "articles": len(store),
        "skipped": report.skipped,
        "finished": report.finished,
        "requests": sum(client.n_requests for client in clients),
        "bytes": sum(client.n_bytes for client in clients),
    }


def _clients(settings: DownloadSettings, status: Status, directory: Path) -> list[PoliteClient]:
    """Return a client for each connection, each with a request in flight at most.

    The first shares its rate limit with all downloads of this user from the service, the others
    with the second and third connections of all.
    """
    path = rate_limit_path(wiki_address(settings), directory)
    clients = []
    for number in range(1, settings.connections + 1 if settings.is_dump_on_server else 2):
        limiter = RateLimiter(
            path if number == 1 else path.with_name(f"{path.name}-{number}"),
            settings.requests_per_minute,
            _burst(settings),
        )
        client = PoliteClient(
            user_agent(settings.contact), limiter, patience=settings.patience * 60
        )
        client.on_trouble = status.trouble
        clients.append(client)
    return clients


def _live_source(
    settings: DownloadSettings,
    clients: Sequence[PoliteClient],
    store: ArticleStore,
    directory: Path,
) -> LiveSource:
    if settings.is_dump_on_server:
        return _dump_files(settings, clients, store, directory)
    api = MediaWikiApi(clients[0], wiki_address(settings))
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


def _dump_files(
    settings: DownloadSettings,
    clients: Sequence[PoliteClient],
    store: ArticleStore,
    directory: Path,
) -> CirrusShards | ContentFiles:
    # With a limit, the file after the one that is read may not be needed.
    n_ahead = 0 if settings.limit else len(clients)
    keep_in = Path(settings.output) / "files" if settings.keep_files else None
    source: CirrusShards | ContentFiles
    if settings.source == "cirrus":
        source = CirrusShards(
            clients,
            settings.input,
            directory,
            n_processes=settings.n_processes,
            n_ahead=n_ahead,
            keep_in=keep_in,
        )
    else:
        source = ContentFiles(
            clients,
            place(settings),
            directory,
            settings.date,
            wanted=page_filter(settings),
            n_processes=settings.n_processes,
            n_ahead=n_ahead,
            keep_in=keep_in,
            on_site=partial(refuse_another_wiki, store),
        )
    refuse_another_wiki(store, source.language, source.site)
    logger.info("how long it takes shows as it goes: the files do not say what is in them")
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
