"""Compilation of kernels: cached on disk, without the GIL, and timed; a hint for the cache."""

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, event, types
from numba.extending import intrinsic, overload

from corpora.kernel_cache import cached

F = TypeVar("F", bound=Callable[..., Any])
A = TypeVar("A", bound=np.ndarray)
FAST_MATH = {"reassoc", "contract", "nsz", "arcp"}
"""Sums may be reordered so that they vectorise; NaN and infinity keep their meaning."""


def kernel(function: F) -> F:
    """Compile a function of plain arrays, which returns the same bits for the same arrays.

    Kernels run without the GIL, so that a thread pool can run blocks of work. Each is sequential:
    the result depends on the partition into blocks, not on the number of threads.

    No loop may both fill an array and sum, unless it cannot be vectorised. Such a loop is compiled
    with its sum in vectors and in scalars. Which of them runs, and so the last bit, depends on the
    addresses of the arrays: they count as overlapping if one begins some hundred bytes after
    another. Fill first, then sum in a loop of its own.
    """
    return _compiled(function, FAST_MATH)


def exact_kernel(function: F) -> F:
    """Compile as `kernel` does, but with sums in their written order and products rounded.
    For results whose bits must not depend on how the work is split.
    """
    return _compiled(function, set())


def _compiled(function: F, fast_math: set[str]) -> F:
    options: Any = {"nogil": True, "fastmath": fast_math, "error_model": "numpy"}
    options |= {"no_cfunc_wrapper": True}  # nobody calls them from C
    # Without it, a process that compiles a kernel calls its callees as compiled on their own, and
    # one that loads it from the cache as inlined in it: with sums reordered, other bits.
    options["forceinline"] = True
    compiled = numba.njit(**options)(function)
    if compiled is not function:  # it is with NUMBA_DISABLE_JIT
        compiled.get_call_template = partial(_template_of_types, compiled.get_call_template)
    return cast("F", cached(compiled))


def _template_of_types(template_of: Callable[..., Any], args: Any, kws: Any) -> Any:
    """Compile a kernel that another one calls for types of arguments, not for their values too."""
    plain: Any = types.unliteral
    return template_of([*map(plain, args)], {name: plain(each) for name, each in kws.items()})


def prefetch(array: np.ndarray, index: int) -> None:
    """Have the processor fetch the cache line at element `index`, which a kernel reads soon.

    `array` has no gaps; its elements are counted in order, over all axes. An index beyond its end
    does no harm. In plain Python it does nothing.
    """


@overload(prefetch, jit_options={"forceinline": True})
def _prefetch_of_types(array: Any, index: Any) -> Callable[..., Any]:  # noqa: ARG001
    def fetch(array: Any, index: Any) -> None:
        _fetch_line(array, index)  # type: ignore[call-arg]

    return fetch


@intrinsic
def _fetch_line(typing_context: Any, array: Any, index: Any) -> Any:  # noqa: ARG001
    """Return the types and the code of `prefetch`."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = context.cast(builder, arguments[1], signature.args[1], types.intp)
        pointer = builder.bitcast(builder.gep(data, [place]), cgutils.voidptr_t)
        number = ir.IntType(32)
        takes = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], takes)
        builder.call(fetch, [pointer, number(0), number(3), number(1)])  # data, to be read again
        return context.get_dummy_value()

    return types.none(array, index), code


def read_only(array: A) -> A:
    """Return a read-only view of an array, or of a copy of it in C order.

    Kernels are compiled for each type of array, which includes order and writeability. Arrays that
    a kernel only reads are passed in this form, so that it is compiled once.
    """
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return cast("A", view)


def seconds_compiling() -> float:
    """Return the seconds that this process has spent compiling kernels or loading them."""
    return _stopwatch.seconds()


def working_clock() -> float:
    """Return `time.perf_counter` without the time in which kernels were compiled or loaded."""
    return time.perf_counter() - seconds_compiling()


class _CompileStopwatch(event.Listener):
    """Total time in which any thread held the lock under which kernels are compiled and loaded."""

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
        """Return the total until now, with the current compilation."""
        with self._lock:
            running = time.perf_counter() - self._started if self._depth else 0.0
            return self._seconds + running


_stopwatch = _CompileStopwatch()
event.register("numba:compiler_lock", _stopwatch)  # type: ignore[no-untyped-call]
