import multiprocessing
import os
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import OnlineLDA
from models.parallel import effective_n_jobs, for_blocks


@pytest.mark.parametrize("n_jobs", [1, 2, 7, np.int64(3)])
def test_a_number_of_threads(n_jobs):
    assert effective_n_jobs(n_jobs) == n_jobs


def test_numbers_of_threads():
    cores = len(os.sched_getaffinity(0))
    assert (effective_n_jobs(None), effective_n_jobs(-1), effective_n_jobs(-cores)) == (1, cores, 1)
    assert effective_n_jobs(-1000) == 1
    meeting = threading.Barrier(3, timeout=120)  # passed only by three at once
    for_blocks(lambda *_: meeting.wait(), 3, 1, 3)
    names = []
    for_blocks(lambda *_: names.append(threading.current_thread()), 5, 1, 1)
    assert set(names) == {threading.current_thread()}


@pytest.mark.parametrize("bad", [0, 1.5, "2", True, np.nan])
def test_no_number_of_threads(bad):
    with pytest.raises((ValueError, TypeError), match="n_jobs"):
        effective_n_jobs(bad)


@given(st.integers(0, 200), st.integers(1, 60), st.integers(1, 4))
def test_blocks_cover_every_item_once_and_do_not_depend_on_threads(n_items, size, n_threads):
    blocks = []
    for_blocks(lambda a, b: blocks.append((a, b)), n_items, size, n_threads)
    assert sorted(blocks) == [(a, min(a + size, n_items)) for a in range(0, n_items, size)]


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_an_error_reaches_the_caller_and_the_pool_lives_on(n_threads):
    def work(start, stop):
        if start == 6:
            raise ZeroDivisionError("block 6")

    with pytest.raises(ZeroDivisionError, match="block 6"):
        for_blocks(work, 10, 2, n_threads)
    done = []
    for_blocks(lambda a, _: done.append(a), 10, 2, n_threads)
    assert sorted(done) == [0, 2, 4, 6, 8]


def fit_in_child(queue):
    counts = np.random.default_rng(0).poisson(0.5, size=(80, 20))
    queue.put(OnlineLDA(3, n_jobs=2, n_passes=1, random_state=0).fit(counts).topic_word_dirichlet_)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_forked_after_the_pool_was_used_starts_its_own():
    context = multiprocessing.get_context("fork")
    here = context.SimpleQueue()
    fit_in_child(here)
    expected, queue = here.get(), context.Queue()
    child = context.Process(target=fit_in_child, args=(queue,))
    child.start()
    try:
        assert (queue.get(timeout=240) == expected).all()
    finally:
        child.join(60)
        if child.is_alive():
            child.kill()
    assert child.exitcode == 0


def test_callers_on_many_threads():
    totals = np.zeros(6, dtype=int)

    def caller(i):
        counts = np.zeros(50, dtype=int)
        for_blocks(lambda a, b: (time.sleep(0.0005), counts.__setitem__(slice(a, b), 1)), 50, 3, 2)
        totals[i] = counts.sum()

    threads = [threading.Thread(target=caller, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(240)
    assert totals.tolist() == [50] * 6
