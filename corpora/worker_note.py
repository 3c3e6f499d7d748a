"""What a worker process is at, in memory that it shares with its parent and that outlives it."""

from __future__ import annotations

import ctypes
import multiprocessing

CAPACITY = 1022
"""Bytes of UTF-8 that a note may have."""

ELLIPSIS = "…"


class _Layout(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("text", ctypes.c_char * CAPACITY))


class WorkerNote:
    """About 1 kB of anonymous shared memory that holds one short text.

    Its writer may be killed in the middle of writing: the length is 0 while the text is not whole,
    so that no mixture of two texts is ever read.
    """

    def __init__(self) -> None:
        self._memory = multiprocessing.get_context("spawn").RawValue(_Layout)

    def write(self, text: str) -> None:
        """Put `text` in the place of what was there.

        A longer one than `CAPACITY` loses its end. What cannot be UTF-8 becomes a question mark.
        """
        data = text.encode(errors="replace")
        if len(data) > CAPACITY:
            data = _cut(data, CAPACITY - len(ELLIPSIS.encode())) + ELLIPSIS.encode()
        self._memory.length = 0
        self._memory.text = data
        self._memory.length = len(data)

    def read(self) -> str:
        """The text as it stands; empty if there is none or it was not written to its end."""
        data: bytes = self._memory.text  # up to its first NUL
        return _cut(data, self._memory.length).decode()


def _cut(data: bytes, n_bytes: int) -> bytes:
    """The whole characters among the first `n_bytes` bytes of some UTF-8."""
    return data[:n_bytes].decode(errors="ignore").encode()


# In a worker

_own_note: list[WorkerNote] = []
"""The note of this process, if it is a worker."""


def keep_note(note: WorkerNote) -> None:
    """Make this process one whose `working_on` writes to `note`."""
    _own_note[:] = [note]


def working_on(note: str) -> None:
    """Say what this worker is at, for instance the title of an article; about a microsecond.

    If the worker dies before it has finished its item, its parent reads there what it died of. The
    last note of an item counts; about 1,000 bytes of it are kept. In a process that is no worker
    nothing happens.
    """
    for own in _own_note:
        own.write(note)
