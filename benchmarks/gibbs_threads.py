"""Throughput of GibbsLDA's samplers per core, for small and large K, and what two threads give.

    python -m benchmarks.gibbs_threads [--topics 100 200 500 1000 2000] [--samplers parallel-sparse]
        [--topica warp sparse] [--threads 1] [--plot docs]

Tokens that a sweep resamples, by the CPU seconds of all threads that it takes, after `--burn-in`
sweeps from the online start, with alpha learned and no samples added up. One and two threads make
the same sweeps from the same state, in turns, so that other work on the machine meets both; medians
over `--sweeps` of them. The exact samplers have one thread.

With `--topica` also samplers of the package topica, on the same counts, one thread: it has no
single sweeps, so the difference of two fits is taken, one of which makes `--sweeps` sweeps more
than the other, which makes `--burn-in`. Both learn alpha and beta every ten sweeps, start at
random, as it does by default, and keep no trace. Its corpus is made before. Where other work runs
on the machine only the CPU seconds of such a difference say something.

`--plot DIR` writes the rates of one thread against K to `gibbs_samplers.svg` and `.png` there.
"""

from __future__ import annotations

import argparse
import time
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import FixedLocator, NullFormatter, StrMethodFormatter

from benchmarks.lda_trainers.separate_fits import TOPICA_SAMPLERS, topica_corpus
from benchmarks.reference_counts import reference_counts
from models import GibbsLDA
from models.gibbs.state import SAMPLERS
from pipeline.figures.style import series_style
from pipeline.figures.write import write_figures

if TYPE_CHECKING:
    from collections.abc import Callable

    from scipy import sparse

Seconds = dict[int, tuple[float, float]]
"""Wall and CPU seconds of a sweep, for each number of threads."""


def sweep_seconds(
    counts: sparse.csr_array,
    n_topics: int,
    sampler: str,
    burn_in: int,
    n_sweeps: int,
    threads: tuple[int, ...],
) -> Seconds:
    """Medians over `n_sweeps`."""

    def model(n_iter: int, n_threads: int) -> GibbsLDA:
        return GibbsLDA(
            n_topics,
            alpha=0.1,
            eta=0.01,
            n_iter=n_iter,
            burn_in=n_iter,
            sampler=sampler,
            start="online",
            random_state=1,
            n_jobs=n_threads,
        )

    state = model(burn_in, threads[-1]).fit(counts).state_
    threads = threads[:1] if sampler.startswith("exact") else threads
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


def topica_sweep_seconds(
    counts: sparse.csr_array, n_topics: int, sampler: str, burn_in: int, n_sweeps: int
) -> Seconds:
    """The difference of two fits, by the number of sweeps in which they differ."""
    from topica import LDA  # type: ignore[import-not-found]  # noqa: PLC0415 - a peer

    corpus = topica_corpus(counts)

    def fit(n_iter: int) -> tuple[float, float]:
        model = LDA(
            n_topics,
            alpha_sum=0.1 * n_topics,
            beta=0.01,
            optimize_interval=10,
            burn_in=10,
            seed=1,
            num_threads=1,
            sampler=sampler,
        )
        wall, cpu = time.perf_counter(), time.process_time()
        # A sweep beyond `iters`, for the one sample.
        more = {"num_samples": 1, "sample_interval": 1, "keep_theta_draws": False}
        model.fit(corpus, iters=n_iter - 1, check_every=0, **more)
        return time.perf_counter() - wall, time.process_time() - cpu

    short, long = fit(burn_in), fit(burn_in + n_sweeps)
    wall, cpu = ((b - a) / n_sweeps for a, b in zip(short, long, strict=True))
    return {1: (wall, cpu)}


def plot(rates: dict[str, list[float]], n_topics: list[int], directory: Path) -> None:
    """Write the rates of each sampler, millions of tokens a CPU second, against K."""

    def draw(figure: Any) -> None:
        figure.set_size_inches(6.4, 4.0)
        axes = figure.add_subplot()
        for n, (name, of_sampler) in enumerate(rates.items()):
            line = "--" if name.startswith("topica") else "-"
            axes.plot(n_topics, of_sampler, label=name, linestyle=line, **series_style(n))
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(FixedLocator(n_topics))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_ylim(bottom=0.0)
        axes.set_xlabel("K, topics")
        axes.set_ylabel("millions of tokens a CPU second")
        axes.legend()

    write_figures({"gibbs_samplers": draw}, directory)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--topics", type=int, nargs="+", default=[100, 200, 500, 1000, 2000])
    parser.add_argument("--samplers", nargs="*", default=list(SAMPLERS), choices=SAMPLERS)
    parser.add_argument(
        "--topica", nargs="+", default=[], choices=TOPICA_SAMPLERS, help="its samplers as well"
    )
    parser.add_argument("--burn-in", type=int, default=20)
    parser.add_argument("--sweeps", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2, choices=(1, 2), help="at most")
    parser.add_argument("--documents", type=int, help="only the first so many")
    parser.add_argument("--plot", type=Path, metavar="DIR", help="writes gibbs_samplers.svg there")
    arguments = parser.parse_args()
    counts, _ = reference_counts()
    counts = counts[: arguments.documents]
    n_tokens = int(counts.sum())
    print(f"{n_tokens:,} tokens; millions of them a CPU second, and seconds of a sweep, CPU s of 1")
    print("sampler              K   1 thread  2 threads    CPU s  seconds: 1       2   ratio")
    threads = tuple(range(1, arguments.threads + 1))
    ours = partial(sweep_seconds, threads=threads)
    measures: list[tuple[str, str, Callable[..., Seconds]]] = [
        (sampler, sampler, ours) for sampler in arguments.samplers
    ]
    measures += [(f"topica {name}", name, topica_sweep_seconds) for name in arguments.topica]
    all_rates: dict[str, list[float]] = {}
    for shown, sampler, measure in measures:
        rates = all_rates[shown] = []
        for n_topics in arguments.topics:
            seconds = measure(counts, n_topics, sampler, arguments.burn_in, arguments.sweeps)
            one_wall, one_cpu = seconds[1]
            rates.append(n_tokens / one_cpu / 1e6)
            line = f"{shown:16s} {n_topics:5d} {rates[-1]:10.2f}"
            if 2 in seconds:
                two_wall, two_cpu = seconds[2]
                line += f" {n_tokens / two_cpu / 1e6:10.2f} {one_cpu:8.3f}"
                line += f"  {one_wall:10.3f} {two_wall:7.3f}"
                line += f" {one_wall / two_wall:7.2f}"
            else:
                line += f" {'-':>10s} {one_cpu:8.3f}  {one_wall:10.3f}"
            print(line, flush=True)
        print(f"{shown:16s} fastest to slowest K: {max(rates) / min(rates):.2f}", flush=True)
    if arguments.plot:
        plot(all_rates, arguments.topics, arguments.plot)


if __name__ == "__main__":
    main()
