"""Rate limit of a service, shared by all processes that send it requests.

For `per_second` = s and `per_minute` = m:

- One request is in flight at a time.
- Requests are evenly spaced, so that the server sees at most s arrivals in any second and m in any
  minute, whatever the network does: see `RateLimitState.earliest`.
- No request starts before the end of a pause: after a server asked for it (Retry-After), after a
  failure, and after a slow answer.

The times are kept in a file. A lock on it is held while a request is in flight; its content
outlives the process. See `downloader.rate_limit_state`.
"""

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import lock_descriptor

from corpora.files import BINARY, read_at, write_at
from downloader.errors import TryLaterError
from downloader.rate_limit_state import FORMER_SIZE, MAGIC, SIZE, RateLimitState, clock_time

__all__ = ["RateLimiter"]

SLOW_ANSWER = 2.0
"""Seconds. After a slower answer, the next request waits for as long as the answer took."""
MAX_SLOW_PAUSE = 180.0
MAX_SLEEP = 10.0  # Seconds between checks of the file and the clock, which others may change
FIRST = MAGIC[:1] if sys.platform == "win32" else b""
"""Bytes of the file that others cannot read on Windows while it is locked."""
NEGLIGIBLE = 1e-6  # Seconds that are not waited for; the margin of the windows covers them


class RateLimiter:
    """Lets requests start one at a time, within the rate limit.

    Parameters
    ----------
    path : Path
        File that all processes share; made if it is missing. After damage, requests wait for as
        long as if the limit were used up.
    per_minute, per_second : int
        Maximal requests in any minute and in any second.
    clock : callable
        Returns seconds since the epoch.
    sleep : callable
        Waits for a number of seconds.
    """

    def __init__(
        self,
        path: Path,
        per_minute: int = 200,
        per_second: int = 4,
        *,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if per_minute < 1 or per_second < 1:
            raise ValueError(
                f"per_minute and per_second must be at least 1, not {per_minute} and {per_second}"
            )
        self.path = Path(path)
        self.per_minute = per_minute
        self.per_second = per_second
        self._clock = clock
        self._sleep = sleep
        self._mutex = threading.Lock()
        self._current: _Request | None = None

    @contextmanager
    def request(self, patience: float = math.inf) -> Iterator[None]:
        """Wait until a request may start; no other request starts while the block runs.

        Raises TryLaterError if a pause, or the request of another process, lasts for longer than
        `patience` seconds.
        """
        if self._current and self._current.thread == threading.get_ident():
            raise RuntimeError("a request is in flight already: end its block before the next one")
        request = self._acquire(patience)
        try:
            yield
        finally:
            self._release(request)

    def answered(self) -> None:
        """Note that the answer is complete; the rest of the block is not the server's time."""
        if self._current and self._current.answered is None:
            self._current.answered = self._clock()

    def pause(self, seconds: float) -> None:
        """Let no request of any process start for so long, at most a year."""
        if not seconds > 0:  # also not a number
            return
        with self._mutex:
            if self._current:
                self._current.state.pause(self._clock(), seconds)
                _write(self._current.descriptor, self._current.state)
                return
        descriptor, state = self._lock(math.inf)
        try:
            state.pause(self._clock(), seconds)
            _write(descriptor, state)
        finally:
            os.close(descriptor)

    @property
    def paused_until(self) -> float:
        """End of the last pause in seconds since the epoch; 0 if there was none."""
        for _ in range(3):  # another process may be writing
            try:
                state = RateLimitState.unpack(_content(self.path))
            except FileNotFoundError:
                return 0.0
            if state:
                state.correct(self._clock())
                return max(0.0, state.paused_until)
        return 0.0

    def _acquire(self, patience: float) -> "_Request":
        paused = 0.0
        while True:
            descriptor, state = self._lock(patience)
            try:
                now = self._clock()
                start = state.earliest(self.per_minute, self.per_second)
                if start - now <= NEGLIGIBLE:
                    state.start(now)
                    _write(descriptor, state)
                    self._current = _Request(descriptor, state, threading.get_ident(), now)
                    descriptor = -1
                    return self._current
            finally:
                if descriptor >= 0:
                    os.close(descriptor)
            if paused + state.paused_until - now > patience:
                raise TryLaterError(
                    f"no request may start before {clock_time(state.paused_until)}: try again then",
                    retry_at=state.paused_until,
                )
            seconds = min(start - now, MAX_SLEEP)
            if state.paused_until > now:
                paused += seconds
            self._sleep(seconds)

    def _release(self, request: "_Request") -> None:
        now = self._clock()
        answered = now if request.answered is None else request.answered
        with self._mutex:
            try:
                request.state.last_answer = answered
                if answered - request.start > SLOW_ANSWER:
                    request.state.pause(now, min(answered - request.start, MAX_SLOW_PAUSE))
                _write(request.descriptor, request.state)
            finally:
                self._current = None
                os.close(request.descriptor)

    def _lock(self, patience: float) -> tuple[int, RateLimitState]:
        """Lock the file; return its descriptor and its content."""
        interval, waited = 0.001, 0.0
        while True:
            descriptor = self._open()
            try:
                # If it has not been deleted meanwhile.
                if lock_descriptor(descriptor, blocking=False) and os.fstat(descriptor).st_nlink:
                    state = self._read(descriptor)
                    descriptor, locked = -1, descriptor
                    return locked, state
            finally:
                if descriptor >= 0:
                    os.close(descriptor)
            if waited > patience:
                raise TryLaterError(
                    f"another process has locked {self.path} for {waited:.0f} s:"
                    " end it, or try again when it has ended"
                )
            self._sleep(interval)
            waited += interval
            interval = min(2 * interval, 0.02)

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | BINARY
        try:
            return os.open(self.path, flags, 0o600)
        except FileNotFoundError:  # the first time, or the cache has been emptied
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return os.open(self.path, flags, 0o600)

    def _read(self, descriptor: int) -> RateLimitState:
        data = read_at(descriptor, FORMER_SIZE + 1, 0)
        state = RateLimitState.unpack(data) if data else RateLimitState()
        now = self._clock()
        before = state and state.pack()
        if state is None:
            state = RateLimitState.exhausted(now)
        state.correct(now)
        if state.pack() != before:
            _write(descriptor, state)
            os.ftruncate(descriptor, SIZE)
        return state


@dataclass
class _Request:
    """Request in flight: the locked file with its content, the thread, and the times."""

    descriptor: int
    state: RateLimitState
    thread: int
    start: float
    answered: float | None = None


def _write(descriptor: int, state: RateLimitState) -> None:
    write_at(descriptor, state.pack(), 0)


def _content(path: Path) -> bytes:
    """Return what is in the file. On Windows the first byte of a locked file, which is the same in
    all, cannot be read.
    """
    with path.open("rb") as file:
        return FIRST + read_at(file.fileno(), FORMER_SIZE, len(FIRST))
