"""Blocks of work in a thread pool; the thread count changes no bit, as blocks are fixed."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np

from corpora.worker_pool import available_cores


def effective_n_jobs(n_jobs: int | None) -> int:
    """Return the number of threads for the setting `n_jobs`: None is 1, -1 is every core.
    Raises TypeError or ValueError if `n_jobs` is not an integer, or 0.
    """
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)):
        raise TypeError(f"n_jobs must be an integer or None, found {n_jobs!r}")
    if n_jobs == 0:
        raise ValueError("n_jobs = 0 has no meaning: give a number of threads, or -1 for all cores")
    return int(n_jobs) if n_jobs > 0 else max(1, available_cores() + 1 + n_jobs)


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


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads, thread_name_prefix="kernel")


# A forked child inherits the pool object but none of its threads: it must start its own.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
