"""Ctrl-C and SIGTERM: at once where work is committed in blocks, after a checkpoint in training.

Nothing heavy is imported here: the handlers have to be there before anything that takes a while.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipeline.errors import Interrupted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = "interrupted; what was done is kept: give the same command again to go on"


def end_at_once(signal_number: int, frame: FrameType | None) -> None:
    """Signal handler for before a command begins, while modules are imported, and after its end.

    An exception could be swallowed there: by a library that tries what it finds, or by a callback
    of the interpreter. As there is nothing to put in order, the process can end where it is.
    """
    del frame
    os.write(2, f"wikitopics: {INTERRUPTED}\n".encode())
    os._exit(128 + signal_number)


def raise_interrupted(signal_number: int, frame: FrameType | None) -> None:
    """Signal handler that ends the command at once."""
    del frame
    raise Interrupted(signal_number)


class Deferred:
    """Whether a signal has arrived; a second one does not wait."""

    def __init__(self) -> None:
        self.signal_number: int | None = None

    def __call__(self, signal_number: int, frame: FrameType | None) -> None:
        """Note the signal, or end the command if one was noted before."""
        if self.signal_number is not None:
            raise_interrupted(signal_number, frame)
        self.signal_number = signal_number


@contextmanager
def signals_handled_by(handler: signal._HANDLER) -> Iterator[None]:
    """SIGINT and SIGTERM go to `handler` within the block, and to where they went before after.

    In another thread than the main one, which alone can answer signals, nothing changes.
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
