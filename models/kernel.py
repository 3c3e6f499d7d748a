"""The one way kernels are compiled: cached on disk, without the GIL, announced when it happens."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba
import numpy as np
from numba.core import event

from models.kernel_cache import KernelCache

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")
A = TypeVar("A", bound=np.ndarray)
logger = logging.getLogger(__name__)

FAST_MATH = {"reassoc", "contract", "nsz", "arcp"}
"""Sums may be reordered so that they vectorise; NaN and infinity keep their meaning."""


def kernel(function: F) -> F:
    """Compile a function of plain arrays; on the same arrays it returns the same bits every time.

    Kernels run without the GIL, so that blocks of work can be given to a thread pool. Each is a
    sequential function: the partition into blocks, not the number of threads, decides the result.

    No loop both fills an array and sums up, unless it cannot be vectorised. Such a loop is compiled
    twice, with its sum in vectors and in scalars, and which of them runs, and so its last bit,
    depends on where the arrays lie: if one begins within some hundred bytes after another, they are
    taken to overlap. Fill first, then sum in a loop of its own.

    The cache on disk is keyed by the content of all files with kernels (`models.kernel_cache`):
    after a change of one of them, each kernel is compiled anew when it is next called.
    """
    return _compiled(function, FAST_MATH)


def exact_kernel(function: F) -> F:
    """Compile as `kernel`, but keep the order of sums, and round products.

    For results that parts of the work are to add up to, to the bit, however it is parted.
    """
    return _compiled(function, set())


def _compiled(function: F, fast_math: set[str]) -> F:
    options: Any = {"nogil": True, "fastmath": fast_math, "error_model": "numpy"}
    options |= {"no_cfunc_wrapper": True}  # nobody calls them from C
    # Else a process that compiles a kernel calls its callees as they were compiled before, and one
    # that loads it from the cache as they are in it: with sums reordered, other bits.
    options["forceinline"] = True
    compiled = numba.njit(**options)(function)
    if compiled is not function:  # which it is with NUMBA_DISABLE_JIT
        with suppress(RuntimeError):  # no folder that a cache could be written to
            compiled._cache = KernelCache(function)  # noqa: SLF001 - as its enable_caching does
    return cast("F", compiled)


def read_only(array: A) -> A:
    """View of an array in C order that cannot be written to; a copy only if the order is another.

    Kernels are compiled once for each kind of array: of another order, or one that may be written
    to, is another kind. What a kernel only reads is given to it so, and it is compiled once.
    """
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return cast("A", view)


def seconds_compiling() -> float:
    """Seconds that this process has spent compiling kernels, or loading them from the cache."""
    return _stopwatch.seconds()


def working_clock() -> float:
    """`time.perf_counter` that stands still while kernels are compiled or loaded."""
    return time.perf_counter() - seconds_compiling()


class _CompileAnnouncer(event.Listener):
    """Says once for each package, the first time a kernel of it is compiled, why there is a wait.

    What one command has compiled the next finds in the cache, unless it needs other kernels. What
    numba compiles of its own on the way is part of that.
    """

    def __init__(self) -> None:
        self.announced: set[str] = set()

    def on_start(self, event: event.Event) -> None:
        package = event.data["dispatcher"].py_func.__module__.rpartition(".")[0]
        if package not in self.announced and package.partition(".")[0] != "numba":
            self.announced.add(package)
            logger.info(
                "compiling kernels of %s (the first time a command needs them, some seconds)",
                package,
            )

    def on_end(self, event: event.Event) -> None:
        pass


class _CompileStopwatch(event.Listener):
    """Time during which any thread held the compiler's lock, or waited for it.

    Under the lock kernels are compiled, and loaded from the cache; those that they call are so
    within it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth, self._started, self._seconds = 0, 0.0, 0.0

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002
        with self._lock:
            if not self._depth:
                self._started = time.perf_counter()
            self._depth += 1

    def on_end(self, event: event.Event) -> None:  # noqa: ARG002
        with self._lock:
            self._depth -= 1
            if not self._depth:
                self._seconds += time.perf_counter() - self._started

    def seconds(self) -> float:
        """Until now, with what is going on."""
        with self._lock:
            running = time.perf_counter() - self._started if self._depth else 0.0
            return self._seconds + running


_stopwatch = _CompileStopwatch()
event.register("numba:compile", _CompileAnnouncer())  # type: ignore[no-untyped-call]
event.register("numba:compiler_lock", _stopwatch)  # type: ignore[no-untyped-call]
