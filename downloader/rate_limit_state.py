"""File of a rate limit: the last request, and a pause of all requests.

    8 bytes    magic
    4 float64  last answer (infinity: in flight), last start, start and end of the pause
    uint32     CRC-32 of all that

All times are seconds since the epoch, little-endian. A time in the future is replaced by the
present when it is read: after a clock was set back, and for the request of a killed process, which
stays marked as in flight. That request may still be on its way to the server, so it counts as
answered a moment later.
"""

import math
import struct
import zlib
from dataclasses import astuple, dataclass
from datetime import datetime

MAGIC = b"wtrate2\n"
SIZE = len(MAGIC) + 4 * 8 + 4
FORMER_MAGIC, FORMER_SIZE = b"wtpace1\n", len(MAGIC) + (4 + 1024) * 8 + 4
"""Files of the first version, which kept the last 1,024 answers; their pause is obeyed."""

WINDOW_MARGIN = 1.001
"""Windows are a thousandth longer, because the server's clock may run slower than ours."""
TRANSIT_SECONDS = 0.25  # Time in which the request of a killed process reaches the server
MAX_PAUSE = 366 * 86_400.0  # Seconds. A server that asks for more than a year makes a mistake.
USUAL_LATENCY = 0.3  # Seconds of an answer, to choose how a limit is kept


@dataclass(slots=True)
class RateLimitState:
    """Times of the last request and of the last pause; no request starts during a pause."""

    last_answer: float = -math.inf
    last_start: float = -math.inf
    paused_from: float = -math.inf
    paused_until: float = -math.inf

    @classmethod
    def exhausted(cls, now: float) -> "RateLimitState":
        """Return a state in which every limit has just been used up."""
        return cls(now, now, now, now + 60.0 * WINDOW_MARGIN)

    @classmethod
    def unpack(cls, data: bytes) -> "RateLimitState | None":
        """Return the state of a file's bytes, or None if they are damaged."""
        former = data.startswith(FORMER_MAGIC)
        size = FORMER_SIZE if former else SIZE
        if len(data) != size or not (former or data.startswith(MAGIC)):
            return None
        if zlib.crc32(data[:-4]) != struct.unpack("<I", data[-4:])[0]:
            return None
        state = cls(*struct.unpack_from("<4d", data, len(MAGIC)))
        if former:
            state.last_answer = math.inf
        return None if any(map(math.isnan, astuple(state))) else state

    def pack(self) -> bytes:
        """Return the bytes of the file."""
        data = MAGIC + struct.pack("<4d", *astuple(self))
        return data + struct.pack("<I", zlib.crc32(data))

    def correct(self, now: float) -> None:
        """Replace times in the future by the present; a pause keeps its length."""
        self.last_answer = min(self.last_answer, now + TRANSIT_SECONDS)
        self.last_start = min(self.last_start, now)
        if self.paused_from > now:
            self.paused_until -= self.paused_from - now
            self.paused_from = now

    def earliest(self, per_minute: int, per_second: int) -> float:
        """Return when the next request may start.

        The server sees a request between its start and its answer. So a window holds at most
        `limit` arrivals if every request starts either window / limit after the last answer, or
        window / (limit - 1) after the last start: one request is in flight at a time, so request
        n - limit is answered before request n - limit + 1 starts, limit - 1 intervals before
        request n. The rule that costs less time is applied.
        """
        moment = max(self.paused_until, self.last_answer)
        for limit, window in ((per_minute, 60.0 * WINDOW_MARGIN), (per_second, WINDOW_MARGIN)):
            after_answer = window / limit
            after_start = window / (limit - 1) if limit > 1 else math.inf
            if after_start < after_answer + USUAL_LATENCY:
                moment = max(moment, self.last_start + after_start)
            else:
                moment = max(moment, self.last_answer + after_answer)
        return moment

    def start(self, now: float) -> None:
        """Mark a request as in flight."""
        self.last_start = now
        self.last_answer = math.inf

    def pause(self, now: float, seconds: float) -> None:
        """Let no request start for so long; a pause that lasts longer stays."""
        until = now + min(seconds, MAX_PAUSE)
        if until > self.paused_until:
            self.paused_from, self.paused_until = now, until


def clock_time(moment: float) -> str:
    """Return the local date and time of `moment`, for messages."""
    return datetime.fromtimestamp(moment).astimezone().isoformat(" ", "seconds")
