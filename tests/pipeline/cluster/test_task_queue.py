import re
import time
from functools import partial
from unittest import mock

import pytest

from pipeline.cluster.remote_task import MAX_TRIES, RemoteTask
from pipeline.errors import ClusterError, TaskKilledError
from tests.pipeline.cluster import tasks
from tests.pipeline.support import wait_until


def test_results_of_every_item_once(two):
    assert sorted(two.map(tasks.double, range(50))) == [(i, 2 * i) for i in range(50)]
    assert list(two.map(tasks.double, [])) == []


def test_as_they_come(two, tmp_path):
    first, order = tmp_path / "first", []
    for index, _ in two.map(tasks.wait_for, [str(first)] + [str(tmp_path)] * 19):
        order.append(index)
        if len(order) == 11:
            first.touch()
    assert order.index(0) > 10
    assert sorted(order) == list(range(20))
    assert list(two.ordered_map(tasks.slow_if_first, range(20))) == list(range(20))


@pytest.mark.parametrize("ahead", [1, 2, 5])
def test_items_are_taken_as_workers_get_free(two, ahead):
    taken = 0

    def items():
        nonlocal taken
        for i in range(40):
            taken += 1
            yield i

    given = 0
    for _ in two.map(tasks.double, items(), ahead=ahead):
        given += 1
        assert taken <= given + ahead * 2 + 1  # two threads, and the next one in hand
    assert taken == given == 40


def test_while_one_takes_long_few_behind_it_are_made(two, tmp_path):
    taken = []

    def items():
        for i in range(100):
            taken.append(i)
            yield str(tmp_path / "first" if i == 0 else tmp_path)

    results = two.ordered_map(tasks.wait_for, items(), ahead=2)
    with mock.patch("pipeline.cluster.cluster.POLL_SECONDS", 0.05):
        seconds, start = 0.5, time.monotonic()

        def end(_=None):
            if time.monotonic() - start > seconds:
                (tmp_path / "first").touch()
            return True

        with mock.patch.object(two, "check", end):
            next(results)
            assert 4 < len(taken) <= 4 * 2 * 2 + 2
            assert len(list(results)) == 99
    assert len(taken) == 100


def test_shared_values_are_sent_once_and_again_if_nobody_holds_them(two):
    first, second = two.share([3]), two.share({"factor": 5})
    with mock.patch.object(two, "scatter", wraps=two.scatter) as scatter:
        for _ in range(2):
            results = list(two.ordered_map(tasks.times_shared, range(20), first, second))
            assert results == [15 * i for i in range(20)]
    assert scatter.call_count == 2
    first, second = two.share([3]), two.share({"factor": 5})
    assert list(two.ordered_map(tasks.times_shared, [1], first, second)) == [15]
    sent = first.future
    sent.cancel(force=True)
    assert sent.status == "cancelled"
    assert list(two.ordered_map(tasks.times_shared, [1, 2], first, second)) == [15, 30]


@pytest.mark.parametrize("error", [ValueError("bad"), ClusterError("worse"), KeyError("worst")])
def test_exceptions_are_raised_here(two, tmp_path, error):
    path, items = str(tmp_path / "calls"), range(8)
    with pytest.raises(type(error), match=re.escape(str(error))):
        list(two.map(fails_with(error, path, 1), items))
    assert (tmp_path / "calls").stat().st_size == 1


@pytest.mark.parametrize(
    "error", [OSError("unreachable"), TimeoutError("slow"), FileNotFoundError("gone")]
)
def test_an_os_error_is_tried_twice_more(two, tmp_path, error):
    path = tmp_path / "calls"
    function = fails_with(error, str(path), MAX_TRIES - 1)
    assert sorted(two.map(function, range(8))) == [(i, 2 * i) for i in range(8)]
    assert path.stat().st_size == MAX_TRIES
    path.unlink()
    with pytest.raises(type(error), match=str(error)):
        list(two.map(fails_with(error, str(path), MAX_TRIES), range(8)))
    assert path.stat().st_size == MAX_TRIES


def fails_with(error, path, times):
    return partial(tasks.fail_with, error=error, path=path, times=times)


def test_an_exception_of_the_items_is_raised_and_the_rest_cancelled(two):
    def items():
        yield from range(3)
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        list(two.map(tasks.double, items()))


@pytest.mark.parametrize("name", ["map", "ordered_map"])
def test_what_is_under_way_is_cancelled_when_nobody_waits(two, tmp_path, name):
    def n_begun():
        return len(list(tmp_path.glob("began-*")))

    def items():
        yield 0  # before all others, though Dask may begin another, as it moves tasks to the idle
        wait_until(n_begun, 120, "none has begun")
        yield from range(1, 40)

    function = partial(tasks.note_and_wait, directory=str(tmp_path))
    results = getattr(two, name)(function, items(), ahead=4)
    next(results)
    # The first, and one that each of the two workers is at.
    wait_until(lambda: n_begun() == 3, 120, lambda: f"not all work: {two.client.scheduler_info()}")
    # Dask ignores that a task is cancelled which its scheduler has not read yet.
    submitted = set(two.client.futures)
    wait_until(
        lambda: submitted <= two.client.run_on_scheduler(known_keys), 60, "not all are scheduled"
    )
    cancelled, cancel = [], RemoteTask.cancel
    with mock.patch.object(
        RemoteTask, "cancel", lambda work: cancelled.append(work) or cancel(work)
    ):
        results.close()
    # Messages to a worker keep their order: one that has the next task knows what is cancelled.
    last = [two.submit_to(worker, tasks.double, 1) for worker in two.addresses]
    keys = [each.key for each in last]
    wait_until(lambda: all(two.client.run(has_ready, keys).values()), 120, "no worker is told")
    (tmp_path / "end").touch()
    assert [each.result() for each in last] == [2, 2]
    assert n_begun() == 3
    assert len(cancelled) > 2
    assert all(each.future.status == "cancelled" for each in cancelled)
    assert list(two.ordered_map(tasks.double, range(3))) == [0, 2, 4]


def known_keys(dask_scheduler):
    return set(dask_scheduler.tasks)


def has_ready(keys, dask_worker):
    return any(task.key in keys for task in dask_worker.state.ready)


@pytest.mark.parametrize("max_worker_deaths", [1, 2])
def test_a_task_at_which_workers_die_is_named(two, tmp_path, max_worker_deaths):
    log = tmp_path / "log"
    function = partial(tasks.killed, log=str(log), always=(5,), once=(1, 4, 6))
    with pytest.raises(TaskKilledError) as caught:
        list(two.map(function, range(8), max_worker_deaths=max_worker_deaths))
    assert (caught.value.index, log.read_text().split().count("+5")) == (5, 1 + max_worker_deaths)


@pytest.mark.parametrize("name", ["map", "ordered_map"])
def test_tasks_that_died_beside_others_are_tried_alone(two, tmp_path, name):
    log, once = tmp_path / "log", (0, 4, 5, 19)
    function = partial(tasks.killed, log=str(log), always=(), once=once)
    most = {"max_worker_deaths": 1} if name == "map" else {}
    found = list(getattr(two, name)(function, range(20), **most))
    if name == "map":
        found = [doubled for _, doubled in sorted(found)]
    assert found == [2 * i for i in range(20)]
    lines = log.read_text().split()
    assert len(lines) == 2 * (20 + len(once))
    for item in once:
        begun = len(lines) - 1 - lines[::-1].index(f"+{item}")
        before = lines[:begun]
        assert sum(line[0] == "+" for line in before) == sum(line[0] == "-" for line in before)
        assert lines[begun + 1] == f"-{item}"
