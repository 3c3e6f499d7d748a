"""What the tests of the worker pool have done by workers; light, as each worker imports it."""

import logging
import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

from corpora.worker_pool import working_on


def slow_square(x):
    time.sleep(0.02 * (x % 3 == 0))
    return x * x


def log_parity(x):
    logging.getLogger("made.up").warning("%d is %s", x % 2, ("even", "odd")[x % 2])
    logging.getLogger("made.up").info("not of interest")
    logging.getLogger("corpora.kernel_cache").info("compiling")


def process_id(x):
    return os.getpid()


def interrupt_itself(x):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
    except KeyboardInterrupt:
        return "interrupted"
    return "went on"


def sleep_long(x):
    if x:
        time.sleep(60)
    return os.getpid()


def set_greeting(greeting):
    os.environ["GREETING"] = greeting


def greeting(x):
    return f"{os.environ['GREETING']} {x}"


def broken_initializer():
    raise LookupError("no such model")


def fatal_initializer():
    working_on("the model")
    os._exit(3)


class FatalToUnpickle:
    def __call__(self, x):
        return x

    def __reduce__(self):
        return os._exit, (4,)


class TwoArgumentsError(Exception):
    """Pickles, but cannot be brought back: its one argument is not what it is made from."""

    def __init__(self, what, where):
        super().__init__(f"{what} in {where}")


def fail_at_three(x):
    if x == 3:
        raise KeyError("three")
    return x


def fail_to_pickle(x):
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


def survive(task):
    if task.log:
        with task.log.open("a") as log:
            log.write(f"{task.number}\n")
    if task.note:
        working_on(task.note)
    if task.deaths:
        os.kill(os.getpid(), signal.SIGKILL)
    return task.number


def one_death_fewer(task, note, n_deaths):
    return replace(task, deaths=task.deaths - 1)


def greet_and_survive(task):
    return greeting(survive(task))


def die_while_sending(task):
    """The first task waits for the second, which dies while it sends 50 MB that nobody reads."""
    assert task.log
    if task.number == 0:
        while not task.log.exists():
            time.sleep(0.01)
    if task.deaths:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGKILL)).start()
        task.log.write_text(str(os.getpid()))
    return bytes(50_000_000 * task.number)


def process_id_while_another_waits(task):
    assert task.log
    if task.number == 1:
        task.log.touch()
    while task.log.exists() == bool(task.number):
        time.sleep(0.01)
    return os.getpid()


def write_notes_until_killed(notes):
    if not notes:
        return "alive"
    subprocess.Popen(["sh", "-c", f"sleep 0.1; kill -9 {os.getpid()}"])
    while True:
        for note in notes:
            working_on(note)


def library_threads(x):
    """Threads of each BLAS that is loaded, and what an OpenMP to be loaded would read."""
    import scipy.linalg  # noqa: F401 - brings a BLAS of its own, which comes after the worker's start
    from threadpoolctl import threadpool_info

    return [library["num_threads"] for library in threadpool_info()], os.environ["OMP_NUM_THREADS"]
