import os
import signal
import threading
import time
from contextlib import ExitStack, contextmanager
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from models import OnlineLDA
from pipeline.cluster.connection import cluster_of
from pipeline.errors import TaskKilledError
from pipeline.training.e_step_on_cluster import ClusterEStep
from tests.pipeline.cluster import tasks
from tests.pipeline.cluster.processes import (
    N_STEPS,
    TRAIN,
    end,
    ended,
    make_run,
    start,
    start_scheduler,
    start_worker,
    to_be_trained,
    wait_for_steps,
)
from tests.pipeline.support import finish, looks_of, wait_until

LOCAL = (*TRAIN, "--cluster", "local:2")
COUNTS = sparse.csr_array(np.random.default_rng(0).poisson(0.2, size=(800, 50)).astype(np.int32))


@pytest.fixture(scope="module")
def local():
    with cluster_of("local:2") as cluster:
        assert cluster is not None
        yield cluster


def process_ids(cluster):
    return sorted(cluster.client.run(os.getpid).values())


def trained(cluster, when=lambda _: None):
    model = OnlineLDA(3, alpha="learned", batch_size=200, n_passes=2, random_state=1, n_jobs=1)
    submit = ClusterEStep(cluster, 1, 0, "workers") if cluster else None
    for n, _ in enumerate(model.iterate(COUNTS, submit_e_step=submit)):
        when(n)
    return model.topics_.topic_word.tobytes() + model.topics_.alpha.tobytes()


@pytest.mark.slow
def test_a_lost_worker_costs_its_tasks_alone(local):
    first, second = local.share([3]), local.share({"factor": 5})
    assert list(local.ordered_map(tasks.times_shared, [1], first, second)) == [15]
    victim = process_ids(local)[0]
    killer = threading.Timer(0.5, os.kill, (victim, signal.SIGKILL))

    def stop(n):
        if n == 2:
            os.kill(victim, signal.SIGSTOP)
            killer.start()

    assert trained(local, stop) == trained(None)
    killer.join()
    results = list(local.ordered_map(tasks.times_shared, range(20), first, second))
    assert results == [15 * i for i in range(20)]


@pytest.mark.slow
def test_all_workers_are_lost(local, tmp_path):
    wait_until(lambda: len(process_ids(local)) == 2, 120, "none came in place of a lost worker")
    victims = process_ids(local)

    def kill(n):
        if n in (1, 3):
            os.kill(victims.pop(), signal.SIGKILL)  # at the second there may be no other yet

    assert trained(local, kill) == trained(None)
    assert not victims
    function = partial(tasks.end_process, path=str(tmp_path / "calls"), times=1)
    assert sorted(local.map(function, range(8))) == [(i, 2 * i) for i in range(8)]
    assert (tmp_path / "calls").stat().st_size == 2


@pytest.mark.slow
def test_a_task_that_kills_every_worker_is_given_up_and_named(local, tmp_path):
    function = partial(tasks.end_process, path=str(tmp_path / "calls"), times=10**6)
    with pytest.raises(TaskKilledError) as caught:
        list(local.map(function, range(8), max_worker_deaths=1))
    assert caught.value.index == 3
    # What Dask lets die at a task, first beside others, of which some may have been counted too.
    assert (tmp_path / "calls").stat().st_size <= 2 * 4
    assert list(local.ordered_map(tasks.double, range(3))) == [0, 2, 4]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("made"))


@pytest.fixture
def directory(made, tmp_path):
    return to_be_trained(made, tmp_path / "client")


def assert_same_run(directory, made):
    one, other = (each / "runs/x/model.npz" for each in (directory, made))
    assert one.read_bytes() == other.read_bytes()
    assert looks_of(directory, "x") == looks_of(made, "x")
    assert not [*directory.rglob("*.partial")]


def go_on(directory, made, argv, pause=0.0):
    outcome = finish(start(directory, *argv, pause=pause)).succeeded()
    assert "going on after " in outcome.err
    assert_same_run(directory, made)
    return outcome


@pytest.mark.slow
def test_five_workers_killed_in_a_run(directory, made):
    outcome = finish(
        start(directory, *LOCAL, pause=0.15, kill_at=((5, 16, 28, 41, 52))), 180
    ).succeeded()
    assert outcome.err.count("killed a worker") == 5
    assert "Traceback" not in outcome.err
    assert_same_run(directory, made)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_client_is_killed(directory, made, number):
    process = start(directory, *LOCAL, pause=0.05)
    wait_for_steps(directory, N_STEPS // 3, process)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal does: to workers too
    else:
        process.send_signal(number)
    outcome = finish(process)  # sees to it that no worker is left
    if number == signal.SIGKILL:
        assert outcome.code == -number
    else:
        assert outcome.code == 128 + number, outcome
        assert outcome.error.endswith("what was done is kept: give the same command again to go on")
    assert not (directory / "runs/x/model.npz").exists()
    go_on(directory, made, LOCAL if number == signal.SIGKILL else TRAIN)


@contextmanager
def under_way(directory, tmp_path):
    """A run that a scheduler and a worker are a third through, and a stack of what is to end."""
    with ExitStack() as stack:
        scheduler, address = start_scheduler(tmp_path / "scheduler")
        stack.callback(end, scheduler)
        worker = stack.enter_context(ended(start_worker(tmp_path / "worker", address)))
        process = start(directory, *TRAIN, "--cluster", address, pause=0.05)
        stack.callback(lambda: process.poll() is None and process.kill())
        wait_for_steps(directory, N_STEPS // 3, process)
        yield process, scheduler, worker, address, stack


@pytest.mark.slow
def test_the_scheduler_is_killed(directory, made, tmp_path):
    with under_way(directory, tmp_path) as (process, scheduler, worker, _, stack):
        end(scheduler)
        assert "is gone; what was done is kept" in finish(process, 90).failed(75)
        assert (directory / "runs/x/checkpoints/latest.npz").exists()
        end(worker)
        successor, address = start_scheduler(tmp_path / "scheduler")
        stack.callback(end, successor)
        stack.enter_context(ended(start_worker(tmp_path / "worker", address)))
        go_on(directory, made, (*TRAIN, "--cluster", address))


@pytest.mark.slow
def test_the_scheduler_comes_back_in_time(directory, made, tmp_path):
    with under_way(directory, tmp_path) as (process, scheduler, worker, address, stack):
        end(scheduler)
        end(worker)
        port = int(address.rpartition(":")[2])
        successor, again = start_scheduler(tmp_path / "scheduler", port)
        assert again == address
        stack.callback(end, successor)
        stack.enter_context(ended(start_worker(tmp_path / "worker", address)))
        outcome = finish(process)
        assert outcome.code in (0, 75), outcome
        assert "Traceback" not in outcome.err
        if outcome.code:
            go_on(directory, made, (*TRAIN, "--cluster", address))
        assert_same_run(directory, made)


@pytest.mark.slow
def test_a_signal_while_all_workers_are_gone(directory, made, tmp_path):
    with under_way(directory, tmp_path) as (process, _, worker, *_):
        end(worker)
        time.sleep(3.0)
        assert process.poll() is None  # it waits
        started = time.monotonic()
        process.send_signal(signal.SIGTERM)
        outcome = finish(process)
        assert outcome.code == 143, outcome
        assert time.monotonic() - started < 100
        assert "has no workers at the moment: waiting" in outcome.err
        assert outcome.error.endswith("what was done is kept: give the same command again to go on")
        go_on(directory, made, TRAIN)
