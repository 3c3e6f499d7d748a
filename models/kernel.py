"""The one way kernels are compiled: cached on disk, without the GIL, announced when it happens."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba
import numpy as np
from numba.core import event

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

    A cached kernel is compiled anew when its own file changes, but not when another file does whose
    kernels it calls: after such a change, `make clean` takes the cache away.
    """
    options: Any = {"nogil": True, "fastmath": FAST_MATH, "error_model": "numpy"}
    options |= {"no_cfunc_wrapper": True}  # nobody calls them from C
    try:
        return cast("F", numba.njit(cache=True, **options)(function))
    except RuntimeError:  # no folder that a cache could be written to
        return cast("F", numba.njit(**options)(function))


def read_only(array: A) -> A:
    """View of an array in C order that cannot be written to; a copy only if the order is another.

    Kernels are compiled once for each kind of array: of another order, or one that may be written
    to, is another kind. What a kernel only reads is given to it so, and it is compiled once.
    """
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return cast("A", view)


class _CompileAnnouncer(event.Listener):
    """Says once, the first time anything has to be compiled, why there is a wait."""

    def __init__(self) -> None:
        self.announced = False

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002
        if not self.announced:
            self.announced = True
            logger.info("compiling numerical kernels (once per installation, some seconds)")

    def on_end(self, event: event.Event) -> None:
        pass


event.register("numba:compile", _CompileAnnouncer())  # type: ignore[no-untyped-call]
