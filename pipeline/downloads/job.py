"""Download job of a store, as other processes see it: its process, status and log.

DIR/download/lock           held by the process that downloads, with its pid
DIR/download/status.json    progress, rewritten every few seconds
DIR/download/log            log; at a megabyte it becomes log.1, and so on up to log.3
DIR/download/crawl-*.json   state of each crawl, to resume from

The lock tells whether a download is running: the operating system frees it with its holder. A pid
alone could belong to another process after a crash.
"""

import errno
import json
import logging
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora import ArticleStore
from corpora.errors import CorpusFormatError, StoreLockedError
from corpora.files import atomic_write_text, remove_partial_files
from corpora.lock import lock_holder, writer_lock
from pipeline.errors import BackgroundError, UsageError, exit_code_of, message_of
from pipeline.own_process import start_module
from pipeline.settings import DownloadSettings

if TYPE_CHECKING:
    from downloader.file_progress import FileProgress

LOG_BYTES, LOG_FILES = 2**20, 3
LOGGED = ("corpora", "downloader", "pipeline")
SAVE_EVERY = 2.0  # Seconds between two writes of the status
RATE_OVER = 300.0  # Seconds over which the rate is averaged
START_SECONDS, STOP_SECONDS = 30.0, 60.0
"""Seconds that a process may take to begin, and to save its articles when stopped."""
POLL_SECONDS = 0.1
TAIL_LINES = 10

TEXTS = ("state", "source", "input", "started", "updated", "waiting_until")
NUMBERS = (
    *("pid", "articles", "added", "of", "rate", "time_left", "requests", "bytes"),
    *("files", "of_files", "bytes_fetched", "bytes_read", "of_bytes"),
)
BLANK: dict[str, Any] = dict.fromkeys((*TEXTS, *NUMBERS, "last_error"))
BLANK |= {"requests": 0, "bytes": 0, "skipped": {}}
"""Fields of a status. `added` counts the articles of this crawl, or those read from the file;
`articles` those in the store; `time_left` is in seconds, `rate` in articles a second. `files` of
`of_files` are done; of a dump on a server, `bytes_fetched` have arrived; `bytes_read` were read of
`of_bytes`, which is not known of all servers."""


