"""The whole product on 25,000 Wikipedia articles: wall time of each stage and peak memory.

    python -m benchmarks.whole_pipeline [--topics 25] [--folder DIR]

Runs `download --source jsonl`, `train` and `evaluate` as a user would, one after the other, and
adds up the memory of the command and its worker processes ten times a second (proportional set
size, so that pages that processes share count once).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.reference_counts import FOLDER


def measured(name: str, command: list[str], folder: Path) -> dict[str, object]:
    """Run one command of the pipeline in `folder`; prints its wall time and peak memory."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline", *command, "--json"],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
    )
    peak = 0
    while process.poll() is None:
        peak = max(peak, sum(map(memory_of, family(process.pid))))
        time.sleep(0.1)
    seconds = time.perf_counter() - started
    output = process.stdout.read() if process.stdout else ""
    if process.returncode:
        raise SystemExit(f"{name} failed with exit code {process.returncode}")
    print(f"{name:28s} {seconds:8.1f} s   peak {peak / 1e9:5.2f} GB", flush=True)
    return dict(json.loads(output))


def family(pid: int) -> list[int]:
    """A process and all its descendants."""
    found = [pid]
    for member in found:
        for children in Path(f"/proc/{member}/task").glob("*/children"):
            try:
                found += [int(child) for child in children.read_text().split()]
            except OSError:
                continue
    return found


def memory_of(pid: int) -> int:
    """Proportional set size in bytes; 0 for a process that has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topics", type=int, default=25)
    parser.add_argument("--folder", type=Path, help="where to work; a temporary one by default")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for part, file in (("train", "train_25000.jsonl.xz"), ("test", "test_2500.jsonl.xz")):
            source = ["--source", "jsonl", "--input", str(FOLDER / file), "--output", part]
            measured(f"download, {part}", ["download", *source], folder)
        settings = ["--topics", str(arguments.topics), "--run", "wikipedia", "--seed", "0"]
        settings += ["--model", "online"]
        trained = measured("train", ["train", "--articles", "train", *settings], folder)
        print(f"  of that: {trained['seconds']}")
        scored = measured("evaluate", ["evaluate", "wikipedia", "--articles", "test"], folder)
        print(json.dumps(scored, indent=2))


if __name__ == "__main__":
    main()
