"""Crawl: from a live source into a store, without losses or duplicates after a kill at any time.

A batch is stored first. Then its cursor is written to the file

    DIR/crawl-<hash of the source's identity>.json

After a kill between the two, the batch is received again and the store skips the articles that it
has. The file names the articles of a batch before they are stored, so that they are counted then
too.
"""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from corpora.errors import CorpusFormatError, UnsupportedVersionError
from corpora.files import TEMPORARY_SUFFIX, atomic_write_text, sha256_of
from corpora.lock import lock_holder
from downloader.answer import one_line
from downloader.file_download import check_free_space
from downloader.skip_log import SkipLog

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator, Mapping

    from corpora.articles.store import ArticleStore
    from corpora.articles.writer import ArticleWriter
    from downloader.live import Batch, LiveSource

logger = logging.getLogger(__name__)

FORMAT = "wikitopics crawl"
VERSION = 1
COMMIT_SECONDS = 60.0
"""Maximal time from the arrival of an article to a commit, which follows the end of a batch."""
UNSTORABLE = "cannot be stored"


@dataclass(frozen=True)
class CrawlReport:
    """Counts of a crawl."""

    added: int  #: Articles of this run, stored or pending.
    already_there: int  #: Articles that the store had before.
    skipped: dict[str, int]  #: Reason → number of pages skipped in this run.
    finished: bool  #: Whether the source has ended.
    total_added: int  #: Articles of this crawl over all its runs.


@dataclass
class CrawlState:
    """State of a crawl that is kept between its runs."""

    identity: dict[str, str | int]
    cursor: dict[str, Any] | None = None  #: Position of the source; None at its start.
    added: int = 0
    stored: int = 0  #: Articles in the store when the state was written.
    pending: list[list[str | int]] | None = None
    """Language and page id of the articles that are being stored."""
    next_cursor: dict[str, Any] | None = None  #: Position of the source after them.


def crawl(
    store: ArticleStore,
    source: LiveSource,
    directory: Path,
    limit: int | None = None,
    on_progress: Callable[[CrawlReport, Batch], None] | None = None,
    *,
    commit_seconds: float = COMMIT_SECONDS,
) -> CrawlReport:
    """Store the articles of a source, from the position where its last crawl stopped.

    Articles are stored at the end of a batch, once they fill a shard or `commit_seconds` have
    passed or the source asks for it, and when the crawl ends in any way, KeyboardInterrupt too.

    Parameters
    ----------
    store, source
        Destination and origin of the articles.
    directory
        Place of the file with the position of the source.
    limit : int, optional
        Maximal number of articles of this crawl over all its runs; a higher one continues it.
    on_progress : callable, optional
        Is called after each batch with a report and the batch.
    commit_seconds : float
        Seconds between commits, see above.

    Raises DownloadError if the wiki does not answer, or only with malformed answers;
    StoreLockedError if another process is writing to the store; OSError if the disk is almost full,
    for instance. The articles so far are stored.
    """
    with store.writer() as writer:
        directory.mkdir(parents=True, exist_ok=True)
        run = _Run(store, writer, source, directory, limit, commit_seconds)
        try:
            run.take_batches(on_progress)
            run.checkpoint()
        finally:
            try:
                run.checkpoint()  # also after an interrupt in the line above
            finally:
                run.skip_log.flush()
        return run.report()


