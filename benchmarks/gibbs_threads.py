"""Throughput of GibbsLDA's samplers per core, for small and large K, and what two threads give.

    python -m benchmarks.gibbs_threads [--topics 100 200 500 1000 2000] [--samplers parallel-sparse]

Tokens that a sweep resamples, by the CPU seconds of all threads that it takes, after `--burn-in`
sweeps from the online start, with alpha learned and no samples added up. One and two threads make
the same sweeps from the same state, in turns, so that other work on the machine meets both; medians
over `--sweeps` of them. The exact samplers have one thread.
"""

from __future__ import annotations

import argparse
import time
from copy import deepcopy
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.reference_counts import reference_counts
from models import GibbsLDA
from models.gibbs.state import SAMPLERS

if TYPE_CHECKING:
    from scipy import sparse


def sweep_seconds(
    counts: sparse.csr_array, n_topics: int, sampler: str, burn_in: int, n_sweeps: int
) -> dict[int, tuple[float, float]]:
    """For each number of threads, the median wall and CPU seconds of a sweep."""

    def model(n_iter: int, n_threads: int) -> GibbsLDA:
        return GibbsLDA(
            n_topics,
            alpha=0.1,
            eta=0.01,
            n_iter=n_iter,
            burn_in=n_iter,
            sampler=sampler,
            random_state=1,
            n_jobs=n_threads,
        )

    state = model(burn_in, 2).fit(counts).state_
    threads = (1,) if sampler.startswith("exact") else (1, 2)
    # The first sweep of each, with the layout of the data before it, is not counted.
    trainings = {
        n: model(burn_in + 1 + n_sweeps, n).iterate(counts, state=deepcopy(state)) for n in threads
    }
    for training in trainings.values():
        next(training)
    seconds: dict[int, list[tuple[float, float]]] = {n: [] for n in threads}
    for _ in range(n_sweeps):
        for n, training in trainings.items():
            wall, cpu = time.perf_counter(), time.process_time()
            next(training)
            seconds[n].append((time.perf_counter() - wall, time.process_time() - cpu))
    medians = {n: np.median(pairs, axis=0) for n, pairs in seconds.items()}
    return {n: (float(wall), float(cpu)) for n, (wall, cpu) in medians.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--topics", type=int, nargs="+", default=[100, 200, 500, 1000, 2000])
    parser.add_argument("--samplers", nargs="+", default=list(SAMPLERS), choices=SAMPLERS)
    parser.add_argument("--burn-in", type=int, default=20)
    parser.add_argument("--sweeps", type=int, default=10)
    parser.add_argument("--documents", type=int, help="only the first so many")
    arguments = parser.parse_args()
    counts, _ = reference_counts()
    counts = counts[: arguments.documents]
    n_tokens = int(counts.sum())
    print(f"{n_tokens:,} tokens; millions of them a CPU second, and seconds of a sweep")
    print("sampler              K   1 thread  2 threads   seconds: 1       2   ratio", flush=True)
    for sampler in arguments.samplers:
        rates = []
        for n_topics in arguments.topics:
            seconds = sweep_seconds(counts, n_topics, sampler, arguments.burn_in, arguments.sweeps)
            one_wall, one_cpu = seconds[1]
            rates.append(n_tokens / one_cpu / 1e6)
            line = f"{sampler:16s} {n_topics:5d} {rates[-1]:10.2f}"
            if 2 in seconds:
                two_wall, two_cpu = seconds[2]
                line += f" {n_tokens / two_cpu / 1e6:10.2f}   {one_wall:10.3f} {two_wall:7.3f}"
                line += f" {one_wall / two_wall:7.2f}"
            else:
                line += f" {'-':>10s}   {one_wall:10.3f}"
            print(line, flush=True)
        print(f"{sampler:16s} fastest to slowest K: {max(rates) / min(rates):.2f}", flush=True)


if __name__ == "__main__":
    main()
