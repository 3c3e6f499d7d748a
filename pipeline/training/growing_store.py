"""An article store while a download fills it: what is there by now, and whether more may come."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from corpora import CorpusFormatError
from downloader.running import download_is_running

if TYPE_CHECKING:
    from collections.abc import Sequence

    from corpora import ArticleStore
    from corpora.articles.manifest import ShardEntry

POLL_SECONDS = 0.5


class GrowingStore:
    """The shards of a store, as they come.

    Once nobody is found to be filling it, its articles are settled: what a later download adds is
    not looked at any more, so that what is learned does not depend on when one checks.

    Parameters
    ----------
    articles
        The store, which need not be there as long as a download is running.
    known
        SHA-256 of the shards that it must begin with, as those that were seen before.
    is_settled
        Whether the known shards are all that matter.
    """

    def __init__(
        self, articles: ArticleStore, known: Sequence[str] = (), *, is_settled: bool = False
    ) -> None:
        self.articles = articles
        self.entries: tuple[ShardEntry, ...] = ()
        """Those of the last look."""
        self.is_settled = False
        """Whether there are no more to come."""
        self._known = list(known)
        self._was_settled = is_settled
        self._seen: tuple[int, ...] | None = None

    @property
    def n_articles(self) -> int:
        """Articles that there are, as of the last look."""
        return sum(entry.articles for entry in self.entries)

    def refresh(self) -> None:
        """See how far the store is. Cheap where nothing has changed.

        Raises
        ------
        CorpusFormatError
            If the store is damaged, if it does not begin with the known shards, or if there is none
            and nobody is making one.
        """
        if self.is_settled:
            return
        # In this order: once nobody writes, what is read afterwards is all there will be.
        is_filled = not self._was_settled and download_is_running(self.articles.path)
        stamp = self._stamp()
        if stamp is None and is_filled:
            return
        if stamp is None or stamp != self._seen:
            self._read()
            self._seen = stamp
        self.is_settled = not is_filled

    def wait(self) -> None:
        """Until it is worth while to look again."""
        time.sleep(POLL_SECONDS)

    def _stamp(self) -> tuple[int, ...] | None:
        """What tells one state of the list of shards from another; None if there is no list."""
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
