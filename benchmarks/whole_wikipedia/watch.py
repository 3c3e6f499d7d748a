"""Processor seconds, memory and time of a command and all its processes, stage by stage."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.whole_pipeline import family, memory_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EVERY_SECONDS = 0.2
"""Seconds between looks at the processes; of hundreds of thousands of pages a look takes longer."""
KEEP_SECONDS = 60.0
"""Seconds between two times at which stages are stored, so that a killed watch has lost no more."""
TICKS = os.sysconf("SC_CLK_TCK")
MOST_SECONDS_LEFT = 60.0
"""Seconds that workers may live on after their command was killed."""


@dataclass
class Stage:
    """What a stage took, kills and repeated work included."""

    seconds: float = 0.0
    cpu_main: float = 0.0  # Processor seconds of the command itself
    cpu_workers: float = 0.0  # Of all its other processes
    peak_bytes: int = 0  # Sum of the proportional set sizes of all processes
    kills: int = 0

    @property
    def cpu(self) -> float:
        """Processor seconds of all processes."""
        return self.cpu_main + self.cpu_workers


class LeftProcessError(RuntimeError):
    """A worker lives on without its command."""


@dataclass
class Watch:
    """Runs commands, and books what their processes take on the stage that is under way."""

    stages: dict[str, Stage] = field(default_factory=dict)
    every: float = EVERY_SECONDS  # Seconds between looks
    keep: Callable[[], object] = lambda: None  # Stores the stages, about once a minute

    def run(
        self,
        command: Sequence[str],
        stage_of: Callable[[], str],
        kill_after: Callable[[str], float],
        log: Path,
    ) -> bool:
        """Run a command of Python, its stdout and stderr to the end of `log`; return whether it
        ended by itself. `stage_of` names the present stage. A stage that has not been killed yet is
        killed after `kill_after` seconds of it, if that is not 0.

        Raises
        ------
        SystemExit
            If the command fails.
        LeftProcessError
            If it is killed, and a process of it is there a minute later.
        """
        with log.open("ab") as stream:
            process = subprocess.Popen(
                [sys.executable, "-m", *command], stdout=stream, stderr=stream
            )
        used: dict[int, float] = {}
        now, began = time.monotonic(), {}
        kept = now
        while process.poll() is None:
            name = stage_of()
            stage = self.stages.setdefault(name, Stage())
            began.setdefault(name, now)
            pids = family(process.pid)
            stage.peak_bytes = max(stage.peak_bytes, sum(map(memory_of, pids)))
            for pid in pids:
                seconds = cpu_of(pid)
                taken = max(0.0, seconds - used.get(pid, 0.0))
                used[pid] = max(seconds, used.get(pid, 0.0))
                if pid == process.pid:
                    stage.cpu_main += taken
                else:
                    stage.cpu_workers += taken
            before, now = now, time.monotonic()
            stage.seconds += now - before
            if now - kept > KEEP_SECONDS:
                self.keep()
                kept = now
            after = kill_after(name)
            if after and not stage.kills and now - began[name] > after:
                stage.kills += 1
                process.send_signal(signal.SIGKILL)
                process.wait()
                wait_for(pids)
                return False
            time.sleep(self.every)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} failed with {process.returncode}: see {log}")
        return True


def wait_for(pids: list[int]) -> None:
    """Wait until all these processes have ended."""
    deadline = time.monotonic() + MOST_SECONDS_LEFT
    while left := [pid for pid in pids if is_running(pid)]:
        if time.monotonic() > deadline:
            raise LeftProcessError(f"processes {left} live on without their command")
        time.sleep(EVERY_SECONDS)


def is_running(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    fields = fields_of(pid)
    return bool(fields) and fields[0] != "Z"


def cpu_of(pid: int) -> float:
    """Processor seconds of all threads of a process by now; 0 if it has ended."""
    fields = fields_of(pid)
    return (int(fields[11]) + int(fields[12])) / TICKS if fields else 0.0


def fields_of(pid: int) -> list[str]:
    """Fields of a process in /proc from its state on; none if it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def disk_of(directory: Path) -> int:
    """Bytes of all files."""
    total = 0
    for file in directory.rglob("*"):
        try:
            total += file.stat().st_size if file.is_file() else 0
        except OSError:
            continue
    return total
