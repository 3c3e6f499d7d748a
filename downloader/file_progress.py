"""Progress of the files of a dump, on a server or on disk."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class FileProgress:
    """Files and bytes of a dump: fetched and read so far, and in all; and how long it takes.

    `clock` returns seconds from any moment on.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.n_files = self.n_done = 0
        self.n_bytes: int | None = None
        self.done_bytes = self.read_bytes = 0
        self._bytes_before = 0  # of files that were done at the start
        self._clock = clock
        self._fetched: dict[str, int] = {}
        self._fetched_since = self._read_since = clock()

    def start(
        self, sizes: Sequence[int | None], n_done: int = 0, done_bytes: int | None = 0
    ) -> None:
        """Begin with files of these sizes, after `n_done` others that have `done_bytes`."""
        self.n_files, self.n_done = n_done + len(sizes), n_done
        self.done_bytes = self._bytes_before = done_bytes or 0
        self.n_bytes = None
        if done_bytes is not None and None not in sizes:
            self.n_bytes = done_bytes + sum(size or 0 for size in sizes)
        self._fetched_since = self._clock()

    def fetched(self, name: str, n_bytes: int) -> None:
        """Note how much of a file has arrived."""
        self._fetched[name] = n_bytes

    def begin(self) -> None:
        """Note that a file is going to be read."""
        if self.done_bytes == self._bytes_before:
            self._read_since = self._clock()

    def finish(self, n_bytes: int, expected: int | None) -> None:
        """Note that the file that was being read is done, its size, and the one it was to have."""
        self.n_done += 1
        self.done_bytes, self.read_bytes = self.done_bytes + n_bytes, 0
        if self.n_bytes is not None:
            self.n_bytes += n_bytes - (expected or 0)

    @property
    def fetched_bytes(self) -> int:
        """Bytes that have arrived, without those of files that were done at the start."""
        return sum(self._fetched.copy().values())

    @property
    def seconds_left(self) -> float | None:
        """Seconds until all is fetched and read, whichever takes longer; None if not known."""
        if self.n_bytes is None:
            return None
        n_read = self.done_bytes + self.read_bytes - self._bytes_before
        n_all = self.n_bytes - self._bytes_before
        ends = [
            (n_all - n) * (self._clock() - since) / n
            for n, since in ((self.fetched_bytes, self._fetched_since), (n_read, self._read_since))
            if n
        ]
        return max(0.0, *ends) if ends else None
