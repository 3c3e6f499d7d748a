"""Ctrl-C and SIGTERM: training ends after a checkpoint, other commands at once.

Nothing heavy is imported here: the handlers must be set before anything slow.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from pipeline.errors import Interrupted

SIGNALS = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = "interrupted; what was done is kept: give the same command again to go on"


def end_at_once(signal_number: int, frame: FrameType | None) -> None:
    """Signal handler during imports and after the end of a command: ends the process.

    A library or the interpreter could swallow an exception there, and there is nothing to clean up.
    """
    del frame
    os.write(2, f"wikitopics: {INTERRUPTED}\n".encode())
    os._exit(128 + signal_number)


def raise_interrupted(signal_number: int, frame: FrameType | None) -> None:
    """Signal handler that ends the command at once."""
    del frame
    raise Interrupted(signal_number)


class Deferred:
    """Signal handler that records a signal; a second signal ends the command."""

    def __init__(self) -> None:
        self.signal_number: int | None = None

    def __call__(self, signal_number: int, frame: FrameType | None) -> None:
        """Record the signal, or end the command if one was recorded before."""
        if self.signal_number is not None:
            raise_interrupted(signal_number, frame)
        self.signal_number = signal_number


@contextmanager
def signals_handled_by(handler: "signal._HANDLER") -> Iterator[None]:
    """Send SIGINT and SIGTERM to `handler` within the block, and restore the handlers after it.

    Nothing changes outside the main thread, which alone can handle signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)
