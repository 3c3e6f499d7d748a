"""From a live source into a store, so that nothing is lost or twice whenever it is killed.

The articles come first and the cursor second: a batch is stored, then the file

    DIR/crawl-<hash of the source's identity>.json

says that the source is to go on behind it. Killed between the two, the batch comes again and the
store passes over what it has. So that its articles are counted nonetheless, the file names the
articles that are about to be stored before they are.
"""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, cast

from corpora.errors import CorpusFormatError, UnsupportedVersionError
from corpora.files import TEMPORARY_SUFFIX, atomic_write_text, sha256_of
from downloader.answer import one_line
from downloader.file_download import make_sure_of_space
from downloader.skip_log import SkipLog

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from pathlib import Path

    from corpora.articles.store import ArticleStore
    from corpora.articles.writer import ArticleWriter
    from downloader.live import Batch, LiveSource

logger = logging.getLogger(__name__)

FORMAT = "wikitopics crawl"
VERSION = 1
COMMIT_SECONDS = 60.0
"""An article is stored so long after its arrival at the latest, at the next end of a batch."""
UNSTORABLE = "cannot be stored"


@dataclass(frozen=True)
class CrawlReport:
    """What a crawl has brought in."""

    added: int
    """Articles stored in this run, or about to be."""
    already_there: int
    """Articles that the store had."""
    skipped: dict[str, int]
    """Reason → pages that were passed over in this run."""
    finished: bool
    """Whether the source has no more to give."""
    total_added: int
    """Articles of this crawl over all its runs."""


@dataclass
class CrawlState:
    """What a crawl remembers from run to run."""

    identity: dict[str, str | int]
    cursor: dict[str, Any] | None = None
    """Where the source goes on; None at its beginning."""
    added: int = 0
    stored: int = 0
    """Articles in the store when this was written."""
    pending: list[list[str | int]] | None = None
    """Language and page id of the articles that are about to be stored."""
    next_cursor: dict[str, Any] | None = None
    """Where the source goes on once they are."""


def crawl(
    store: ArticleStore,
    source: LiveSource,
    directory: Path,
    limit: int | None = None,
    on_progress: Callable[[CrawlReport, Batch], None] | None = None,
    *,
    commit_seconds: float = COMMIT_SECONDS,
) -> CrawlReport:
    """Store the articles of a source, from where the last crawl of that source stopped.

    What has arrived is stored at the end of a batch, once it fills a shard or `commit_seconds` have
    passed; and however the crawl ends, KeyboardInterrupt included.

    Parameters
    ----------
    store, source
        From where to where.
    directory
        Holds the file that remembers where the source stopped.
    limit : int, optional
        Articles that this crawl brings in at most, over all its runs; a higher one goes on.
    on_progress : callable, optional
        Told after each batch how far things are, and the batch.
    commit_seconds : float
        See above.

    Raises
    ------
    DownloadError
        If the wiki does not answer, or in a way that is of no use.
    StoreLockedError
        If another process is writing to the store.
    OSError
        If the disk is about to run full, for instance. What has come by then is stored.
    """
    with store.writer() as writer:
        directory.mkdir(parents=True, exist_ok=True)
        run = _Run(store, writer, source, directory, limit, commit_seconds)
        try:
            run.go_on(on_progress)
            run.checkpoint()
        finally:
            try:
                run.checkpoint()  # for what an interrupt left, in the line above too
            finally:
                run.skip_log.tell()
        return run.report()


