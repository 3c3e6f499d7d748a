"""`download`: a source into an article store."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora import ArticleStore
from corpora.worker_pool import available_cores
from downloader.sources import read_source, sample_path
from pipeline.errors import UsageError
from pipeline.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from corpora import Article
    from pipeline.settings import DownloadSettings

SHARD, SAMPLE_SHARD = 100, 10
"""Articles in a shard, which is the unit of work of the text stage."""


def download(settings: DownloadSettings) -> dict[str, Any]:
    """Add the articles of a source to a store; those that it has are passed over.

    Given again after an interruption it goes on where it was, with the same result.
    """
    if settings.source == "sample":
        if settings.input:
            raise UsageError("--source sample brings its own file: leave --input out")
        path = str(sample_path())
    elif settings.input:
        path = settings.input
    else:
        raise UsageError(f"--source {settings.source} needs the file to read: --input FILE")
    if settings.limit is not None and settings.limit < 1:
        raise UsageError(f"--limit must be at least 1, found {settings.limit}")
    if not Path(path).exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    threads = settings.threads
    n_processes = threads if threads > 0 else max(1, available_cores() + 1 + threads)
    shard_size = SAMPLE_SHARD if settings.source == "sample" else SHARD
    store = ArticleStore(settings.output, shard_size)
    size = Path(path).stat().st_size if Path(path).is_file() else None
    with Progress("articles", size, "B") as progress:
        read = 0

        def progress_bytes(total: int) -> None:
            nonlocal read
            progress.update(total - read)
            read = total

        articles = read_source(
            settings.source,
            path,
            limit=settings.limit,
            language=settings.language,
            n_processes=n_processes,
            progress_bytes=progress_bytes,
        )
        n_read = 0

        def counted() -> Iterator[Article]:
            nonlocal n_read
            for article in articles:
                n_read += 1
                yield article

        added = store.append(counted())
    return {
        "output": settings.output,
        "added": added,
        "already_there": n_read - added,
        "articles": len(store),
    }


def print_download(result: dict[str, Any]) -> None:
    """One line for people."""
    there = result["already_there"]
    passed_over = f", {there:,} passed over as already there" if there else ""
    print(
        f"{result['output']}: {result['added']:,} articles added{passed_over}, "
        f"{result['articles']:,} in all"
    )
