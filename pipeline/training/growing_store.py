"""Article store that a download is filling."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from corpora import ArticleStore, CorpusFormatError
from downloader.crawl import download_is_running

if TYPE_CHECKING:
    from collections.abc import Sequence

    from corpora.articles.manifest import ShardEntry

POLL_SECONDS = 0.5


class GrowingStore:
    """Shards of a store that grows.

    Once no download is running, the articles are settled: articles of a later download are ignored,
    so that results do not depend on the moment of a refresh.

    Parameters
    ----------
    articles
        Store; it need not exist yet while a download is running.
    known
        SHA-256 of the shards that were read before; the store must begin with them.
    is_settled
        Whether the known shards are all shards to read.
    """

    def __init__(
        self, articles: ArticleStore, known: Sequence[str] = (), *, is_settled: bool = False
    ) -> None:
        self.articles = articles
        self.entries: tuple[ShardEntry, ...] = ()
        """Shards at the last refresh."""
        self.is_settled = False
        """Whether no more shards will come."""
        self._known = list(known)
        self._was_settled = is_settled
        self._seen: tuple[int, ...] | None = None

    @property
    def n_articles(self) -> int:
        """Number of articles at the last refresh."""
        return sum(entry.articles for entry in self.entries)

    def refresh(self) -> None:
        """Read the list of shards again; cheap if nothing has changed.

        Raises CorpusFormatError if the store is damaged, does not begin with the known shards, or
        is missing while no download is running.
        """
        if self.is_settled:
            return
        # In this order: what is read after the download has ended is complete.
        is_filled = not self._was_settled and download_is_running(self.articles.path)
        stamp = self._stamp()
        if stamp is None and is_filled:
            return
        if stamp is None or stamp != self._seen:
            self._read()
            self._seen = stamp
        self.is_settled = not is_filled

    def wait(self) -> None:
        """Wait before the next refresh."""
        time.sleep(POLL_SECONDS)

    def _stamp(self) -> tuple[int, ...] | None:
        """Stamp of the list of shards, which changes with it; None if there is no list."""
        try:
            status = (self.articles.path / "manifest.jsonl").stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns

    def _read(self) -> None:
        entries = self.articles.entries
        if [entry.sha256 for entry in entries[: len(self._known)]] != self._known:
            raise CorpusFormatError(
                f"{self.articles.path} does not begin with the articles that this run has learned "
                "from: bring them back, or choose another --run"
            )
        self.entries = entries[: len(self._known)] if self._was_settled else entries
