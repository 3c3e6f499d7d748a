"""What the tests of the worker pool have done by workers; light, as each worker imports it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from corpora.worker_pool import working_on

if TYPE_CHECKING:
    from pathlib import Path


def slow_square(x: int) -> int:
    time.sleep(0.02 * (x % 3 == 0))
    return x * x


def process_id(x: int) -> int:
    return os.getpid()


def interrupt_itself(x: int) -> str:
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
    except KeyboardInterrupt:
        return "interrupted"
    return "went on"


def sleep_long(x: int) -> int:
    if x:
        time.sleep(60)
    return os.getpid()


def set_greeting(greeting: str) -> None:
    os.environ["GREETING"] = greeting


def greeting(x: int) -> str:
    return f"{os.environ['GREETING']} {x}"


def broken_initializer() -> None:
    raise LookupError("no such model")


def fatal_initializer() -> None:
    working_on("the model")
    os._exit(3)


class FatalToUnpickle:
    def __call__(self, x: int) -> int:
        return x

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (4,)


class TwoArgumentsError(Exception):
    """Pickles, but cannot be brought back: its one argument is not what it is made from."""

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"{what} in {where}")


def fail_at_three(x: int) -> int:
    if x == 3:
        raise KeyError("three")
    return x


def fail_to_pickle(x: int) -> object:
    if x == 0:
        return threading.Lock()
    if x == 1:
        raise TwoArgumentsError("fault", "line 7")
    raise ValueError("locked", threading.Lock())


@dataclass(frozen=True)
class Task:
    """Work that ends the worker as long as `deaths` is positive."""

    number: int
    deaths: int = 0
    note: str = ""
    log: Path | None = None


def survive(task: Task) -> int:
    if task.log:
        with task.log.open("a") as log:
            log.write(f"{task.number}\n")
    if task.note:
        working_on(task.note)
    if task.deaths:
        os.kill(os.getpid(), signal.SIGKILL)
    return task.number


def one_death_fewer(task: Task, note: str, n_deaths: int) -> Task:
    return replace(task, deaths=task.deaths - 1)


def greet_and_survive(task: Task) -> str:
    return greeting(survive(task))


def die_while_sending(task: Task) -> bytes:
    """The first task waits for the second, which dies while it sends 50 MB that nobody reads."""
    assert task.log
    if task.number == 0:
        while not task.log.exists():
            time.sleep(0.01)
    if task.deaths:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGKILL)).start()
        task.log.write_text(str(os.getpid()))
    return bytes(50_000_000 * task.number)


def process_id_while_another_waits(task: Task) -> int:
    """The first task waits for the second to begin, the second for somebody to delete its log."""
    assert task.log
    if task.number == 1:
        task.log.touch()
    while task.log.exists() == bool(task.number):
        time.sleep(0.01)
    return os.getpid()


def write_notes_until_killed(notes: list[str]) -> str:
    if not notes:
        return "alive"
    subprocess.Popen(["sh", "-c", f"sleep 0.1; kill -9 {os.getpid()}"])
    while True:
        for note in notes:
            working_on(note)


def library_threads(x: int) -> tuple[list[int], str]:
    """Threads of each BLAS that is loaded, and what an OpenMP to be loaded would read."""
    import scipy.linalg  # noqa: F401 - brings a BLAS of its own, which comes after the worker's start
    from threadpoolctl import threadpool_info

    return [library["num_threads"] for library in threadpool_info()], os.environ["OMP_NUM_THREADS"]
