"""Files of a dump on a server, as a source of batches: fetched, read, and deleted or kept.

They are read one after the other, and while one is read the next are fetched.

    DIR/NAME            a file that is being read, or waits for it
    DIR/NAME.partial    a file that is being fetched, see `downloader.file_download`

The cursor lists the files that are done. After an interruption, files and parts of files stay, and
the next start continues with them.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import shutil
import threading
from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.articles.article import Article
from corpora.articles.page import Skipped
from corpora.errors import CorpusFormatError
from corpora.files import replace
from downloader.errors import ChangingDumpError, RefusedError, TryLaterError
from downloader.file_progress import FileProgress
from downloader.live import Batch

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from downloader.http_client import PoliteClient

logger = logging.getLogger(__name__)

MAX_FILE_BYTES = 8 << 30
"""Default maximal size of a file: today's have up to 3 GB."""
BATCH_ARTICLES = 200
BATCH_CHARACTERS = 1 << 24
BATCH_RECORDS = 5000
"""A batch ends at the first of these. Without the last, a file of known articles would give no
progress for minutes."""
MAX_MALFORMED = 100
"""After so many unreadable records and no readable one, the file is taken to be no dump."""
HASHED_BYTES = 1 << 20  # Bytes that are read at a time to check a file
WAIT_SECONDS = 0.5  # Seconds between two looks at a download that is waited for
END_SECONDS = 2.0  # Seconds that a download may take to notice that it is given up

Found = Article | Skipped | CorpusFormatError | int
"""Article, page without one, malformed record, or number of known pages, as they are read."""


@dataclass(frozen=True)
class RemoteFile:
    """One file of a dump."""

    url: str
    name: str  #: Name of the copy.
    key: str  #: Name in the cursor.
    n_bytes: int | None = None  #: Size by the listing, perhaps rounded; None if it is not known.
    sha256: str = ""  #: Checksum; empty if the dump has none.


