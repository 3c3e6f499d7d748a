"""CPU time and memory of this process and all its descendants, as /proc has them."""

from __future__ import annotations

import os
import resource
import time
from contextlib import suppress
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def descendants() -> list[int]:
    """Process ids of the children, their children, and so on."""
    found, queue = [], [os.getpid()]
    while queue:
        for task in Path(f"/proc/{queue.pop()}/task").glob("*/children"):
            children = [int(pid) for pid in task.read_text().split()]
            found += children
            queue += children
    return found


def cpu_seconds() -> float:
    """User and system time of all threads, of those that have ended too."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = time.process_time() + ended.ru_utime + ended.ru_stime
    for pid in descendants():
        # After the name in parentheses, which may hold anything: utime, stime, cutime and cstime.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        seconds += sum(int(ticks) for ticks in fields[11:15]) / TICKS
    return seconds


def peak_memory() -> int:
    """Bytes: the sum of every process's largest resident set since `reset_peak_memory`."""
    return sum(_status(pid, "VmHWM") for pid in [os.getpid(), *descendants()])


def reset_peak_memory() -> None:
    """Let the peaks begin anew at what is resident now."""
    for pid in [os.getpid(), *descendants()]:
        Path(f"/proc/{pid}/clear_refs").write_text("5")


def signal_descendants(number: int) -> None:
    """Send a signal to every descendant; one that has ended meanwhile is passed over."""
    for pid in descendants():
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _status(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return 1024 * int(line.split()[1])
    return 0  # a process that has ended and was not waited for has no memory