class _Run:
    """One run of a crawl."""

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
        self.cursor = self.state.cursor  # behind the last whole batch
        self.pending: list[list[str | int]] = []
        self.added = self.already_there = 0
        self.skipped: Counter[str] = Counter()
        self.skip_log = SkipLog()
        self.has_warned = False
        self.n_waiting = 0  # characters of the articles that are pending
        self.finished = False
        self.saved_at = time.monotonic()
        if self.state.pending is not None:
            self._settle()

    def go_on(self, on_progress: Callable[[CrawlReport, Batch], None] | None) -> None:
        """Take batches until there are no more, or the limit is reached."""
        if self.limit_reached():
            return
        self.make_sure_of_space()
        language = self.source.language
        generator = self.source.batches(
            self.cursor, lambda page_id: self.writer.has(language, page_id)
        )
        with closing(cast("Generator[Batch]", generator)) as batches:
            for batch in batches:
                is_whole = self.take(batch)
                if is_whole:
                    self.cursor = batch.cursor
                    self.finished = batch.finished
                self.make_sure_of_space()
                if self.is_due():
                    self.checkpoint()
                if on_progress is not None:
                    on_progress(self.report(), batch)
                if self.limit_reached():
                    return
        self.finished = True

    def take(self, batch: Batch) -> bool:
        """Add the articles of a batch; False if the limit came before its end."""
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
                self.warn_of(error)
                skipped.setdefault(UNSTORABLE, []).append(article.title)
                continue
            if is_new:
                self.pending.append([article.language, article.page_id])
                self.n_waiting += len(article.text)
            else:
                self.already_there += 1
        self.skipped.update({reason: len(names) for reason, names in skipped.items()})
        self.skip_log.note(skipped)
        return is_whole

    def warn_of(self, error: CorpusFormatError) -> None:
        """Say why an article cannot be stored; aloud the first time."""
        level = logging.DEBUG if self.has_warned else logging.WARNING
        self.has_warned = True
        logger.log(level, "passed over: %s", one_line(str(error), 500))

    def make_sure_of_space(self) -> None:
        """Raise OSError if what is pending would take the disk's last reserve.

        It is stored all the same when the crawl ends, as it is going to: that is what the reserve
        is for.
        """
        make_sure_of_space(self.store.path, self.n_waiting)

    def checkpoint(self) -> None:
        """Store what is pending, then remember where the source stands."""
        if self.state.pending is not None:  # an interrupt came between the two, here or below
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
            self.n_waiting = 0
            self.save()

    def save(self) -> None:
        """Write the state to its file."""
        self.saved_at = time.monotonic()
        self.state.stored = self.n_before + self.writer.n_added - self.writer.n_pending
        fields = {"format": FORMAT, "version": VERSION, **asdict(self.state)}
        atomic_write_text(self.path, json.dumps(fields) + "\n")

    def report(self) -> CrawlReport:
        """How far things are."""
        n_pending = self.writer.n_pending
        return CrawlReport(
            added=self.added + n_pending,
            already_there=self.already_there,
            skipped=dict(self.skipped),
            finished=self.finished,
            total_added=self.state.added + n_pending,
        )

    def limit_reached(self) -> bool:
        """Whether this crawl may not bring in more."""
        return self.limit is not None and self.state.added + self.writer.n_pending >= self.limit

    def is_due(self) -> bool:
        """Whether it is time to store what is pending."""
        if self.writer.n_pending >= self.store.shard_size:
            return True
        # With nothing pending there may still be a long way through known pages to remember.
        since = self.writer.pending_since or self.saved_at
        return time.monotonic() - since >= self.commit_seconds

    def _settle(self) -> int:
        """Count those of the articles that were to be stored which are."""
        pending = self.state.pending or []
        stored = [key for key in pending if self.writer.has(str(key[0]), int(key[1]))]
        self.state.added += len(stored)
        if len(stored) == len(pending):
            self.state.cursor = self.cursor = self.state.next_cursor
        self.state.pending = self.state.next_cursor = None
        self.pending = []
        self.n_waiting = 0
        self.save()
        return len(stored)


def state_path(directory: Path, identity: Mapping[str, str | int]) -> Path:
    """The file of a crawl of the source with this identity."""
    name = sha256_of(json.dumps(identity, sort_keys=True).encode())[:16]
    return directory / f"crawl-{name}.json"


def read_state(path: Path, identity: dict[str, str | int], n_stored: int) -> CrawlState:
    """The state in a file; a new one if there is none, or if it is not of this store.

    A state that cannot be made out costs the requests made so far, no articles: the store knows
    what it has.

    Raises
    ------
    UnsupportedVersionError
        If a newer version of this software wrote it.
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
                f"{path} was written by a newer wikitopics; upgrade to go on"
            )
        check_state(fields)
        state = CrawlState(**fields)
    except UnsupportedVersionError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        logger.warning("%s is damaged (%s): the source starts anew", path, error)
        return CrawlState(identity)
    if state.identity != identity or state.stored > n_stored:
        logger.warning("%s is of another store: the source starts anew", path)
        return CrawlState(identity)
    return state


def check_state(fields: Mapping[str, Any]) -> None:
    """Raise ValueError if a field is not of the type it should be."""
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
