"""Note of a worker process on its current work, in shared memory that survives a kill."""

import ctypes
import multiprocessing

CAPACITY = 1022  # Bytes of UTF-8 of a note

ELLIPSIS = "…"


class _Layout(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("text", ctypes.c_char * CAPACITY))


class WorkerNote:
    """One short text in about 1 kB of anonymous shared memory. The length is 0 until the text is
    complete, so that no half of a text is read when a writer is killed.
    """

    def __init__(self) -> None:
        self._memory = multiprocessing.get_context("spawn").RawValue(_Layout)

    def write(self, text: str) -> None:
        """Replace the text, truncated to `CAPACITY`. Characters without UTF-8 become `?`."""
        data = text.encode(errors="replace")
        if len(data) > CAPACITY:
            data = _cut(data, CAPACITY - len(ELLIPSIS.encode())) + ELLIPSIS.encode()
        self._memory.length = 0
        self._memory.text = data
        self._memory.length = len(data)

    def read(self) -> str:
        """Return the text; empty if none was written completely."""
        data: bytes = self._memory.text  # up to its first NUL
        return _cut(data, self._memory.length).decode()


def _cut(data: bytes, n_bytes: int) -> bytes:
    """Return the complete characters in the first `n_bytes` bytes of some UTF-8."""
    return data[:n_bytes].decode(errors="ignore").encode()


# In a worker

_own_note: list[WorkerNote] = []  # The note of this process, if it is a worker


def keep_note(note: WorkerNote) -> None:
    """Let `working_on` write to `note` in this process."""
    _own_note[:] = [note]


def working_on(note: str) -> None:
    """Note the current work of this worker, such as the title of an article, in about a
    microsecond. If the worker dies, its parent reads the item's last note. Outside of workers
    nothing happens.
    """
    for own in _own_note:
        own.write(note)
