"""One worker process: its parent's handle on it, and what runs inside.

What goes through their pipe, each pickled:

    parent → worker   (function, initializer or None), once; then an item at a time
    worker → parent   (error or None, result), one for each of these

There is never more than one message on its way, so neither side can wait for the other to read
while the other waits for it. A worker that dies closes its end: the parent reads the end of the
stream, be it in the middle of a message.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from contextlib import contextmanager, suppress
from multiprocessing import connection as pipes
from multiprocessing import resource_tracker
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

from corpora.worker_note import WorkerNote, keep_note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

ONE_THREAD = (
    "BLIS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""Environment variables that BLAS and OpenMP libraries read when they are loaded."""


class Worker:
    """A process that was started to call one function, item by item.

    Parameters
    ----------
    setup
        The pickled pair of the function and an initializer or None.

    Attributes
    ----------
    connection
        Has something to read when the worker has answered, and when it has died.
    is_ready
        Whether the initializer has been answered for.
    note
        What it says that it is at.
    """

    def __init__(self, setup: memoryview) -> None:
        spawn = multiprocessing.get_context("spawn")
        self.is_ready = False
        self.note = WorkerNote()
        self.connection, far_end = spawn.Pipe()
        # As a daemon it does not keep this process from ending while the generator still exists.
        self._process = spawn.Process(target=_work, args=(far_end, self.note), daemon=True)
        resource_tracker.ensure_running()  # its start unblocks SIGINT, so not while workers start
        with _sigint_blocked():
            self._process.start()
        far_end.close()  # or this process itself would keep the stream from ending
        self._send(setup)

    def give(self, item: object) -> None:
        """Let it work on `item`; raises what pickling the item raises."""
        data = pickled(item)
        self.note.write("")
        self._send(data)

    def _send(self, data: memoryview) -> None:
        with suppress(OSError):  # of a worker that is dead: it is found to be when it is heard
            self.connection.send_bytes(data)

    def hear(self) -> tuple[BaseException | None, Any]:
        """Receive the result of the worker: (error, None) or (None, result).

        Raises
        ------
        EOFError
            If it has died.
        """
        try:
            answer = self.connection.recv_bytes()
        except OSError as cut_short:  # the stream ended in the middle of a message
            raise EOFError from cut_short
        try:
            error, result = ForkingPickler.loads(answer)
        except Exception as not_brought_back:  # noqa: BLE001 - whatever a class does then
            return not_brought_back, None
        return error, result

    def kill(self) -> None:
        """End it at once, in the middle of an item if need be."""
        self._process.kill()

    def bury(self) -> str:
        """Free what the killed or dead worker leaves; returns what ended it."""
        self._process.join()
        code = self._process.exitcode
        assert code is not None
        self._process.close()
        self.connection.close()
        return f"exit code {code}" if code >= 0 else signal.strsignal(-code) or f"signal {-code}"


def pickled(something: object) -> memoryview:
    """`something` as it goes through the pipe; raises what pickling it raises."""
    return ForkingPickler.dumps(something)


@contextmanager
def _sigint_blocked() -> Iterator[None]:
    """Workers started in this block never see Ctrl-C; this process sees it when the block ends."""
    former = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)


# In a worker


def _work(connection: Connection, note: WorkerNote) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    keep_note(note)
    _use_one_thread()
    function: Callable[[Any], Any] | None = None

    def set_up(message: bytes) -> None:
        nonlocal function
        function, prepare = ForkingPickler.loads(message)
        if prepare:
            prepare()

    def call(message: bytes) -> Any:
        assert function is not None
        return function(ForkingPickler.loads(message))

    with suppress(EOFError, OSError):  # the parent has closed its end
        connection.send_bytes(_answer(set_up, connection.recv_bytes()))
        while True:
            connection.send_bytes(_answer(call, connection.recv_bytes()))


def _end_with_parent() -> None:
    """Wait until the parent is no more, in whatever way it ended."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    pipes.wait([parent.sentinel])
    os._exit(1)


def _use_one_thread() -> None:
    """One BLAS and OpenMP thread, as there is a process for each core.

    Libraries that are loaded already are told, those that come with the function will look at the
    environment, which is this process's own.
    """
    # Not at the top: the parent has no need of it. It comes with scikit-learn.
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped] # noqa: PLC0415

    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    threadpool_limits(1)


def _answer(function: Callable[[bytes], object], message: bytes) -> memoryview:
    """The pickled answer to a message: what `function` of it raises or returns."""
    try:
        return pickled((None, function(message)))
    except BaseException as error:  # noqa: BLE001 - even a SystemExit is the parent's to raise
        error.add_note(f"In a worker process:\n{traceback.format_exc()}")
        return _pickled_error(error)


def _pickled_error(error: BaseException) -> memoryview:
    """The answer that raises `error`, or if it cannot be pickled, one that says what it was."""
    try:
        answer = pickled((error, None))
        ForkingPickler.loads(answer)  # many exceptions can be pickled, but not brought back
    except Exception as reason:  # noqa: BLE001 - whatever a class does when it is pickled
        what = traceback.format_exception_only(error)[0].strip()
        stand_in = RuntimeError(
            f"{what} (raised in a worker process; this error cannot be pickled: {reason})"
        )
        for note in error.__notes__:
            stand_in.add_note(note)
        return pickled((stand_in, None))
    return answer