class DownloadJob:
    """Download job of the store at `store`, running or not."""

    def __init__(self, store: str | os.PathLike[str]) -> None:
        self.store = Path(store)
        self.directory = self.store / "download"
        self.log_path = self.directory / "log"
        self._status_path = self.directory / "status.json"

    def pid(self) -> int | None:
        """Process that downloads; None if none does."""
        return lock_holder(self.directory)

    @contextmanager
    def held(self, settings: DownloadSettings) -> "Iterator[Status]":
        """Hold lock, status and log within the block, as the process that downloads.

        Raises StoreLockedError if another process is downloading into this store.
        """
        self._refuse_other_directories()
        self.directory.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            try:
                stack.enter_context(writer_lock(self.directory))
            except StoreLockedError as error:
                raise StoreLockedError(
                    f"process {self.pid()} is downloading into {self.store}: `python -m pipeline "
                    f"download --output {self.store} --status` tells how far it is, --stop ends it"
                ) from error
            remove_partial_files(self.directory)
            log = stack.enter_context(_logging_to(self.log_path))
            status = Status(self._status_path, settings, ArticleStore(self.store))
            log.handle(_record(logging.INFO, f"begun: {settings.source} {settings.input}".strip()))
            try:
                yield status
            except BaseException as error:
                log.handle(_record_of(error))
                status.end(error)
                raise
            log.handle(_record(logging.INFO, f"done: {status.fields['added']:,} articles read"))
            status.end(None)

    def status(self) -> dict[str, Any]:
        """Return the status of the running download, or of the last one.

        Its `state` is "running", "done", "interrupted", "failed", or "killed" if it left no result.

        Raises UsageError if nothing was ever downloaded into this store; CorpusFormatError if the
        status file is damaged.
        """
        pid = self.pid()
        try:
            status = json.loads(self._status_path.read_text("utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            if pid is None:
                raise UsageError(f"there has been no download into {self.store}") from None
            status = {}  # it has not written one yet
        except ValueError as error:
            raise CorpusFormatError(f"{self._status_path}: not JSON: {error}") from error
        if not isinstance(status, dict):
            raise CorpusFormatError(f"{self._status_path}: not a status")
        if pid is not None and status.get("pid") != pid:
            status = {"state": "running"}
        status = BLANK | status
        if not _is_sound(status):
            raise CorpusFormatError(
                f"{self._status_path} is damaged: delete it, the download goes on without"
            )
        if pid is None and status.get("state") == "running":
            status |= {"state": "killed", "time_left": None, "waiting_until": None}
        return status | {"output": str(self.store), "pid": pid, "log": str(self.log_path)}

    def stop(self) -> dict[str, Any]:
        """Stop the running download, and return its status.

        It saves its articles, and the same command resumes it.

        Raises TimeoutError if the download has not ended after `STOP_SECONDS`.
        """
        deadline = time.monotonic() + STOP_SECONDS
        first = pid = self.pid()
        if pid:
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:  # it has just ended
                pid = None
        while pid is not None and self.pid() == first:
            if time.monotonic() > deadline:
                raise TimeoutError(
                    errno.ETIMEDOUT, f"process {pid} has not ended after {STOP_SECONDS:.0f} s"
                )
            time.sleep(POLL_SECONDS)
        return self.status() | {"stopped": first is not None}

    def follow(self) -> dict[str, Any]:
        """Show the log on stderr as it grows, until the download ends."""
        for line in self._log_lines():
            print(line, end="", flush=True, file=sys.stderr)
        return self.status()

    def start_in_background(self, settings: DownloadSettings) -> dict[str, Any]:
        """Start a separate process that downloads; return once it has begun or failed.

        Raises StoreLockedError if a download is running; BackgroundError if the process ended at
        once; the message is that of the process.
        """
        self._refuse_other_directories()
        if running := self.pid():
            raise StoreLockedError(f"process {running} is downloading into {self.store} already")
        self.directory.mkdir(parents=True, exist_ok=True)
        # The output matters only until the process has begun: the file has no name.
        with tempfile.TemporaryFile(dir=self.directory) as output:
            words = ("download", "--detached", *as_options(settings))
            child = start_module("pipeline", *words, output=output, new_session=True)
            deadline = time.monotonic() + START_SECONDS
            while not self._is_begun_by(child.pid):
                if child.poll() is not None:
                    break
                if time.monotonic() > deadline:
                    child.kill()
                    raise BackgroundError(f"process {child.pid} did not begin to download")
                time.sleep(POLL_SECONDS / 5)
            if child.returncode:
                output.seek(0)
                said = output.read().decode(errors="replace").strip()
                last = said.splitlines()[-1] if said else f"ended with code {child.returncode}"
                raise BackgroundError(last.removeprefix("wikitopics: "), child.returncode)
        child.returncode = 0  # nobody waits for it
        pid = self.pid() or child.pid if sys.platform == "win32" else child.pid
        return {"output": str(self.store), "pid": pid, "log": str(self.log_path)}

    def _is_begun_by(self, child: int) -> bool:
        """Whether a child process downloads. On Windows the Python of a virtual environment starts
        another one, with an id of its own.
        """
        pid = self.pid()
        is_child = pid is not None if sys.platform == "win32" else pid == child
        return is_child and self.status()["updated"] is not None

    def _refuse_other_directories(self) -> None:
        """Refuse to make `download/` inside a directory that is no store."""
        if not self.store.exists() or (self.store / "manifest.jsonl").exists():
            return
        if not self.store.is_dir():
            raise CorpusFormatError(f"{self.store} is a file; an article store is a directory")
        if not self.directory.exists() and any(self.store.iterdir()):
            raise CorpusFormatError(
                f"{self.store} holds other things and is not an article store; name a new or an "
                "empty directory"
            )

    def _log_lines(self) -> Iterator[str]:
        """Yield the last lines of the log, then each new line until the download ends."""
        self.status()
        while not self.log_path.exists():
            if self.pid() is None:
                return
            time.sleep(POLL_SECONDS)
        stream = self.log_path.open(encoding="utf-8", errors="replace")
        try:
            yield from stream.readlines()[-TAIL_LINES:]
            while True:
                running = self.pid() is not None
                yield from stream
                if not running:
                    return
                time.sleep(POLL_SECONDS)
                if self._was_rotated(stream.fileno()):
                    yield from stream
                    stream.close()
                    stream = self.log_path.open(encoding="utf-8", errors="replace")
        finally:
            stream.close()

    def _was_rotated(self, descriptor: int) -> bool:
        try:
            return os.fstat(descriptor).st_ino != self.log_path.stat().st_ino
        except FileNotFoundError:  # between two renames
            return False


class Status:
    """Status that the downloading process writes for other processes."""

    def __init__(self, path: Path, settings: DownloadSettings, store: ArticleStore) -> None:
        self._path, self._store = path, store
        self._lock = threading.Lock()
        self._changed, self._ended = False, threading.Event()
        self._seen: list[tuple[float, int]] = []
        self.files: FileProgress | None = None
        """Files of a dump that are fetched and read, if there are any."""
        self.fields: dict[str, Any] = BLANK | {
            "state": "running",
            "pid": os.getpid(),
            "source": settings.source,
            "input": settings.input,
            "started": _now(),
            "added": 0,
        }
        with suppress(OSError, CorpusFormatError):  # told by the code that stores articles
            self.fields["articles"] = self._n_stored()
        self.save()
        threading.Thread(target=self._keep_saving, daemon=True).start()

    def update(self, added: int, **others: Any) -> None:
        """Set the number of articles, and any other fields."""
        self.fields |= {"added": added, "waiting_until": None, **others}
        now = time.monotonic()
        self._seen.append((now, added))
        while len(self._seen) > 2 and self._seen[1][0] < now - RATE_OVER:
            self._seen.pop(0)
        (then, before) = self._seen[0]
        if now > then:
            self.fields["rate"] = rate = (added - before) / (now - then)
            left = (self.fields["of"] or added) - added
            if self.fields["of"] or self.files is None:
                self.fields["time_left"] = left / rate if rate and self.fields["of"] else None
        self._changed = True

    def look_at_files(self) -> None:
        """Set what is known of the files of a dump, and the time left by their bytes."""
        files = self.files
        if files is None or not files.n_files:
            return
        found: dict[str, float | None] = {
            "files": files.n_done,
            "of_files": files.n_files,
            "bytes_fetched": files.fetched_bytes,
            "bytes_read": files.done_bytes + files.read_bytes,
            "of_bytes": files.n_bytes,
        }
        if not self.fields["of"]:
            found["time_left"] = files.seconds_left
        self._changed = self._changed or any(self.fields[name] != found[name] for name in found)
        self.fields |= found

    def trouble(self, reason: str, wait: float) -> None:
        """Record that a request failed, and that the next follows after `wait` seconds."""
        until = datetime.fromtimestamp(time.time() + wait, UTC).isoformat(timespec="seconds")
        self.fields |= {"last_error": {"time": _now(), "what": reason}, "waiting_until": until}
        self._changed = True

    def end(self, error: BaseException | None) -> None:
        """Record how the download ended."""
        self.look_at_files()
        self.fields |= {"time_left": None, "waiting_until": None, "state": "done"}
        if isinstance(error, KeyboardInterrupt):
            self.fields["state"] = "interrupted"
        elif error is not None:
            what = message_of(error) if isinstance(error, Exception) else repr(error)
            self.fields |= {"state": "failed", "last_error": {"time": _now(), "what": what}}
        self._ended.set()
        try:
            self.fields["articles"] = self._n_stored()
            self.save()
        except (OSError, CorpusFormatError):
            if error is None:
                raise

    def save(self) -> None:
        """Write the status atomically."""
        with self._lock:
            self._changed = False
            fields = self.fields | {"updated": _now()}
            atomic_write_text(self._path, json.dumps(fields) + "\n")

    def _n_stored(self) -> int:
        return len(self._store) if self._store.exists else 0

    def _keep_saving(self) -> None:
        """Save changes regularly, also while waiting for the source."""
        while not self._ended.wait(SAVE_EVERY):
            self.look_at_files()
            if self._changed:
                # A full disk is reported by the code that stores articles.
                with suppress(OSError):
                    self.save()


def _is_sound(status: dict[str, Any]) -> bool:
    """Whether the fields of a status have the types that `Status` writes."""
    error = status["last_error"]
    return (
        all(isinstance(status[name], str | None) for name in TEXTS)
        and all(isinstance(status[name], int | float | None) for name in NUMBERS)
        and isinstance(status["requests"], int)
        and isinstance(status["bytes"], int)
        and isinstance(status["state"], str)
        and (error is None or (isinstance(error, dict) and error.keys() >= {"time", "what"}))
    )


def as_options(settings: DownloadSettings) -> list[str]:
    """Return the command-line options that give these settings."""
    options = []
    for name, value in asdict(settings).items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            options.append(option)
        elif value is not None and value is not False:
            options.append(f"{option}={value}")
    return options


class _QuietHandler(RotatingFileHandler):
    """Handler that is silent if it cannot write: the code that stores articles reports that."""

    def rotate(self, source: str, dest: str) -> None:
        """Rename the file; go on in it where it cannot be renamed, on Windows while it is read."""
        with suppress(PermissionError):
            super().rotate(source, dest)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name it has
        """Drop the record."""


@contextmanager
def _logging_to(path: Path) -> Iterator[logging.Handler]:
    """Log to a rotating file too within the block, with times."""
    handler = _QuietHandler(
        path, maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8", delay=True
    )
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    loggers = [logging.getLogger(name) for name in LOGGED]
    for each in loggers:
        each.addHandler(handler)
    try:
        yield handler
    finally:
        for each in loggers:
            each.removeHandler(handler)
        handler.close()


def _record_of(error: BaseException) -> logging.LogRecord:
    if isinstance(error, KeyboardInterrupt):
        return _record(logging.INFO, "interrupted; the same command goes on")
    if isinstance(error, Exception) and exit_code_of(error) is not None:
        return _record(logging.ERROR, message_of(error))
    return _record(logging.ERROR, repr(error), error)


def _record(level: int, text: str, error: BaseException | None = None) -> logging.LogRecord:
    """Record for the log file alone: the command line prints to the terminal itself."""
    info = (type(error), error, error.__traceback__) if error else None
    return logging.LogRecord(__name__, level, __file__, 0, text, None, info)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
