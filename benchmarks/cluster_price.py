"""The price of `--cluster local:N`: `train` from text with it and without, in turn.

    python -m benchmarks.cluster_price [--articles 25000] [--pairs 3] [--processes 2]
        [--topics 100] [--passes 5] [--folder DIR]

Each pair is the same command twice, `--threads N` and `--threads N --cluster local:N`, the order
changed from pair to pair; annotations are deleted before each. A line gives clock and processor
seconds of each stage and of the command, all processes together, the scheduler's among them; then
the processor seconds of the system, and page faults. `training` lasts to the end of the command.
Processor seconds tell more than the clock on a machine that others use too. The models must have
the same bits.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import lzma
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.reference_counts import FOLDER
from benchmarks.whole_pipeline import family

PIPELINE = [sys.executable, "-m", "pipeline"]
STAGES = ("start", "text", "counting", "training", "command")
SAMPLE_SECONDS = 0.1
TICKS = os.sysconf("SC_CLK_TCK")


class Spent(NamedTuple):
    """What a command, or a stage of it, has used."""

    clock: float
    processor: float
    system: float  # Part of `processor`
    faults: float  # Page faults without reading from disk

    def __sub__(self, other: tuple[float, ...]) -> Spent:
        return Spent(*(a - b for a, b in zip(self, other, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--articles", type=int, default=25_000)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where to work; a temporary one by default")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        fill_store(folder, arguments.articles)
        compare(folder, arguments)


def fill_store(folder: Path, n_articles: int) -> None:
    """Store the first reference articles."""
    if (folder / "articles").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    with lzma.open(FOLDER / "train_25000.jsonl.xz") as lines:
        (folder / "articles.jsonl").write_bytes(b"".join(itertools.islice(lines, n_articles)))
    source = ["--source", "jsonl", "--input", "articles.jsonl", "--output", "articles"]
    subprocess.run([*PIPELINE, "download", *source], cwd=folder, check=True, capture_output=True)


def compare(folder: Path, arguments: argparse.Namespace) -> None:
    """Run the pairs, and print each run and the ratios."""
    n = arguments.processes
    train = [*PIPELINE, "train", "--articles", "articles", "--run", "x", "--seed", "1"]
    train += ["--model", "online"]
    train += ["--topics", str(arguments.topics), "--max-passes", str(arguments.passes)]
    train += ["--early-stopping", "none", "--threads", str(n)]
    commands = {"plain": train, f"local:{n}": [*train, "--cluster", f"local:{n}"]}
    stages = "".join(f"{stage:>10s}" for stage in STAGES)
    print(f"{'':10s}  clock: {stages}   processor: {stages}   system, s   faults, M")
    ratios: list[dict[str, float]] = []
    models = set()
    for number in range(arguments.pairs):
        order = list(commands) if number % 2 == 0 else list(commands)[::-1]
        found = {}
        for how in order:
            shutil.rmtree(folder / "articles" / "tokens", ignore_errors=True)
            shutil.rmtree(folder / "runs", ignore_errors=True)
            found[how] = measured(commands[how], folder)
            models.add(hashlib.sha256((folder / "runs/x/model.npz").read_bytes()).hexdigest())
            show(how, found[how])
        plain, other = (found[how]["command"] for how in commands)
        ratios.append(
            {"clock": other.clock / plain.clock, "processor": other.processor / plain.processor}
        )
    for kind in ("clock", "processor"):
        each = [ratio[kind] for ratio in ratios]
        print(
            f"{kind}: median ratio {statistics.median(each):.3f} ("
            + ", ".join(f"{ratio:.3f}" for ratio in each)
            + ")"
        )
    print("models are the same" if len(models) == 1 else "MODELS DIFFER")


def show(how: str, spent: dict[str, Spent]) -> None:
    """Print the line of a run."""
    clock = "".join(f"{spent[stage].clock:10.1f}" for stage in STAGES)
    processor = "".join(f"{spent[stage].processor:10.1f}" for stage in STAGES)
    whole = spent["command"]
    print(
        f"{how:10s}         {clock}              {processor}   {whole.system:9.1f}"
        f"   {whole.faults / 1e6:9.2f}",
        flush=True,
    )


def measured(command: list[str], folder: Path) -> dict[str, Spent]:
    """Run a command of training; what each stage has used."""
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    started = time.monotonic()
    lines: list[tuple[float, str]] = []
    assert process.stderr is not None
    reader = threading.Thread(
        target=lambda: lines.extend((time.monotonic(), line) for line in process.stderr or ())
    )
    reader.start()
    samples = [Spent(started, 0.0, 0.0, 0.0)]
    while process.poll() is None:
        samples.append(used_by(process.pid))
        time.sleep(SAMPLE_SECONDS)
    reader.join()
    if process.returncode:
        raise SystemExit("".join(line for _, line in lines))
    seconds = json.loads((folder / "runs/x/provenance.json").read_text())["seconds"]
    counted = next(when for when, line in lines if "documents to train on" in line)
    times = {
        "text": counted - seconds["counting"] - seconds["text"],
        "counting": counted - seconds["counting"],
        "training": counted,
    }
    at = {name: _at(when, samples) for name, when in times.items()}
    last = _whole(samples)
    return {
        "start": at["text"] - samples[0],
        "text": at["counting"] - at["text"],
        "counting": at["training"] - at["counting"],
        "training": last - at["training"],
        "command": last - samples[0],
    }


def _at(when: float, samples: list[Spent]) -> Spent:
    """What had been used at that time."""
    columns = np.array(samples).T
    return Spent(*(float(np.interp(when, columns[0], column)) for column in columns))


def _whole(samples: list[Spent]) -> Spent:
    """What was used at the end; processes are gone one after the other, with what they used."""
    columns = np.array(samples).max(axis=0)
    return Spent(*map(float, columns))


def used_by(pid: int) -> Spent:
    """What a process, its descendants, and those of them that have ended have used so far."""
    user = system = faults = 0.0
    for member in family(pid):
        try:
            stat = Path(f"/proc/{member}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        faults += int(stat[7]) + int(stat[8])
        user += (int(stat[11]) + int(stat[13])) / TICKS
        system += (int(stat[12]) + int(stat[14])) / TICKS
    return Spent(time.monotonic(), user + system, system, faults)


if __name__ == "__main__":
    main()
