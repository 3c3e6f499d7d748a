"""What workers do in tests: functions of a module that they can import."""

import os
import time
from pathlib import Path
from typing import NamedTuple


def double(item):
    return 2 * item


def sleep_and_double(item, seconds=0.0):
    time.sleep(seconds)
    return 2 * item


def slow_if_first(item):
    time.sleep(0.5 if item == 0 else 0.0)
    return item


def wait_for(path):
    for _ in range(20_000):
        if Path(path).exists():
            return
        time.sleep(0.01)


def note_and_wait(item, directory):
    """Write down that it began; all items but the first wait for the file `end`."""
    (Path(directory) / f"began-{item}").touch()
    if item > 0:
        wait_for(str(Path(directory) / "end"))
    return item


def number_of_times(path):
    with Path(path).open("ab") as file:
        file.write(b".")
        return file.tell() - 1


def fail_with(item, error, path, times):
    if item == 3 and number_of_times(path) < times:
        raise error
    return 2 * item


def times_shared(item, first, second):
    return item * first[0] * second["factor"]


def process_id(item):
    time.sleep(0.05)
    return os.getpid()


def large(_):
    return bytes(30_000_000)


def end_process(item, path, times):
    if item == 3 and number_of_times(path) < times:
        os._exit(1)
    return 2 * item


def fail_as_if_killed(item):
    from distributed import KilledWorker

    raise KilledWorker(f"task-{item}", _At("tcp://127.0.0.1:1"), 3)


def killed(item, log, always, once):
    """Log begin and end; fail as if workers had died: always, or the first time."""
    with Path(log).open("a+", buffering=1) as file:
        file.seek(0)
        is_first = f"+{item}" not in file.read().split()
        file.write(f"+{item}\n")
        time.sleep(0.01)
        file.write(f"-{item}\n")
    if item in always or (item in once and is_first):
        fail_as_if_killed(item)
    return 2 * item


class _At(NamedTuple):
    address: str
