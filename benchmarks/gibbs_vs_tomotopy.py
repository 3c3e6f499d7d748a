"""Gibbs LDA against tomotopy: held-out perplexity against seconds of training, from the start.

    python -m benchmarks.gibbs_vs_tomotopy --topics 100 --seconds 60 [--fixed-priors]

Both learn from the same counts on two threads, from alpha = 0.1 and eta = 0.01, and are scored by
the same document completion of the same test documents. tomotopy learns alpha every ten sweeps, as
it does by default, and so does ours; with --fixed-priors neither learns a prior. Only training is
timed, including how it starts; the kernels are compiled before. "time to" is when ours is first as
good as tomotopy's last figure. CPU seconds, of all threads, are printed too: on a machine that has
other work to do they compare where wall seconds do not. Needs `pip install tomotopy`.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import tomotopy

from benchmarks.reference_counts import reference_counts
from evaluation import log_likelihood
from models import GibbsLDA, LDATopics

if TYPE_CHECKING:
    from scipy import sparse

ALPHA, ETA, JOBS = 0.1, 0.01, 2
LOOKS = np.array([1 / 60, 1 / 30, 1 / 12, 1 / 6, 1 / 4, 1 / 3, 1 / 2, 2 / 3, 5 / 6, 1.0])
"""When to look, as parts of the time."""


def perplexity(model: LDATopics, test: sparse.csr_array) -> float:
    return log_likelihood(
        model, test, "completion", n_samples=1, random_state=0, n_jobs=JOBS
    ).perplexity


@dataclass
class Look:
    """A figure of a curve."""

    sweeps: int
    seconds: float
    cpu_seconds: float
    perplexity: float

    def show(self, name: str) -> None:
        """Print it."""
        print(
            f"  {name:10s} {self.seconds:7.1f} s  {self.cpu_seconds:7.1f} CPU s  "
            f"sweep {self.sweeps:5d}  {self.perplexity:8.1f}  load {os.getloadavg()[0]:.1f}",
            flush=True,
        )


class Stopwatch:
    """Wall and CPU seconds of the time that it was not paused."""

    def __init__(self) -> None:
        self.seconds, self.cpu_seconds = 0.0, 0.0
        self.go()

    def go(self) -> None:
        """Start, or go on."""
        self._started = time.perf_counter(), time.process_time()

    def pause(self) -> None:
        """Count what has passed since `go`."""
        self.seconds += time.perf_counter() - self._started[0]
        self.cpu_seconds += time.process_time() - self._started[1]


def tomotopy_curve(
    train: sparse.csr_array, test: sparse.csr_array, n_topics: int, limit: float, *, fixed: bool
) -> list[Look]:
    model = tomotopy.LDAModel(k=n_topics, alpha=ALPHA, eta=ETA, seed=1)
    if fixed:
        model.optim_interval = 0
    names = np.array([f"{w:06d}" for w in range(train.shape[1])])
    for d in range(train.shape[0]):
        row = slice(train.indptr[d], train.indptr[d + 1])
        model.add_doc(np.repeat(names[train.indices[row]], train.data[row]).tolist())
    model.train(0, workers=JOBS)  # lays out the data
    column = np.array([int(word) for word in model.used_vocabs])

    def topics() -> LDATopics:
        weight = np.full((n_topics, train.shape[1]), ETA)
        n_k = np.asarray(model.get_count_by_topics(), dtype=float) + ETA * len(column)
        for k in range(n_topics):
            weight[k, column] = model.get_topic_word_dist(k) * n_k[k]
        return LDATopics.from_weights(weight, np.asarray(model.alpha))

    curve, sweeps, watch = [], 0, Stopwatch()
    for look in LOOKS * limit:
        watch.go()
        while True:
            model.train(1, workers=JOBS)
            sweeps += 1
            watch.pause()
            if watch.seconds >= look:
                break
            watch.go()
        curve.append(Look(sweeps, watch.seconds, watch.cpu_seconds, perplexity(topics(), test)))
        curve[-1].show("tomotopy")
    return curve


def our_curve(
    train: sparse.csr_array, test: sparse.csr_array, limit: float, settings: dict[str, Any]
) -> list[Look]:
    GibbsLDA(**{**settings, "n_iter": 1, "burn_in": 0}).fit(train[:300])  # compile
    model = GibbsLDA(**settings)
    curve, looks, watch = [], list(LOOKS * limit), Stopwatch()
    for step in model.iterate(train):
        watch.pause()
        if watch.seconds >= looks[0]:
            looks = [look for look in looks if look > watch.seconds]
            value = perplexity(model.topics_, test)
            curve.append(Look(step.n_sweeps, watch.seconds, watch.cpu_seconds, value))
            curve[-1].show("wikitopics")
            if not looks:
                break
        watch.go()
    return curve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topics", type=int, nargs="+", default=[25, 100, 1000])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--fixed-priors", action="store_true")
    parser.add_argument("--burn-in", type=int, default=20)
    parser.add_argument("--start", default="online")
    parser.add_argument("--sampler", default="auto")
    arguments = parser.parse_args()
    train, test = reference_counts()
    for n_topics in arguments.topics:
        print(f"K = {n_topics}, {arguments.seconds:g} s", flush=True)
        theirs = tomotopy_curve(
            train, test, n_topics, arguments.seconds, fixed=arguments.fixed_priors
        )
        settings = {
            "n_topics": n_topics,
            "alpha": ALPHA,
            "learn_priors": "none" if arguments.fixed_priors else "alpha",
            "eta": ETA,
            "n_iter": 1_000_000,
            "burn_in": arguments.burn_in,
            "start": arguments.start,
            "sampler": arguments.sampler,
            "random_state": 1,
            "n_jobs": JOBS,
        }
        ours = our_curve(train, test, arguments.seconds, settings)
        goal = theirs[-1]
        reached = [look for look in ours if look.perplexity <= goal.perplexity]
        if not reached:
            best = min(look.perplexity for look in ours)
            print(f"  {goal.perplexity:.1f} not reached; best {best:.1f}", flush=True)
            continue
        first = reached[0]
        print(
            f"  time to {goal.perplexity:.1f}: {first.seconds:.1f} s, "
            f"{goal.seconds / first.seconds:.2f} x faster; {first.cpu_seconds:.1f} CPU s, "
            f"{goal.cpu_seconds / first.cpu_seconds:.2f} x less",
            flush=True,
        )


if __name__ == "__main__":
    main()
