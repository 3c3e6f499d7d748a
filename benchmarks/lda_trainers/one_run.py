"""One run: training in a process of its own, and the scores of its looks."""

from __future__ import annotations

import os
import resource
import signal
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.lda_trainers.process_tree import signal_descendants
from benchmarks.lda_trainers.recombined import recombined
from benchmarks.lda_trainers.recorder import Recorder, snapshots, start_memory
from benchmarks.lda_trainers.results import Look, Run
from benchmarks.lda_trainers.trainers import OURS, TRAINERS, run_trainer
from benchmarks.reference_counts import reference_counts
from evaluation import log_likelihood

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

    from scipy import sparse

    from benchmarks.lda_trainers.settings import Settings
    from models import LDATopics

OUR_LOOKS, PEER_LOOKS = (0.25, 1.15), (1.0, 1.5)
"""Seconds before the first look, and the factor from one to the next."""
ERRORS = "stderr.txt"
PACKAGES = (
    *("numpy", "numba", "tomotopy", "topica", "pyrmallet", "poismf", "lda"),
    *("scikit-learn", "gensim", "wikitopics"),
)


def train_one(name: str, settings: Settings, growth: float, memory: int, directory: Path) -> None:
    """Train and leave the looks in `directory`; in a process, and process group, of its own."""
    os.setsid()
    with (directory / ERRORS).open("wb") as stream:
        os.dup2(stream.fileno(), sys.stderr.fileno())
    train = recombined(reference_counts()[0], settings.documents)
    trainer = TRAINERS[name]
    first, least = OUR_LOOKS if name in OURS else PEER_LOOKS
    limit = settings.seconds if trainer.samples else float("inf")
    recorder = Recorder(directory, first, max(growth, least), limit)
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    try:
        run_trainer(trainer, train, settings, recorder)
    finally:  # a pool of workers that is still there would be waited for
        signal_descendants(signal.SIGKILL)


def measure(
    name: str,
    settings: Settings,
    limit: float,
    memory: int,
    test: sparse.csr_array,
    growth: float = 1.0,
) -> Run:
    """Train in a process of its own and score its looks, or say why there are none.

    `limit` is the seconds after which it is stopped, looks, start and all; the looks up to then
    count. A process that wants more than `memory` bytes fails. Looks are at least a factor `growth`
    apart; each is a file of 4 · K · V bytes until training has ended.
    """
    load = os.getloadavg()[0]
    trainer = TRAINERS[name]
    settings = trainer.settings(settings)
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        process = get_context("spawn").Process(
            target=train_one, args=(name, settings, growth, memory, directory)
        )
        process.start()
        try:
            process.join(limit)
            exit_code = process.exitcode
        finally:
            _end(process)
        looks = tuple(
            Look(**asdict(snapshot), perplexity=perplexity(topics, test, settings.threads))
            for snapshot, topics in snapshots(directory)
        )
        failed = ""
        if exit_code:
            said = (directory / ERRORS).read_text().strip().splitlines()
            # A trace may follow what a library says of memory; elsewhere the last line says it.
            said = [line for line in said if "memory" in line.lower()][:1] or said[-1:]
            failed = ", ".join([f"exit code {exit_code}", *said])
        elif not looks:
            failed = f"no look in {limit:g} s"
        return Run(
            trainer=name,
            is_ours=name in OURS,
            n_threads=settings.threads if trainer.threaded else 1,
            settings=settings,
            start_memory=start_memory(directory) if looks else 0,
            ended=exit_code == 0,
            limit=limit,
            looks=() if failed else looks,
            failed=failed,
            versions=installed_versions(),
            machine=machine(),
            load=load,
        )


def installed_versions() -> dict[str, str]:
    """Versions of Python and of the packages that are there."""
    found = {"python": sys.version.split()[0]}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def machine() -> str:
    """Cores and processor."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in lines if "model name" in line), "")
    return f"{os.cpu_count()} cores, {model}"


def _end(process: SpawnProcess) -> None:
    """Kill a process that still runs, and whatever it has started."""
    assert process.pid is not None
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join()


def perplexity(topics: LDATopics, test: sparse.csr_array, n_jobs: int) -> float:
    """Of the test documents, by completion: the one judge of all."""
    return log_likelihood(
        topics, test, "completion", n_samples=1, random_state=0, n_jobs=n_jobs
    ).perplexity
