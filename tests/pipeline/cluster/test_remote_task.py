import signal
import time
from unittest import mock

import pytest

from pipeline.cluster import remote_task as work_module
from pipeline.cluster import workers as workers_module
from pipeline.cluster.remote_task import MAX_WORKER_DEATHS, RemoteTask
from pipeline.errors import (
    TRY_AGAIN,
    ClusterError,
    ClusterLostError,
    Interrupted,
    InterruptedAloneError,
    TaskKilledError,
    exit_code_of,
)
from pipeline.interrupts import Deferred, signals_handled_by
from tests.pipeline.cluster import tasks
from tests.pipeline.cluster.workers import threads_as_workers


@pytest.fixture
def soon(monkeypatch):
    """The cluster is looked at more often while a result is awaited."""
    for name in ("cluster", "remote_task", "workers"):
        monkeypatch.setattr(f"pipeline.cluster.{name}.POLL_SECONDS", 0.05)


class Begin:
    def __init__(self, cluster, function, *arguments):
        self.cluster, self.function, self.arguments, self.times = cluster, function, arguments, 0

    def __call__(self):
        self.times += 1
        return self.cluster.submit(self.function, *self.arguments)


def test_a_result_that_takes_long_to_come_is_not_made_again(two):
    begin = Begin(two, tasks.large, 0)
    with mock.patch.object(work_module, "FETCH_SECONDS", 0.001):
        work, checks = RemoteTask(two, begin), 0
        while (found := work.poll(0.01)) is None:
            checks += 1
            assert checks < 1000
    assert found[0] == bytes(30_000_000)
    assert begin.times == 1


def test_a_result_is_waited_for_and_made_again_if_cancelled(two):
    begin = Begin(two, tasks.sleep_and_double, 4, 0.3)
    work = RemoteTask(two, begin)
    assert work.poll(0.01) is None
    assert work.result() == 8
    assert begin.times == 1
    begin = Begin(two, tasks.sleep_and_double, 4, 0.3)
    work = RemoteTask(two, begin)
    work.future.cancel(force=True)
    assert work.result() == 8
    assert begin.times == 2


def test_workers_that_die_again_and_again(two):
    begin = Begin(two, tasks.fail_as_if_killed, 3)
    work = RemoteTask(two, begin)
    with pytest.raises(TaskKilledError, match="too little memory"):
        work.result()
    assert begin.times == MAX_WORKER_DEATHS


def test_what_cannot_be_sent_at_once_is_sent_again(two):
    begin = Begin(two, tasks.double, 4)
    errors = [OSError("gone"), TimeoutError("slow"), KeyError("worker")]

    def failing():
        if errors:
            raise errors.pop()
        return begin()

    assert RemoteTask(two, failing).result() == 8


def test_software_that_a_worker_lacks(two, tmp_path):
    work = RemoteTask(
        two,
        Begin(two, tasks.fail_with, 3, ModuleNotFoundError("No module named 'x'"), "/dev/null", 9),
    )
    with pytest.raises(ClusterError, match=r"No module named 'x'.*install the same wikitopics"):
        work.result()
    path = str(tmp_path / "calls")
    work = RemoteTask(two, Begin(two, tasks.fail_with, 3, AttributeError("no 'y'"), path, 9))
    with pytest.raises(AttributeError, match="no 'y'"):  # a mistake of ours
        work.result()


@pytest.mark.usefixtures("soon")
def test_without_workers_it_waits_for_some():
    with threads_as_workers(1) as cluster:
        local = cluster.client.cluster
        assert list(cluster.ordered_map(tasks.double, [1])) == [2]
        shared, second = cluster.share([3]), cluster.share({"factor": 2})
        assert list(cluster.ordered_map(tasks.times_shared, [1], shared, second)) == [6]
        local.scale(0)
        cluster.client.sync(local._correct_state)
        while cluster.n_threads:
            cluster._look_at_workers()
        results = cluster.ordered_map(tasks.times_shared, [1, 2, 3], shared, second)
        cluster.client.loop.call_later(0.3, local.scale, 2)
        assert list(results) == [6, 12, 18]
        cluster._look_at_workers()
        assert cluster.n_threads >= 1


def test_lost_workers_are_told_of(caplog):
    with threads_as_workers(2) as cluster, caplog.at_level("INFO", "pipeline"):
        cluster._look_at_workers()
        assert not caplog.messages
        lost, left = cluster.addresses
        cluster.client.retire_workers([lost], close_workers=True)
        while cluster.n_workers == 2:
            cluster._look_at_workers()
        assert cluster.addresses == (left,)
    assert caplog.messages == [
        f"{lost} has left cluster {cluster.address}: what it was at is done again",
        f"cluster {cluster.address} has 1 worker now",
    ]


@pytest.mark.usefixtures("soon")
def test_without_workers_it_does_not_wait_for_ever(monkeypatch, caplog):
    monkeypatch.setattr(workers_module, "PATIENCE_SECONDS", 0.2)
    with threads_as_workers(0) as cluster:
        started = time.monotonic()
        with pytest.raises(
            ClusterLostError, match=r"no workers for .* give the same command again"
        ):
            list(cluster.ordered_map(tasks.double, [1]))
        assert time.monotonic() - started < 60
    assert [text for text in caplog.messages if "no workers at the moment" in text]


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_there_are_no_workers(number):
    with threads_as_workers(0) as cluster, signals_handled_by(Deferred()):
        cluster.client.loop.call_later(0.2, signal.raise_signal, number)
        started = time.monotonic()
        with pytest.raises(InterruptedAloneError) as caught:
            list(cluster.ordered_map(tasks.double, [1]))
        assert time.monotonic() - started < 60
    assert isinstance(caught.value, Interrupted)
    assert isinstance(caught.value, ClusterLostError)  # so that a checkpoint is kept
    assert caught.value.exit_code == 128 + number


@pytest.mark.usefixtures("soon")
def test_with_workers_a_signal_waits(two):
    deferred = Deferred()
    with signals_handled_by(deferred):
        signal.raise_signal(signal.SIGTERM)
        assert RemoteTask(two, Begin(two, tasks.sleep_and_double, 4, 0.3)).result() == 8
    assert deferred.signal_number == signal.SIGTERM


def test_a_cluster_that_is_lost_is_worth_another_try():
    assert exit_code_of(ClusterLostError("gone")) == TRY_AGAIN
    assert exit_code_of(ClusterError("no")) == 1