class _Run:
    def __init__(
        self,
        store: ArticleStore,
        writer: ArticleWriter,
        source: LiveSource,
        directory: Path,
        limit: int | None,
        commit_seconds: float,
    ) -> None:
        self.store = store
        self.writer = writer
        self.source = source
        self.limit = limit
        self.commit_seconds = commit_seconds
        self.path = state_path(directory, source.identity)
        for partial in directory.glob(f".{self.path.name}.*{TEMPORARY_SUFFIX}"):
            partial.unlink(missing_ok=True)  # of a run that was killed
        self.n_before = len(store)
        self.state = read_state(self.path, source.identity, self.n_before)
        self.cursor = self.state.cursor  # after the last whole batch
        self.pending: list[list[str | int]] = []
        self.added = self.already_there = 0
        self.skipped: Counter[str] = Counter()
        self.skip_log = SkipLog()
        self.has_warned = False
        self.n_pending_characters = 0
        self.finished = False
        self.saved_at = time.monotonic()
        if self.state.pending is not None:
            self._settle()

    def take_batches(self, on_progress: Callable[[CrawlReport, Batch], None] | None) -> None:
        """Take batches until the source ends or the limit is reached."""
        if self.limit_reached():
            return
        self.check_free_space()
        generator = self.source.batches(
            # Some sources know their language when they have begun.
            self.cursor,
            lambda page_id: self.writer.has(self.source.language, page_id),
        )
        with closing(cast("Generator[Batch]", generator)) as batches:
            for batch in batches:
                is_whole = self.take(batch)
                if is_whole:
                    self.cursor = batch.cursor
                    self.finished = batch.finished
                self.check_free_space()
                if batch.commit or self.is_due():
                    self.checkpoint()
                if on_progress is not None:
                    on_progress(self.report(), batch)
                if self.limit_reached():
                    return
        self.finished = True

    def take(self, batch: Batch) -> bool:
        """Add the articles of a batch; return False if the limit was reached before its end."""
        self.already_there += batch.already_there
        skipped = {reason: list(names) for reason, names in batch.skipped.items()}
        is_whole = True
        for article in batch.articles:
            if self.limit_reached():
                is_whole = False
                break
            try:
                is_new = self.writer.add(article)
            except CorpusFormatError as error:
                self.log_unstorable(error)
                skipped.setdefault(UNSTORABLE, []).append(article.title)
                continue
            if is_new:
                self.pending.append([article.language, article.page_id])
                self.n_pending_characters += len(article.text)
            else:
                self.already_there += 1
        self.skipped.update({reason: len(names) for reason, names in skipped.items()})
        self.skip_log.note(skipped)
        return is_whole

    def log_unstorable(self, error: CorpusFormatError) -> None:
        """Log why an article cannot be stored, as a warning the first time."""
        level = logging.DEBUG if self.has_warned else logging.WARNING
        self.has_warned = True
        logger.log(level, "skipped: %s", one_line(str(error), 500))

    def check_free_space(self) -> None:
        """Raise OSError if the pending articles would use the reserve of the disk.

        They are stored when the crawl ends because of it: the reserve is kept for that.
        """
        check_free_space(self.store.path, self.n_pending_characters)

    def checkpoint(self) -> None:
        """Store the pending articles, then the position of the source."""
        if self.state.pending is not None:  # an interrupt came between the two steps
            self.writer.commit()
            self.added += self._settle()
        n_pending = self.writer.n_pending
        if n_pending:
            self.state.pending, self.state.next_cursor = self.pending, self.cursor
            self.save()
            self.writer.commit()
        if n_pending or self.cursor != self.state.cursor:
            self.state.added += n_pending
            self.state.cursor = self.cursor
            self.state.pending = self.state.next_cursor = None
            self.added += n_pending
            self.pending = []
            self.n_pending_characters = 0
            self.save()

    def save(self) -> None:
        """Write the state to its file."""
        self.saved_at = time.monotonic()
        self.state.stored = self.n_before + self.writer.n_added - self.writer.n_pending
        fields = {"format": FORMAT, "version": VERSION, **asdict(self.state)}
        atomic_write_text(self.path, json.dumps(fields) + "\n")

    def report(self) -> CrawlReport:
        """Return the counts so far."""
        n_pending = self.writer.n_pending
        return CrawlReport(
            added=self.added + n_pending,
            already_there=self.already_there,
            skipped=dict(self.skipped),
            finished=self.finished,
            total_added=self.state.added + n_pending,
        )

    def limit_reached(self) -> bool:
        """Whether this crawl has all articles that it may store."""
        return self.limit is not None and self.state.added + self.writer.n_pending >= self.limit

    def is_due(self) -> bool:
        """Whether the pending articles should be stored now."""
        if self.writer.n_pending >= self.store.shard_size:
            return True
        # With nothing pending, the position among known pages is still worth a save.
        since = self.writer.pending_since or self.saved_at
        return time.monotonic() - since >= self.commit_seconds

    def _settle(self) -> int:
        """Count the articles of an interrupted commit that were stored."""
        pending = self.state.pending or []
        stored = [key for key in pending if self.writer.has(str(key[0]), int(key[1]))]
        self.state.added += len(stored)
        if len(stored) == len(pending):
            self.state.cursor = self.cursor = self.state.next_cursor
        self.state.pending = self.state.next_cursor = None
        self.pending = []
        self.n_pending_characters = 0
        self.save()
        return len(stored)


def state_path(directory: Path, identity: Mapping[str, str | int]) -> Path:
    """Return the state file for the source with this identity."""
    name = sha256_of(json.dumps(identity, sort_keys=True).encode())[:16]
    return directory / f"crawl-{name}.json"


def read_state(path: Path, identity: dict[str, str | int], n_stored: int) -> CrawlState:
    """Return the state in a file; a new one if there is none, or if it belongs to another store.

    A damaged state costs the requests so far but no articles: the store knows those.

    Raises UnsupportedVersionError if a newer version of this software wrote it.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return CrawlState(identity)
    try:
        fields = json.loads(data)
        version = fields.pop("version")
        if fields.pop("format") != FORMAT:
            raise ValueError("of another format")
        if isinstance(version, int) and version > VERSION:
            raise UnsupportedVersionError(
                f"{path} was written by a newer wikitopics; upgrade to continue"
            )
        check_state(fields)
        state = CrawlState(**fields)
    except UnsupportedVersionError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        logger.warning("%s is damaged (%s): the source starts again", path, error)
        return CrawlState(identity)
    if state.identity != identity or state.stored > n_stored:
        logger.warning("%s belongs to another store: the source starts again", path)
        return CrawlState(identity)
    return state


def check_state(fields: Mapping[str, Any]) -> None:
    """Raise ValueError if a field has the wrong type."""
    for name in ("cursor", "next_cursor"):
        if not isinstance(fields[name], dict | None):
            raise ValueError(f"{name} is no object")  # noqa: TRY004
    for name in ("added", "stored"):
        if type(fields[name]) is not int or fields[name] < 0:
            raise ValueError(f"{name} is no count")
    keys = fields["pending"] or []
    if not isinstance(keys, list) or not all(
        isinstance(key, list) and [type(part) for part in key] == [str, int] for key in keys
    ):
        raise ValueError("the pending articles are malformed")


def download_is_running(store: str | os.PathLike[str]) -> bool:
    """Whether a process holds one of the locks of the store at the path `store`.

    A download holds the lock in `download` from its beginning to its end; any writer holds the lock
    of the store. A store that does not exist has no locks.
    """
    directories = (Path(store) / "download", Path(store))
    return any(lock_holder(directory) is not None for directory in directories)
