"""`download`: a source into an article store."""

import logging
import math
import re
from collections.abc import Callable, Iterator
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

from corpora import Article, ArticleStore, CorpusFormatError
from corpora.articles.page import Skipped
from corpora.articles.remote import is_url
from corpora.articles.writer import ArticleWriter
from downloader.file_progress import FileProgress
from downloader.sources import export_files, read_exports, read_source, sample_path
from pipeline.downloads import tables
from pipeline.downloads.filters import page_filter, warn_if_nothing_passed
from pipeline.downloads.job import DownloadJob, Status
from pipeline.downloads.one_wiki import refuse_file_of_another_wiki
from pipeline.errors import UsageError, check_exists
from pipeline.progress import Progress
from pipeline.setting_sources import check_least
from pipeline.settings import DownloadSettings, is_address

logger = logging.getLogger(__name__)

SHARD, SAMPLE_SHARD = 100, 10  # Articles in a shard, which is the unit of work of the text stage

NEEDS = {
    "titles": "a file with a title a line",
    "category": "the name of a category",
    "dump": "the file to read, or a folder of such files",
    "jsonl": "the file to read",
    "cirrus": "the file to read, or the address of a directory of such files",
    "csv": "the file to read",
    "parquet": "the file to read, or a folder of such files",
    "folder": "the folder of .txt files",
}


def download(settings: DownloadSettings) -> dict[str, Any]:
    """Add the articles of a source to a store; articles that it has are skipped.

    After an interruption the same call resumes, with the same result.
    """
    check(settings)
    by_name = {"sample": "the built-in sample", "random": "random articles"}
    what = by_name.get(settings.source, f"{settings.source} {settings.input}")
    if settings.is_live:
        from pipeline.downloads import live  # noqa: PLC0415 - only live sources need it

        address = live.wiki_address(settings)
        what += "" if address == settings.input else f" of {address}"
    logger.info("reading %s into %s", what, settings.output)
    with DownloadJob(settings.output).held(settings) as status:
        if settings.is_live:
            store = ArticleStore(settings.output, SHARD)
            result = live.download(settings, status, store)
        elif settings.source in tables.SOURCES:
            result = _from_table(settings, status)
        else:
            result = _from_file(settings, status)
    warn_if_nothing_passed(settings, result, status)
    return result


def start_in_background(settings: DownloadSettings) -> dict[str, Any]:
    """Download in a separate process; return as soon as it has begun."""
    check(settings)
    return DownloadJob(settings.output).start_in_background(settings)


def verify(settings: DownloadSettings) -> dict[str, Any]:
    """Check every shard of the store."""
    store = ArticleStore(settings.output)
    entries = store.entries
    logger.info("checking %s shards of %s", f"{len(entries):,}", settings.output)
    store.verify()
    return {
        "output": settings.output,
        "articles": sum(entry.articles for entry in entries),
        "shards": len(entries),
        "bytes": sum(entry.bytes for entry in entries),
    }


def export(settings: DownloadSettings, path: str) -> dict[str, Any]:
    """Write the articles of the store to one file."""
    from corpora.articles.export import export_articles  # noqa: PLC0415

    logger.info("writing the articles of %s to %s", settings.output, path)
    try:
        n_articles = export_articles(ArticleStore(settings.output), path)
    except CorpusFormatError:
        raise
    except ValueError as error:
        raise UsageError(str(error)) from error
    return {"output": settings.output, "file": path, "articles": n_articles}


def check(settings: DownloadSettings) -> None:
    """Refuse impossible settings before anything slow begins.

    Raises UsageError, ContactError or FileNotFoundError if a setting or the input cannot be used.
    """
    if settings.source in ("sample", "random"):
        if settings.input:
            raise UsageError(f"--source {settings.source} takes no input: leave --input out")
    elif not settings.input and settings.source != "content":
        raise UsageError(
            f"--source {settings.source} needs {NEEDS[settings.source]}: --input INPUT"
        )
    if settings.source not in ("csv", "parquet") and (settings.text_column or settings.id_column):
        raise UsageError(f"--source {settings.source} has no columns to name")
    _check_dump_settings(settings)
    check_least(settings, limit=1)
    if settings.depth < 0:
        raise UsageError(f"--depth must not be negative, found {settings.depth}")
    if not (settings.patience > 0 and math.isfinite(settings.patience)):
        raise UsageError(f"--patience must be a positive number of minutes: {settings.patience}")
    if settings.requests_per_minute < 1:
        raise UsageError(f"--requests-per-minute must be positive: {settings.requests_per_minute}")
    _check_file(settings)
    if is_url(settings.output):
        raise UsageError(
            f"--output {settings.output}: stores are filled in a directory; copy or serve that"
        )
    if settings.is_live:
        from pipeline.downloads import live  # noqa: PLC0415 - only live sources need it

        live.check(settings)


