import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from corpora.worker_pool import ordered_map
from tests.corpora.worker_tasks import (
    broken_initializer,
    fail_at_three,
    fail_to_pickle,
    greeting,
    interrupt_itself,
    library_threads,
    log_parity,
    process_id,
    set_greeting,
    sleep_long,
    slow_square,
)

ROOT = Path(__file__).parents[2]
PARENT = """
from corpora.worker_pool import ordered_map
from tests.corpora.worker_tasks import sleep_long
if __name__ == "__main__":
    try:
        for pid in ordered_map(sleep_long, [0, 0, 0, 0, 1, 1, 1, 1, 1], 2):
            print(pid, flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""
SUSPENDED = """
from corpora.worker_pool import ordered_map
from tests.corpora.worker_tasks import sleep_long
if __name__ == "__main__":
    kept = ordered_map(sleep_long, [0, 0, 1, 1, 1], 2)
    print(next(kept), flush=True)
"""


def test_what_workers_log_is_logged_once(caplog, capfd):
    with caplog.at_level("INFO"):
        assert list(ordered_map(log_parity, range(9), 2)) == [None] * 9
    assert sorted(caplog.messages) == ["0 is even", "1 is odd", "compiling"]
    with caplog.at_level("ERROR"):
        assert list(ordered_map(log_parity, range(2), 2)) == [None] * 2
    assert len(caplog.messages) == 3
    assert capfd.readouterr().err == ""


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until_dead(pids, seconds=20):
    deadline = time.monotonic() + seconds
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < deadline, "a worker is still alive"
        time.sleep(0.02)


@pytest.mark.parametrize("n_processes", [1, 2])
def test_results_come_in_order_and_items_are_taken_as_they_are_needed(n_processes):
    n_taken = 0

    def items():
        nonlocal n_taken
        for x in range(20):
            n_taken += 1
            yield x

    for n_given, result in enumerate(ordered_map(slow_square, items(), n_processes)):
        assert result == n_given**2
        assert n_taken <= n_given + 2 * n_processes
    assert n_taken == 20
    assert multiprocessing.active_children() == []


def test_one_process_is_this_process():
    assert list(ordered_map(slow_square, [], 1)) == list(ordered_map(slow_square, [], 2)) == []
    assert set(ordered_map(process_id, range(3), 1)) == {os.getpid()}


@pytest.mark.parametrize("n_processes", [1, 2])
def test_initializer_runs_before_the_first_item(n_processes, monkeypatch):
    monkeypatch.setenv("GREETING", "unset")
    assert list(ordered_map(greeting, [1], n_processes, set_greeting, ("hello",))) == ["hello 1"]
    with pytest.raises(LookupError, match="no such model"):
        list(ordered_map(slow_square, [1], n_processes, broken_initializer))


@pytest.mark.parametrize("n_processes", [1, 2])
def test_what_the_function_raises_reaches_the_caller_in_its_place(n_processes):
    results = ordered_map(fail_at_three, range(10), n_processes)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(KeyError, match="three") as caught:
        next(results)
    if n_processes == 2:
        assert 'raise KeyError("three")' in caught.value.__notes__[0]
    assert list(results) == []


@pytest.mark.parametrize(
    ("x", "kind", "message"),
    [
        (0, TypeError, "cannot pickle '_thread.lock' object"),
        (1, RuntimeError, "TwoArgumentsError: fault in line 7 .*cannot be pickled"),
        (2, RuntimeError, "ValueError: .*'locked'.*cannot be pickled"),
    ],
)
def test_what_cannot_be_pickled_is_said(x, kind, message):
    with pytest.raises(kind, match=message) as caught:
        list(ordered_map(fail_to_pickle, [x], 2))
    assert "In a worker process" in caught.value.__notes__[0]


@pytest.mark.slow
def test_an_item_that_cannot_be_pickled_fails_in_its_place():
    results = ordered_map(slow_square, [1, threading.Lock()], 2)
    assert next(results) == 1
    with pytest.raises(TypeError, match="lock"):
        next(results)


def test_arguments_that_cannot_work_and_errors_of_items():
    with pytest.raises(Exception, match="lambda"):
        list(ordered_map(lambda x: x, [1], 2))
    with pytest.raises(ValueError, match="at least 1"):
        ordered_map(slow_square, [], 0)

    def items():
        yield 0
        raise OSError("the file has gone")

    with pytest.raises(OSError, match="the file has gone"):
        list(ordered_map(slow_square, items(), 2))
    assert multiprocessing.active_children() == []


def test_libraries_use_one_thread_in_a_worker(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    environment = dict(os.environ)
    ((threads, for_openmp),) = ordered_map(library_threads, [0], 2)
    assert threads == [1, 1]  # numpy's and scipy's
    assert (for_openmp, dict(os.environ)) == ("1", environment)


@pytest.mark.slow
def test_closing_ends_the_workers_in_the_middle_of_an_item():
    results = ordered_map(sleep_long, [0, 1, 1, 1, 1], 2)
    worker = next(results)
    assert alive(worker)
    start = time.monotonic()
    results.close()
    assert time.monotonic() - start < 20
    wait_until_dead([worker])


def test_workers_take_no_notice_of_ctrl_c():
    assert list(ordered_map(interrupt_itself, [1], 2)) == ["went on"]


def start(program, tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(program)
    return subprocess.Popen(
        [sys.executable, str(script)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=_heed_interrupts,  # noqa: PLW1509 - no other thread runs here
    )


def _heed_interrupts():
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start_parent(tmp_path):
    """A process that maps with two workers, both busy for long, and the workers' ids."""
    parent = start(PARENT, tmp_path)
    return parent, sorted({int(parent.stdout.readline()) for _ in range(3)})


def test_no_worker_outlives_a_parent_that_is_killed(tmp_path):
    parent, workers = start_parent(tmp_path)
    assert all(alive(pid) for pid in workers)
    parent.kill()
    parent.wait()
    wait_until_dead(workers)
    assert parent.communicate()[1] == ""


@pytest.mark.slow
def test_a_parent_ends_although_it_has_not_closed_the_generator(tmp_path):
    parent = start(SUSPENDED, tmp_path)
    try:
        output, errors = parent.communicate(timeout=120)
    finally:
        parent.kill()
    assert (parent.returncode, errors) == (0, "")
    wait_until_dead([int(output)])


@pytest.mark.slow
def test_ctrl_c_is_answered_by_the_parent_alone(tmp_path):
    parent, workers = start_parent(tmp_path)
    os.killpg(parent.pid, signal.SIGINT)  # as a terminal does: to every process of the group
    output, errors = parent.communicate(timeout=120)
    assert (output.splitlines()[-1], errors) == ("interrupted", "")
    wait_until_dead(workers)


@pytest.mark.parametrize(
    ("function", "n_runs"),
    # The second worker may be killed before it has begun, when the first has done all.
    [("from tests.corpora.worker_tasks import slow_square as square", (1,)), ("", (2, 3))],
)
def test_workers_run_a_script_again_only_if_they_need_its_functions(tmp_path, function, n_runs):
    script = tmp_path / "script.py"
    own = "def square(x):\n    return x * x\n"
    guard = "" if function else "if __name__ == '__main__':\n    "
    script.write_text(
        f"from corpora.worker_pool import ordered_map\n{function or own}\n"
        "print('begun', flush=True)\n"
        f"{guard}print(sum(ordered_map(square, range(4), 2)))\n"
    )
    outcome = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert outcome.stderr == ""
    # Lines of two processes may be mixed.
    assert sorted(outcome.stdout.replace("begun", "").split()) == ["14"]
    assert outcome.stdout.count("begun") in n_runs
