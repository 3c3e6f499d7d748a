"""Order, laziness and prompt ends of the worker pool, with real processes and real signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from corpora.worker_pool import WorkerDiedError, ordered_map

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]


def slow_square(x: int) -> int:
    time.sleep(0.02 * (x % 3 == 0))
    return x * x


def fail_at_three(x: int) -> int:
    if x == 3:
        raise KeyError("three")
    return x


def process_id(x: int) -> int:
    return os.getpid()


def sleep_long(x: int) -> int:
    if x:
        time.sleep(60)
    return os.getpid()


def kill_own_process(x: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return x


def set_greeting(greeting: str) -> None:
    os.environ["GREETING"] = greeting


def greeting(x: int) -> str:
    return f"{os.environ['GREETING']} {x}"


def broken_initializer() -> None:
    raise LookupError("no such model")


def alive(pid: int) -> bool:
    """Whether the process runs; one that has ended and waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until_dead(pids: list[int], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < deadline, "a worker is still alive"
        time.sleep(0.02)


@pytest.mark.parametrize("n_processes", [1, 2])
def test_results_come_in_the_order_of_the_items(n_processes: int) -> None:
    assert list(ordered_map(slow_square, range(20), n_processes)) == [x * x for x in range(20)]


@pytest.mark.parametrize("n_processes", [1, 2])
def test_no_items_give_no_results(n_processes: int) -> None:
    assert list(ordered_map(slow_square, [], n_processes)) == []


def test_one_process_is_this_process() -> None:
    assert set(ordered_map(process_id, range(3), 1)) == {os.getpid()}


def test_items_are_taken_as_they_are_needed() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for x in range(1000):
            taken.append(x)
            yield x

    results = ordered_map(slow_square, items(), 2)
    assert next(results) == 0
    assert len(taken) <= 4
    results.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("n_processes", [1, 2])
def test_initializer_runs_before_the_first_item(
    n_processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GREETING", "unset")
    results = ordered_map(greeting, range(2), n_processes, set_greeting, ("hello",))
    assert list(results) == ["hello 0", "hello 1"]


@pytest.mark.parametrize("n_processes", [1, 2])
def test_what_the_initializer_raises_reaches_the_caller(n_processes: int) -> None:
    with pytest.raises(LookupError, match="no such model"):
        list(ordered_map(slow_square, range(3), n_processes, broken_initializer))


@pytest.mark.parametrize("n_processes", [1, 2])
def test_what_the_function_raises_reaches_the_caller_in_its_place(n_processes: int) -> None:
    results = ordered_map(fail_at_three, range(10), n_processes)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(KeyError, match="three"):
        next(results)


def test_a_process_count_of_zero_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        ordered_map(slow_square, [], 0)


def test_a_killed_worker_is_a_named_error() -> None:
    with pytest.raises(WorkerDiedError, match="fewer than 2 processes"):
        list(ordered_map(kill_own_process, range(3), 2))


def test_closing_ends_the_workers_in_the_middle_of_an_item() -> None:
    results = ordered_map(sleep_long, [0, 1, 1, 1, 1], 2)
    worker = next(results)
    assert alive(worker)
    start = time.monotonic()
    results.close()  # type: ignore[attr-defined]
    assert time.monotonic() - start < 20
    wait_until_dead([worker])


PARENT = """
from corpora.worker_pool import ordered_map
from tests.corpora.test_worker_pool import sleep_long
if __name__ == "__main__":
    try:
        for pid in ordered_map(sleep_long, [0, 0, 0, 0, 1, 1, 1, 1, 1], 2):
            print(pid, flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def start_parent(tmp_path: Path) -> tuple[subprocess.Popen[str], list[int]]:
    """A process that maps with two workers, both busy for long, and the workers' ids."""
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    parent = subprocess.Popen(
        [sys.executable, str(script)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert parent.stdout is not None
    workers = {int(parent.stdout.readline()) for _ in range(3)}
    return parent, sorted(workers)


def test_no_worker_outlives_a_parent_that_is_killed(tmp_path: Path) -> None:
    parent, workers = start_parent(tmp_path)
    assert all(alive(pid) for pid in workers)
    parent.kill()
    parent.wait()
    wait_until_dead(workers)
    parent.communicate()


def test_ctrl_c_is_answered_by_the_parent_alone(tmp_path: Path) -> None:
    parent, workers = start_parent(tmp_path)
    os.killpg(parent.pid, signal.SIGINT)  # as a terminal does: to every process of the group
    output, errors = parent.communicate(timeout=30)
    assert output.splitlines()[-1] == "interrupted"
    assert errors == ""
    wait_until_dead(workers)
