"""One worker process: the parent's handle, and the code that runs in the worker.

Pickled messages in their pipe, at most one item or answer at a time, so that the two sides cannot
block each other:

    parent → worker   (function, initializer or None), once; then an item at a time
    worker → parent   (error or None, result), one for each of these; before it, log records

A worker that dies closes its end: the parent reads the end of the stream, even within a message.
"""

import logging
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from logging.handlers import QueueHandler
from multiprocessing import connection as pipes
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from types import ModuleType
from typing import Any, cast

from corpora.worker_note import WorkerNote, keep_note

ONE_THREAD = (
    "BLIS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""Environment variables that BLAS and OpenMP libraries read when they are loaded."""
TELLS = "corpora.kernel_cache"
"""Logger of which workers send all messages, those about kernels; of others warnings alone."""


class Worker:
    """Parent's handle on a process that calls one function, item by item. `setup` is the pickled
    pair of the function and an initializer or None; `connection` is readable when the worker has
    answered or died; `is_ready` tells whether the initializer has run; `note` is the worker's note
    on its current work.
    """

    def __init__(self, setup: memoryview) -> None:
        spawn = multiprocessing.get_context("spawn")
        self.is_ready = False
        self.note = WorkerNote()
        self.connection, far_end = spawn.Pipe()
        # A daemon does not keep this process from ending while the generator still exists.
        self._process = spawn.Process(target=_work, args=(far_end, self.note), daemon=True)
        with sigint_blocked(), _main_module_for(setup):
            self._process.start()
        far_end.close()  # an open copy here would keep the stream from ending
        self._write(setup)

    def send(self, item: object) -> None:
        """Send `item` to the worker; raises any error of pickling the item."""
        data = pickled(item)
        self.note.write("")
        self._write(data)

    def _write(self, data: memoryview) -> None:
        with suppress(OSError):  # the worker is dead, which `receive` reports
            self.connection.send_bytes(data)

    def receive(self) -> tuple[BaseException | None, Any] | logging.LogRecord:
        """Return the worker's answer, (error, None) or (None, result), or what it logs before.
        EOFError means it died.
        """
        try:
            answer = self.connection.recv_bytes()
        except OSError as truncated:  # the stream ended in the middle of a message
            raise EOFError from truncated
        try:
            message: tuple[BaseException | None, Any] = ForkingPickler.loads(answer)
        except Exception as not_unpickled:  # noqa: BLE001 - any error of a class
            return not_unpickled, None
        return message

    def kill(self) -> None:
        """Kill the worker, even in the middle of an item."""
        self._process.kill()

    def reap(self) -> str:
        """Join the dead worker and close its pipe; return the reason of its end."""
        self._process.join()
        code = self._process.exitcode
        assert code is not None
        self._process.close()
        self.connection.close()
        return f"exit code {code}" if code >= 0 else signal.strsignal(-code) or f"signal {-code}"


def pickled(something: object) -> memoryview:
    """Pickle `something` for the pipe; raises any error of pickling it."""
    return ForkingPickler.dumps(something)


@contextmanager
def sigint_blocked() -> Iterator[None]:
    """Block Ctrl-C in threads and processes that begin in the block; this process receives it after
    the block. On Windows, which has no such mask, nothing happens.
    """
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # its start would unblock the signal
    former = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)


@contextmanager
def _main_module_for(setup: memoryview) -> Iterator[None]:
    """Workers started in this block do not run the main module of this process first, which would
    be a user's script again, unless something in `setup` is defined there.
    """
    main = sys.modules["__main__"]
    if b"__main__" not in bytes(setup):
        sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


# In a worker


def _work(connection: Connection, note: WorkerNote) -> None:
    if sys.platform == "win32":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    keep_note(note)
    use_one_thread()
    function: Callable[[Any], Any] | None = None
    log = _LogToParent(cast("Any", connection))
    logging.getLogger().addHandler(log)
    logging.getLogger(TELLS).setLevel(logging.INFO)

    def set_up(message: bytes) -> None:
        nonlocal function
        function, prepare = ForkingPickler.loads(message)
        if prepare:
            prepare()

    def call(message: bytes) -> Any:
        assert function is not None
        return function(ForkingPickler.loads(message))

    with suppress(EOFError, OSError):  # the parent has closed its end
        log.send(_answer(set_up, connection.recv_bytes()))
        while True:
            log.send(_answer(call, connection.recv_bytes()))


class _LogToParent(QueueHandler):
    """Handler that sends records to the parent; it sends the answers too, so that none mix."""

    def send(self, message: memoryview) -> None:
        with cast("threading.RLock", self.lock):
            cast("Connection", self.queue).send_bytes(message)

    def enqueue(self, record: logging.LogRecord) -> None:
        with suppress(OSError):  # the parent has ended
            self.send(pickled(record))


def _end_with_parent() -> None:
    """Exit when the parent has ended, even by a kill."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    pipes.wait([parent.sentinel])
    os._exit(1)


def use_one_thread() -> None:
    """Limit BLAS and OpenMP to one thread: loaded libraries, and by the environment later ones."""
    # Not at the top, as the parent does not need it.
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped] # noqa: PLC0415

    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    threadpool_limits(1)


def _answer(function: Callable[[bytes], object], message: bytes) -> memoryview:
    try:
        return pickled((None, function(message)))
    except BaseException as error:  # noqa: BLE001 - the parent raises even a SystemExit
        error.add_note(f"In a worker process:\n{traceback.format_exc()}")
        return _pickled_error(error)


def _pickled_error(error: BaseException) -> memoryview:
    """Return the answer with `error`, or if that fails with a RuntimeError that describes it."""
    try:
        answer = pickled((error, None))
        ForkingPickler.loads(answer)  # many exceptions can be pickled, but not unpickled
    except Exception as reason:  # noqa: BLE001 - any error of a class
        what = traceback.format_exception_only(error)[0].strip()
        stand_in = RuntimeError(
            f"{what} (raised in a worker process; this error cannot be pickled: {reason})"
        )
        for note in error.__notes__:
            stand_in.add_note(note)
        return pickled((stand_in, None))
    return answer
