"""When the next request may go out, agreed upon by all processes that ask the same service.

Three laws, for `per_second` = s and `per_minute` = m:

- one request is in flight at a time;
- request n begins no sooner than a second after request n - s was completed, a minute after request
  n - m was, and 60 / m seconds after request n - 1 began; so the server, whatever the network does,
  sees at most s arrivals in any second and m in any minute;
- none begins before the end of a hold, which a server asked for (Retry-After), which a failure
  brought about, or which eases off after a slow answer.

They are kept in a file: an flock on it is held while a request is in flight, and what it holds
outlives the process, however that ends. See `downloader.pace_state` for its content.
"""

from __future__ import annotations

import fcntl
import math
import os
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from downloader.errors import TryLaterError
from downloader.pace_path import pace_path
from downloader.pace_state import SIZE, PaceState, clock_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Pace", "pace_path"]

SLOW = 2.0
"""After an answer that took longer, the next request waits for as long as the answer took …"""
LONGEST_EASE = 180.0
"""… up to this."""
LONGEST_NAP = 10.0
"""How long to sleep without a look at the file and the clock, both of which others may set."""
ENOUGH = 1e-6
"""Waits shorter than that are none; the margin of the windows covers it."""


class Pace:
    """Lets requests through one at a time, when they may go out.

    Parameters
    ----------
    path : Path
        The file that all who ask the same service share; made if it is not there. A damaged one is
        taken for an allowance that is used up.
    per_minute, per_second : int
        At most so many requests in any minute and in any second.
    clock : callable
        Seconds since the epoch.
    sleep : callable
        Waits for so many seconds.

    Attributes
    ----------
    waited_until : float or None
        While a request waits for its time: when that will be.
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
                "per_minute and per_second must be at least 1,"
                f" not {per_minute} and {per_second}: such a pace would never let a request out"
            )
        self.path = Path(path)
        self.per_minute = per_minute
        self.per_second = per_second
        self.waited_until: float | None = None
        self._clock = clock
        self._sleep = sleep
        self._mutex = threading.Lock()
        self._flight: _Flight | None = None

    @contextmanager
    def request(self, patience: float = math.inf) -> Iterator[None]:
        """Wait until a request may go out; while the block runs, nobody else's does.

        Raises
        ------
        TryLaterError
            If a hold, or the request of another process, lasts for longer than `patience` seconds.
        """
        if self._flight and self._flight.thread == threading.get_ident():
            raise RuntimeError("a request is in flight already: end its block before the next one")
        flight = self._take_off(patience)
        try:
            yield
        finally:
            self._land(flight)

    def answered(self) -> None:
        """Say that the answer is there: what still happens in the block is not the server's."""
        flight = self._flight
        if flight and flight.answered is None:
            flight.answered = self._clock()

    def hold_off(self, seconds: float) -> None:
        """Let no request of anybody go out for so long, at most a year; survives a kill."""
        if not seconds > 0:  # also not a number
            return
        with self._mutex:
            if self._flight:
                self._flight.state.hold(self._clock(), seconds)
                self._flight.write()
                return
        descriptor, state = self._lock(math.inf)
        try:
            state.hold(self._clock(), seconds)
            _write(descriptor, state)
        finally:
            os.close(descriptor)

    @property
    def held_until(self) -> float:
        """Until when nothing may go out, seconds since the epoch; 0 if there never was a hold."""
        for _ in range(3):  # a writer may be at it
            try:
                state = PaceState.unpack(self.path.read_bytes())
            except FileNotFoundError:
                return 0.0
            if state:
                state.set_right(self._clock())
                return max(0.0, state.held_until)
        return 0.0

    def _take_off(self, patience: float) -> _Flight:
        held = 0.0
        try:
            while True:
                descriptor, state = self._lock(patience)
                try:
                    now = self._clock()
                    start = state.earliest(self.per_minute, self.per_second)
                    if start - now <= ENOUGH:
                        state.begin(now)
                        _write(descriptor, state)
                        self._flight = _Flight(descriptor, state, threading.get_ident(), now)
                        descriptor = -1
                        return self._flight
                finally:
                    if descriptor >= 0:
                        os.close(descriptor)
                if held + state.held_until - now > patience:
                    raise TryLaterError(
                        "no request may go out before"
                        f" {clock_time(state.held_until)}: try again then",
                        retry_at=state.held_until,
                    )
                self.waited_until = start
                nap = min(start - now, LONGEST_NAP)
                if state.held_until > now:
                    held += nap
                self._sleep(nap)
        finally:
            self.waited_until = None

    def _land(self, flight: _Flight) -> None:
        now = self._clock()
        answered = now if flight.answered is None else flight.answered
        with self._mutex:
            try:
                flight.state.complete(answered)
                if answered - flight.start > SLOW:
                    flight.state.hold(now, min(answered - flight.start, LONGEST_EASE))
                flight.write()
            finally:
                self._flight = None
                os.close(flight.descriptor)

    def _lock(self, patience: float) -> tuple[int, PaceState]:
        """The file, locked by us, and what it holds, set right."""
        pause, queued = 0.001, 0.0
        while True:
            descriptor = self._open()
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(descriptor).st_nlink:  # nobody has deleted it meanwhile
                    state = self._read(descriptor)
                    descriptor, locked = -1, descriptor
                    return locked, state
            except BlockingIOError:
                pass
            finally:
                if descriptor >= 0:
                    os.close(descriptor)
            if queued > patience:
                raise TryLaterError(
                    f"another process has kept {self.path} to itself for {queued:.0f} s:"
                    " end it, or try again when it has ended"
                )
            self._sleep(pause)
            queued += pause
            pause = min(2 * pause, 0.02)

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        try:
            return os.open(self.path, flags, 0o600)
        except FileNotFoundError:  # the first time, or somebody has emptied the cache
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return os.open(self.path, flags, 0o600)

    def _read(self, descriptor: int) -> PaceState:
        data = os.pread(descriptor, SIZE + 1, 0)
        state = PaceState.unpack(data) if data else PaceState()
        now = self._clock()
        if state is None:
            state = PaceState.used_up(now)
            os.ftruncate(descriptor, 0)
            _write(descriptor, state)
        elif state.set_right(now):
            _write(descriptor, state)
        return state


class _Flight:
    """A request that is in flight: the locked file, what it holds, and when the request began."""

    def __init__(self, descriptor: int, state: PaceState, thread: int, start: float) -> None:
        self.descriptor = descriptor
        self.state = state
        self.thread = thread
        self.start = start
        self.answered: float | None = None

    def write(self) -> None:
        _write(self.descriptor, self.state)


def _write(descriptor: int, state: PaceState) -> None:
    os.pwrite(descriptor, state.pack(), 0)
