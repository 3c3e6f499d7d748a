"""The first minute with a fresh clone: this version beside another, as ratios of seconds.

    python -m benchmarks.first_minute [--against fa0dfca] [--rounds 1] [--tests]

Each version is cloned into a folder of its own, with an empty cache of kernels and a full one of
packages, and then, in turn with the other version,

    demo           `make demo`: install, train, evaluate, report
    second clone   the same in another clone, with the kernels of the first
    install        `pip install .` into an environment, from which the rest is run
    first train    `train` on the built-in sample, kernels not compiled
    first scores   `evaluate --method left-to-right-sequential` of that run, as its first use
    cold tests     `make test` in a fresh clone, with --tests
    warm tests     the same again

No step waits for processes that compile ahead of the next one; the other version does. Prints
seconds and the ratio, and of `demo` the seconds in which training waited for kernels.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BASE = "fa0dfca"
"""Version before kernels were compiled ahead of need."""
HERE = Path(__file__).parents[1]


class Version:
    """Clones of one version, and a cache of kernels of their own."""

    def __init__(self, folder: Path, commit: str) -> None:
        self.folder, self.commit = folder, commit
        self.clones = 0

    def clone(self) -> Path:
        """Return a new clone."""
        self.clones += 1
        path = self.folder / str(self.clones)
        git = shutil.which("git") or "git"
        subprocess.run([git, "clone", "--quiet", str(HERE), str(path)], check=True)
        subprocess.run([git, "checkout", "--quiet", self.commit], cwd=path, check=True)
        return path

    def forget_kernels(self) -> None:
        """Begin with an empty cache of kernels."""
        shutil.rmtree(self.folder / "cache", ignore_errors=True)
        for path in self.folder.rglob("*.nb[ic]"):
            path.unlink()

    def seconds(self, clone: Path, *command: str | Path) -> float:
        """Run a command in a clone; return its seconds, or fail with what it printed."""
        names = {"XDG_CACHE_HOME": str(self.folder / "cache"), "PIP_CACHE_DIR": packages_folder()}
        environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")} | names
        log = self.folder / "log"
        started = time.perf_counter()
        with log.open("w") as output:
            done = subprocess.run(
                list(map(str, command)),
                cwd=clone,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        seconds = time.perf_counter() - started
        if done.returncode:
            raise SystemExit(f"{self.commit}: {command} failed\n{log.read_text()[-3000:]}")
        return seconds


def packages_folder() -> str:
    """Return pip's cache of packages, which all clones share."""
    command = [sys.executable, "-m", "pip", "cache", "dir"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def end_processes_in(folder: Path) -> None:
    """Wait for processes that were left behind, so that they do not slow the other version down."""
    while any(folder in each.parents for each in working_directories()):
        time.sleep(0.2)


def working_directories() -> list[Path]:
    """Return the working directories of all processes that can be seen."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found.append((process / "cwd").readlink())
        except OSError:
            continue
    return found


def steps(version: Version, *, tests: bool) -> dict[str, float]:
    """Run all steps with one version."""
    seconds = {}
    version.forget_kernels()
    first = version.clone()
    seconds["demo"] = version.seconds(first, "make", "demo")
    provenance = json.loads((first / "runs" / "demo" / "provenance.json").read_text())
    seconds["  of train, kernels"] = provenance["seconds"]["compiling"]
    seconds["second clone"] = version.seconds(version.clone(), "make", "demo")
    clone = version.clone()
    python = clone / "environment" / "bin" / "python"
    version.seconds(clone, sys.executable, "-m", "venv", clone / "environment")
    seconds["install"] = version.seconds(
        clone, python, "-m", "pip", "install", "--quiet", "--editable", "."
    )
    version.forget_kernels()
    train = ("train", "--run", "first", "--topics", "12", "--test", "0.2", "--model", "gibbs")
    seconds["first train"] = version.seconds(clone, python, "-m", "pipeline", *train)
    score = ("evaluate", "first", "--method", "left-to-right-sequential")
    seconds["first scores"] = version.seconds(clone, python, "-m", "pipeline", *score)
    if tests:
        version.forget_kernels()
        clone = version.clone()
        version.seconds(clone, "make", ".venv/.development")
        seconds["cold tests"] = version.seconds(clone, "make", "test")
        seconds["warm tests"] = version.seconds(clone, "make", "test")
    end_processes_in(version.folder)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--against", default=BASE)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--tests", action="store_true")
    arguments = parser.parse_args()
    commits = {"this": "HEAD", "other": arguments.against}
    for _ in range(arguments.rounds):
        with tempfile.TemporaryDirectory() as folder:
            found = {
                name: steps(Version(Path(folder) / name, commit), tests=arguments.tests)
                for name, commit in commits.items()
            }
        for name, seconds in found["this"].items():
            other = found["other"][name]
            print(f"{name:20s} {seconds:7.1f} s  {other:7.1f} s  {seconds / other:6.2f}")


if __name__ == "__main__":
    main()
