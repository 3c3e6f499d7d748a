"""One run: training in a process of its own, and the scores of its looks."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.lda_trainers.process_tree import signal_descendants
from benchmarks.lda_trainers.recorder import Recorder, snapshots, start_memory
from benchmarks.lda_trainers.results import Look, Run
from benchmarks.lda_trainers.trainers import JOBS, OURS, TRAINERS, Settings, run_trainer
from benchmarks.reference_counts import reference_counts
from evaluation import log_likelihood

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

    from scipy import sparse

    from models import LDATopics

OUR_LOOKS, PEER_LOOKS = (0.25, 1.15), (1.0, 1.5)
"""Seconds before the first look, and the factor from one to the next."""
ERRORS = "stderr.txt"


def train_one(name: str, settings: Settings, documents: int | None, directory: Path) -> None:
    """Train and leave the looks in `directory`; in a process, and process group, of its own."""
    os.setsid()
    with (directory / ERRORS).open("wb") as stream:
        os.dup2(stream.fileno(), sys.stderr.fileno())
    train, _ = reference_counts()
    if documents is not None:
        train = train[np.arange(documents) % train.shape[0]]
    trainer = TRAINERS[name]
    first, growth = OUR_LOOKS if name in OURS else PEER_LOOKS
    limit = settings.seconds if trainer.samples else float("inf")
    recorder = Recorder(directory, first, growth, limit)
    try:
        run_trainer(trainer, train, settings, recorder)
    finally:  # a pool of workers that is still there would be waited for
        signal_descendants(signal.SIGKILL)


def measure(
    name: str, settings: Settings, documents: int | None, limit: float, test: sparse.csr_array
) -> Run | None:
    """Train in a process of its own and score its looks; if it fails, say so in a line: None.

    `documents` is how many to train on, again from the first if there are not so many. `limit` is
    the seconds after which it is stopped, looks, start and all; the looks up to then count.
    """
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        process = get_context("spawn").Process(
            target=train_one, args=(name, settings, documents, directory)
        )
        process.start()
        try:
            process.join(limit)
            exit_code = process.exitcode
        finally:
            _end(process)
        if exit_code:
            said = (directory / ERRORS).read_text().strip().splitlines()[-1:]
            print(f"{name} is left out: exit code {exit_code}", *said, sep=", ", flush=True)
            return None
        looks = tuple(
            Look(**asdict(snapshot), perplexity=perplexity(topics, test))
            for snapshot, topics in snapshots(directory)
        )
        if not looks:
            print(f"{name} is left out: it had no look in {limit:g} s", flush=True)
            return None
        return Run(
            trainer=name,
            is_ours=name in OURS,
            n_threads=TRAINERS[name].n_threads,
            n_topics=settings.n_topics,
            seed=settings.seed,
            start_memory=start_memory(directory),
            ended=exit_code == 0,
            looks=looks,
        )


def _end(process: SpawnProcess) -> None:
    """Kill a process that still runs, and whatever it has started."""
    assert process.pid is not None
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join()


def perplexity(topics: LDATopics, test: sparse.csr_array) -> float:
    """Of the test documents, by completion: the one judge of all."""
    return log_likelihood(
        topics, test, "completion", n_samples=1, random_state=0, n_jobs=JOBS
    ).perplexity
