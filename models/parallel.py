"""Blocks of work in a thread pool; the thread count changes no bit, as blocks are fixed."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from corpora.worker_pool import effective_n_jobs as effective_n_jobs  # noqa: PLC0414 - and from here

T = TypeVar("T")


def for_blocks(
    work: Callable[[int, int], object], n_items: int, block_size: int, n_threads: int
) -> None:
    """Call `work(start, stop)` for each block of `block_size` consecutive items.
    `work` must release the GIL to gain from threads and must write to its own items only.
    """
    starts = range(0, n_items, block_size)
    if n_threads == 1 or len(starts) <= 1:
        for start in starts:
            work(start, min(start + block_size, n_items))
        return
    pool = _pool(n_threads)
    tasks = [pool.submit(work, start, min(start + block_size, n_items)) for start in starts]
    try:
        for task in tasks:
            task.result()
    except BaseException:  # also an interrupt: do not wait for tasks that have not begun
        for task in tasks:
            task.cancel()
        raise


def results_of(make: Callable[[int], T], n_items: int, n_threads: int) -> list[T]:
    """Return `make(n)` for each n below `n_items`, in order. It must release the GIL to gain from
    threads.
    """
    made: dict[int, T] = {}

    def work(first: int, last: int) -> None:
        for n in range(first, last):
            made[n] = make(n)

    for_blocks(work, n_items, 1, min(n_threads, max(n_items, 1)))
    return [made[n] for n in range(n_items)]


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads, thread_name_prefix="kernel")


# A forked child inherits the pool object but none of its threads: it must start its own.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