def _check_dump_settings(settings: DownloadSettings) -> None:
    """Refuse settings of dumps that the source does not have, or that cannot be used."""
    sources = {
        "date": ("content",),
        "titles": ("content", "dump"),
        "category": ("content", "dump"),
        "keep_files": ("content", "cirrus"),
    }
    for name, those in sources.items():
        if getattr(settings, name) and settings.source not in those:
            raise UsageError(
                f"--{name.replace('_', '-')} is a setting of --source {' and '.join(those)}, not"
                f" of --source {settings.source}"
            )
    if settings.date and not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", settings.date):
        raise UsageError(f"--date must be a date such as 2026-09-01, found {settings.date!r}")
    if settings.titles:
        check_exists(settings.titles)
    page_filter(settings)


def _check_file(settings: DownloadSettings) -> None:
    if settings.source not in ("titles", "dump", "jsonl", "cirrus", *tables.SOURCES):
        return
    if is_address(settings.input):
        if settings.source != "cirrus":
            raise UsageError(
                f"--source {settings.source} reads a file: download {settings.input} first"
            )
    else:
        check_exists(settings.input)
        if settings.source == "dump":
            export_files(Path(settings.input))
        if settings.source in tables.SOURCES:
            tables.table_of(settings)  # a column that is not there is told at once


def _from_file(settings: DownloadSettings, status: Status) -> dict[str, Any]:
    path = str(sample_path()) if settings.source == "sample" else settings.input
    shard_size = SAMPLE_SHARD if settings.source == "sample" else SHARD
    store = ArticleStore(settings.output, shard_size)
    n_before = len(store) if store.exists else 0
    refuse_file_of_another_wiki(settings.source, store, path)
    sizes = _sizes_of(settings, path)
    status.files = files = FileProgress()
    files.start(sizes)
    with store.writer() as writer, Progress("articles", sum(sizes) or None, "B") as progress:
        read = n_read = 0

        def progress_bytes(total: int) -> None:
            nonlocal read
            progress.update(total - read)
            read = files.read_bytes = total
            files.n_done = sum(end <= total for end in accumulate(sizes))

        for found in islice(_read(settings, path, writer, progress_bytes), settings.limit):
            n_read += 1
            if isinstance(found, Article):
                writer.add(found)
                if writer.n_pending >= shard_size:
                    writer.commit()
            if n_read % SHARD == 0:
                n_stored = n_before + writer.n_added - writer.n_pending
                status.update(n_read, bytes=read, articles=n_stored)
    added = writer.n_added
    status.update(n_read, bytes=read)
    return {
        "output": settings.output,
        "added": added,
        "already_there": n_read - added,
        "articles": len(store),
    }


def _read(
    settings: DownloadSettings,
    path: str,
    writer: ArticleWriter,
    progress_bytes: Callable[[int], None],
) -> Iterator[Article | Skipped]:
    """Yield the articles of files, and a mark for each that the store has, where that is known
    before it is parsed.
    """
    if settings.source != "dump":
        yield from read_source(
            settings.source,
            path,
            language=settings.language,
            n_processes=settings.n_processes,
            progress_bytes=progress_bytes,
        )
        return
    for found in read_exports(
        Path(path),
        n_processes=settings.n_processes,
        known=writer.has if len(ArticleStore(settings.output)) else None,
        wanted=page_filter(settings),
        progress_bytes=progress_bytes,
    ):
        if isinstance(found, Article) or found.reason == "known":
            yield found


def _sizes_of(settings: DownloadSettings, path: str) -> list[int]:
    """Return the bytes of a file, or of each export of a folder; none if they are not known."""
    files = export_files(Path(path)) if settings.source == "dump" else [Path(path)]
    return [file.stat().st_size for file in files] if all(map(Path.is_file, files)) else []


def _from_table(settings: DownloadSettings, status: Status) -> dict[str, Any]:
    store = ArticleStore(settings.output, SHARD)
    found = tables.table_of(settings)
    record = tables.begin_record(found, store)
    logger.info("%s", record.describe)
    n_read = 0
    with Progress("articles", settings.limit, "articles") as progress:

        def counted() -> Iterator[Article]:
            nonlocal n_read
            for article in islice(found.articles(), settings.limit):
                n_read += 1
                if n_read % SHARD == 0:
                    progress.update(SHARD)
                    status.update(n_read, articles=None)  # which are stored is not known here
                yield article

        added = store.append(counted())
    status.update(n_read)
    tables.end_record(record, store, n_read)
    return {
        "output": settings.output,
        "added": added,
        "already_there": n_read - added,
        "articles": len(store),
    }
