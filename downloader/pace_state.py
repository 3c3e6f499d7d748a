"""What a pace file holds: when requests were completed, and until when there is to be silence.

    8 bytes   magic
    float64   requests ever begun, start of the last one, since when and until when none may go out
    float64   when the last `RING` requests were completed; infinity: still in flight
    uint32    CRC-32 of all that

All times are seconds since the epoch, all numbers little-endian. A time in the future becomes the
present where it is met: that covers a clock that was set back, and the request of a process that
was killed, which stays marked as in flight with nobody left to say how it ended. That one may still
be on its way to the server, so requests are taken to be completed a moment later.
"""

from __future__ import annotations

import math
import struct
import zlib
from datetime import datetime

import numpy as np
import numpy.typing as npt

MAGIC = b"wtpace1\n"
RING = 1024
SIZE = len(MAGIC) + 8 * (4 + RING) + 4

WINDOW_MARGIN = 1.001
"""Windows are a thousandth longer: the server's clock may run a little slower than ours."""

ON_ITS_WAY = 0.25
"""Seconds in which the request of a process that was killed reaches the server."""

LONGEST_HOLD = 366 * 86_400.0
"""Seconds. A wait beyond a year is a mistake of whoever asks for it; up to that it is kept."""


class PaceState:
    """Times of the requests so far.

    Attributes
    ----------
    n
        Requests ever begun.
    last_start
        When the last one began.
    held_from, held_until
        Nothing may go out between them.
    """

    __slots__ = ("_completed", "held_from", "held_until", "last_start", "n")

    def __init__(
        self,
        n: float = 0,
        last_start: float = -math.inf,
        held_from: float = -math.inf,
        held_until: float = -math.inf,
        completed: npt.NDArray[np.float64] | None = None,
    ) -> None:
        self.n = int(n)
        self.last_start = last_start
        self.held_from = held_from
        self.held_until = held_until
        self._completed = np.full(RING, -np.inf) if completed is None else completed

    @classmethod
    def used_up(cls, now: float) -> PaceState:
        """A state in which every allowance has just been spent, whatever the limits are."""
        state = cls(RING, now, completed=np.full(RING, now))
        state.hold(now, 60.0 * WINDOW_MARGIN)
        return state

    @classmethod
    def unpack(cls, data: bytes) -> PaceState | None:
        """The state that `data` holds, or None if it is damaged."""
        if len(data) != SIZE or not data.startswith(MAGIC):
            return None
        if zlib.crc32(data[:-4]) != struct.unpack("<I", data[-4:])[0]:
            return None
        numbers = np.frombuffer(data, "<f8", 4 + RING, len(MAGIC))
        if np.isnan(numbers).any() or not 0 <= numbers[0] < 2**53:
            return None
        n, last_start, held_from, held_until = numbers[:4].tolist()
        return cls(n, last_start, held_from, held_until, numbers[4:].copy())

    def pack(self) -> bytes:
        """The bytes of the file."""
        header = struct.pack("<4d", self.n, self.last_start, self.held_from, self.held_until)
        data = MAGIC + header + self._completed.astype("<f8", copy=False).tobytes()
        return data + struct.pack("<I", zlib.crc32(data))

    def set_right(self, now: float) -> bool:
        """Bring times in the future back to `now`; whether there were any."""
        wrong = False
        latest = now + ON_ITS_WAY
        if self._completed.max() > latest:
            np.minimum(self._completed, latest, out=self._completed)
            wrong = True
        if self.last_start > now:
            self.last_start = now
            wrong = True
        if self.held_from > now:
            self.held_until -= self.held_from - now
            self.held_from = now
            wrong = True
        return wrong

    def earliest(self, per_minute: int, per_second: int) -> float:
        """When the next request may begin."""
        return max(
            self.held_until,
            float(self._completed[(self.n - 1) % RING]),
            self.last_start + 60.0 / per_minute,
            self._window_free(per_second, 1.0),
            self._window_free(per_minute, 60.0),
        )

    def _window_free(self, limit: int, seconds: float) -> float:
        """From when a window of so many seconds has room for one more request.

        The server sees a request no later than we see its answer. So if request n begins a window
        after request n - limit was completed, no window holds more than `limit` arrivals.

        A limit beyond the ring is kept by spacing alone: with one request in flight at a time,
        number n - limit is completed before n - limit + 1 begins, and from there to the start of n
        there are limit - 1 gaps.
        """
        if limit > RING:
            return self.last_start + seconds * WINDOW_MARGIN / (limit - 1)
        if self.n < limit:
            return -math.inf
        return float(self._completed[(self.n - limit) % RING]) + seconds * WINDOW_MARGIN

    def begin(self, now: float) -> None:
        """Mark one more request as in flight."""
        self._completed[self.n % RING] = math.inf
        self.n += 1
        self.last_start = now

    def complete(self, now: float) -> None:
        """Mark the last request as completed."""
        self._completed[(self.n - 1) % RING] = now

    def hold(self, now: float, seconds: float) -> None:
        """Let nothing go out for so long; a hold that lasts longer stays."""
        until = now + min(seconds, LONGEST_HOLD)
        if until > self.held_until:
            self.held_from, self.held_until = now, until


def clock_time(moment: float) -> str:
    """The local date and time of `moment`, for messages."""
    return datetime.fromtimestamp(moment).astimezone().isoformat(" ", "seconds")