class DumpFiles(ABC):
    """Files of a dump, as a source of batches.

    Parameters
    ----------
    clients
        Clients that fetch files, one file each at a time.
    directory
        Place of the copies.
    max_file_bytes
        Maximal size of a file.
    n_ahead
        Files that are fetched while one is read; with 0, the disk holds one file at a time.
    keep_in
        Directory to which a file is moved when it is done; by default it is deleted.
    progress
        Is called with the number of bytes of a file that have arrived.
    """

    def __init__(
        self,
        clients: Sequence[PoliteClient],
        directory: Path,
        *,
        max_file_bytes: int = MAX_FILE_BYTES,
        n_ahead: int = 0,
        keep_in: Path | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self.clients = clients
        self.directory = directory
        self.max_file_bytes = max_file_bytes
        self.n_ahead = n_ahead
        self.keep_in = keep_in
        self.progress = progress
        self.file_progress = FileProgress()
        self.on_wait: Callable[[], None] | None = None
        """Called now and then while a file is waited for."""

    @abstractmethod
    def files(self, cursor: dict[str, Any]) -> tuple[list[RemoteFile], dict[str, Any]]:
        """Return the files of the dump, and fields of the cursor that name it."""

    @abstractmethod
    def read(self, path: Path, file: RemoteFile, known: Callable[[int], bool]) -> Iterator[Found]:
        """Yield what is in a file.

        Raises CorpusFormatError after the articles before a fault.
        """

    def gone(self, file: RemoteFile, client: PoliteClient, error: RefusedError) -> Exception:  # noqa: ARG002
        """Return the error for a file that the server has no longer."""
        return error

    def note_read(self, n_bytes: int) -> None:
        """Note how much of the current file has been read."""
        self.file_progress.read_bytes = n_bytes

    def total(self) -> int | None:
        """Return None: a dump does not tell its number of articles."""
        return None

    def batches(
        self, cursor: dict[str, Any] | None, known: Callable[[int], bool]
    ) -> Iterator[Batch]:
        """Yield the articles of all files that are not done by the cursor.

        An interrupted file is read again from its start, but known articles are not parsed. A file
        is deleted after its last batch, which asks for a commit.

        Raises DownloadError if a file cannot be downloaded; CorpusFormatError if a file is damaged;
        its copy is deleted, so that the next start downloads it again; OSError if the disk has too
        little space for a file.
        """
        saved = (cursor or {}).get("done")
        listed = saved if isinstance(saved, list) else []
        files, about = self.files(cursor or {})
        keys = {file.key for file in files}
        done = [key for key in listed if isinstance(key, str) and key in keys]
        waiting = [file for file in files if file.key not in done]
        sizes = [file.n_bytes for file in files if file.key in done]
        done_bytes = None if None in sizes else sum(size or 0 for size in sizes)
        self.file_progress.start([file.n_bytes for file in waiting], len(done), done_bytes)
        if not waiting:
            yield Batch([], {**about, "done": done}, finished=True)
            return
        self._delete_others(waiting)
        with self._fetches(waiting) as fetches:
            for number, file in enumerate(waiting):
                path = fetches.take(number)
                self.file_progress.begin()
                try:
                    yield from self._batches_of(path, file, {**about, "done": done}, known)
                except CorpusFormatError as error:
                    path.unlink(missing_ok=True)
                    raise CorpusFormatError(
                        f"{file.url}: {error} (its copy has been deleted: start again to download"
                        " it again)"
                    ) from error
                done = [*done, file.key]
                self.file_progress.finish(path.stat().st_size, file.n_bytes)
                is_last = number == len(waiting) - 1
                self._keep(path)
                # Once this is stored, the next start does not need the file.
                yield Batch([], {**about, "done": done}, finished=is_last, commit=True)
                if self.keep_in is None:
                    path.unlink(missing_ok=True)

    def clear(self) -> None:
        """Delete the files of an interrupted download."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def _batches_of(
        self, path: Path, file: RemoteFile, cursor: dict[str, Any], known: Callable[[int], bool]
    ) -> Iterator[Batch]:
        pending = PendingBatch(cursor)
        failure: CorpusFormatError | None = None
        try:
            for found in self.read(path, file, known):
                pending.add(found, file.url)
                if pending.is_enough:
                    yield pending.batch()
        except CorpusFormatError as error:
            failure = error
        yield pending.batch()
        if failure is not None:
            raise failure

    def _delete_others(self, waiting: Sequence[RemoteFile]) -> None:
        """Delete copies of other files, such as those of another dump."""
        names = {
            f"{file.name}{end}" for file in waiting for end in ("", ".partial", ".partial.json")
        }
        if self.directory.is_dir():
            for other in self.directory.iterdir():
                if other.is_file() and other.name not in names:
                    other.unlink()

    def _keep(self, path: Path) -> None:
        """Move a file that is to be kept; one that the cursor lists would be deleted as of another
        dump.
        """
        if self.keep_in is not None and path.parent != self.keep_in:
            self.keep_in.mkdir(parents=True, exist_ok=True)
            replace(path, self.keep_in / path.name)

    @contextmanager
    def _fetches(self, waiting: Sequence[RemoteFile]) -> Generator[Fetches]:
        fetches = Fetches(self, waiting)
        try:
            yield fetches
        finally:
            fetches.end()

    def fetch(self, client: PoliteClient, file: RemoteFile, is_given_up: threading.Event) -> Path:
        """Return the copy of a file, after downloading what is missing and checking its sum.

        Raises DownloadError if it cannot be downloaded, or has another sum when it was downloaded
        twice; OSError if it cannot be written.
        """

        def note(n_bytes: int) -> None:
            if is_given_up.is_set():
                raise GivenUp
            self.file_progress.fetched(file.name, n_bytes)
            if self.progress is not None:
                self.progress(n_bytes)

        kept = None if self.keep_in is None else self.keep_in / file.name
        if kept is not None and kept.exists() and self._has_sum(kept, file, note):
            return kept
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self.directory / file.name
        if path.exists() and self._has_sum(path, file, note):
            return path
        for _ in range(2):
            try:
                client.fetch_file(file.url, path, self.max_file_bytes, note)
            except RefusedError as error:
                if error.status in {404, 410}:
                    raise self.gone(file, client, error) from error
                raise
            if self._has_sum(path, file, note):
                return path
            logger.warning("%s has another SHA-256 than SHA256SUMS says", file.url)
            path.unlink()
        raise ChangingDumpError(
            f"{file.url} was downloaded twice and has another SHA-256 than SHA256SUMS says: the"
            " dump may be changing, so try again later; the articles so far are kept"
        )

    def _has_sum(self, path: Path, file: RemoteFile, note: Callable[[int], None]) -> bool:
        n_bytes = path.stat().st_size
        if file.sha256:
            digest = hashlib.sha256()
            with path.open("rb") as stream:
                while piece := stream.read(HASHED_BYTES):
                    digest.update(piece)
                    note(n_bytes)
            if digest.hexdigest() != file.sha256:
                return False
        self.file_progress.fetched(file.name, n_bytes)
        return True


class GivenUp(Exception):  # noqa: N818 - nothing went wrong
    """Nobody waits for this download any more."""


class Fetches:
    """Downloads of the files of a dump in their order, by a thread for each client.

    No thread is more than `n_ahead` files before the one that was taken last.
    """

    def __init__(self, source: DumpFiles, files: Sequence[RemoteFile]) -> None:
        self._source = source
        self._files = files
        self._n_ahead = source.n_ahead
        self._changed = threading.Condition()
        self._is_given_up = threading.Event()
        self._taken = 0  # Number of the file that is waited for or read
        self._begun = 0  # Files that threads have begun to download
        self._outcomes: dict[int, Path | BaseException] = {}
        self._to_repeat: set[int] = set()
        """Files that failed before they were taken: the disk may have space by now, and the server
        time."""
        self._threads = [
            threading.Thread(target=self._work, args=(client,), daemon=True)
            for client in source.clients
        ]
        for thread in self._threads:
            thread.start()

    def take(self, number: int) -> Path:
        """Return the copy of a file once it is there. Raises what `DumpFiles.fetch` does."""
        with self._changed:
            self._taken = number
            self._changed.notify_all()
            while number not in self._outcomes and (
                number < self._begun or any(each.is_alive() for each in self._threads)
            ):
                self._changed.wait(WAIT_SECONDS)
                if self._source.on_wait is not None:
                    self._source.on_wait()
        outcome = self._outcomes.pop(number, None)
        if isinstance(outcome, Path):
            return outcome
        if outcome is not None and number not in self._to_repeat:
            raise outcome
        return self._source.fetch(self._source.clients[0], self._files[number], self._is_given_up)

    def end(self) -> None:
        """Give up what is being downloaded."""
        self._is_given_up.set()
        with self._changed:
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(END_SECONDS)

    def _next(self) -> int | None:
        """Return the number of the next file to download, once it may be; None at the end."""

        def is_due() -> bool:
            return self._begun <= self._taken + self._n_ahead

        with self._changed:
            self._changed.wait_for(
                lambda: self._is_given_up.is_set() or self._is_over() or is_due()
            )
            if self._is_given_up.is_set() or self._is_over():
                return None
            self._begun += 1
            return self._begun - 1

    def _is_over(self) -> bool:
        return self._begun >= len(self._files) or any(
            isinstance(outcome, BaseException) for outcome in self._outcomes.values()
        )

    def _work(self, client: PoliteClient) -> None:
        while (number := self._next()) is not None:
            outcome: Path | BaseException
            try:
                outcome = self._source.fetch(client, self._files[number], self._is_given_up)
            except BaseException as error:  # noqa: BLE001 - raised where the file is taken
                outcome = error
            with self._changed:
                self._outcomes[number] = outcome
                if number > self._taken and is_passing(outcome):
                    self._to_repeat.add(number)
                self._changed.notify_all()


def is_passing(outcome: Path | BaseException) -> bool:
    """Whether a download failed for a reason that may pass: a full disk, or a busy server."""
    is_full = isinstance(outcome, OSError) and outcome.errno in {errno.ENOSPC, errno.EDQUOT}
    return is_full or isinstance(outcome, TryLaterError)


class PendingBatch:
    """Articles of the next batch."""

    def __init__(self, cursor: dict[str, Any]) -> None:
        self.cursor = cursor
        self.n_malformed = 0
        self.any_good = False
        self._clear()

    def _clear(self) -> None:
        self.articles: list[Article] = []
        self.skipped: dict[str, list[str]] = {}
        self.n_characters = self.n_skipped = self.n_known = 0

    @property
    def is_enough(self) -> bool:
        """Whether the batch is full."""
        return (
            len(self.articles) >= BATCH_ARTICLES
            or self.n_characters >= BATCH_CHARACTERS
            or self.n_skipped + self.n_known >= BATCH_RECORDS
        )

    def add(self, found: Found, url: str) -> None:
        """Add what was read.

        Raises CorpusFormatError if many records are malformed and none is good.
        """
        if isinstance(found, int):
            self.n_known += found
        elif isinstance(found, Article):
            self.articles.append(found)
            self.n_characters += len(found.text)
        elif not isinstance(found, Skipped):
            level = logging.INFO if self.n_malformed else logging.WARNING
            logger.log(level, "%s: skipped: %s", url, found)
            self._skip("malformed", str(found))
            self.n_malformed += 1
            if self.n_malformed >= MAX_MALFORMED and not self.any_good:
                raise CorpusFormatError(f"no document can be read, such as {found}")
            return
        elif found.reason == "known":
            self.n_known += 1
        else:
            self._skip(found.reason, found.page)
        self.any_good = True

    def _skip(self, reason: str, page: str) -> None:
        self.skipped.setdefault(reason, []).append(page)
        self.n_skipped += 1

    def batch(self) -> Batch:
        """Return the batch, and start the next one."""
        batch = Batch(self.articles, self.cursor, False, self.skipped, already_there=self.n_known)
        self._clear()
        return batch
