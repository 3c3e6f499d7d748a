"""Trains, scores, and shows: see the package."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import benchmarks.lda_trainers
from benchmarks.lda_trainers.one_run import measure
from benchmarks.lda_trainers.plot import plot_results
from benchmarks.lda_trainers.results import append_run, load_runs
from benchmarks.lda_trainers.settings import Settings
from benchmarks.lda_trainers.table import short_table, tables
from benchmarks.lda_trainers.trainers import OURS, PEERS, TRAINERS
from benchmarks.reference_counts import reference_counts
from corpora.files import atomic_write_text
from models.gibbs.start import STARTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.lda_trainers.results import Run

OUTPUT = Path("build/benchmarks/lda_trainers")
ALPHA, ALPHA_SUM = 0.1, 20.0
"""The default of alpha, and the most that it sums to."""
MEMORY = 0.8
"""The share of the machine's memory that a process may take by default."""


def show(runs: list[Run], directory: Path) -> None:
    """Print the tables and write them, and the plot."""
    text = f"# LDA trainers: all tables\n\n{short_table(runs)}\n\n{tables(runs)}"
    versions = sorted({f"{name} {of}" for run in runs for name, of in run.versions.items()})
    loads = [run.load for run in runs]
    text += f"\n{'; '.join(sorted({run.machine for run in runs}))}. {', '.join(versions)}. "
    text += f"Load of the machine before a run {min(loads):.1f} to {max(loads):.1f}.\n"
    print(f"\n{text}")
    atomic_write_text(directory / "tables.md", text)
    plot_results(runs, directory)
    print(f"runs, tables and plot: {directory}")


def arguments_of() -> argparse.Namespace:
    description = (benchmarks.lda_trainers.__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser("python -m benchmarks.lda_trainers", description=description)
    parser.add_argument("--topics", type=int, nargs="+", default=[25, 100, 1000], metavar="K")
    parser.add_argument(
        "--seconds",
        type=float,
        nargs="+",
        default=[40.0, 60.0, 180.0],
        help="of a sampler, for each K, or one for all",
    )
    parser.add_argument(
        "--alpha",
        type=float,
        nargs="+",
        help=f"to begin with, for each K, or one for all; {ALPHA}, or {ALPHA_SUM:g} / K if less",
    )
    parser.add_argument("--passes", type=int, default=4, help="of a variational trainer")
    parser.add_argument(
        "--limit",
        type=float,
        default=1800.0,
        help="seconds after which any run is stopped; its looks up to then count",
    )
    parser.add_argument(
        "--memory",
        type=float,
        metavar="GB",
        help=f"that a process may take; {MEMORY:.0%} of the machine's by default".replace(
            "%", "%%"
        ),
    )
    parser.add_argument(
        "--peers",
        nargs="*",
        default=list(PEERS),
        choices=list(PEERS),
        metavar="NAME",
        help=", ".join(PEERS),
    )
    parser.add_argument(
        "--ours",
        nargs="*",
        default=list(OURS),
        choices=list(OURS),
        metavar="NAME",
        help=", ".join(OURS),
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], metavar="SEED")
    parser.add_argument(
        "--threads", type=int, default=2, help="or processes, of trainers that can have several"
    )
    parser.add_argument(
        "--documents",
        type=int,
        nargs="+",
        default=[25_000],
        help="train on the first so many; on more, with recombined ones",
    )
    parser.add_argument(
        "--growth",
        type=float,
        default=1.0,
        help="of the seconds from one look to the next, at least; more looks take longer to score",
    )
    parser.add_argument("--fixed-priors", action="store_true", help="learn no alpha")
    parser.add_argument("--start", default="auto", choices=STARTS, help="GibbsLDA's")
    parser.add_argument(
        "--output", type=Path, default=OUTPUT, metavar="DIR", help="where runs are kept"
    )
    parser.add_argument(
        "--plot-only", action="store_true", help="show what is in DIR, train nothing"
    )
    arguments = parser.parse_args()
    if arguments.alpha is None:
        arguments.alpha = [min(ALPHA, ALPHA_SUM / n_topics) for n_topics in arguments.topics]
    for name in ("seconds", "alpha"):
        values = getattr(arguments, name)
        if len(values) == 1:
            values *= len(arguments.topics)
        if len(values) != len(arguments.topics):
            parser.error(f"--{name} needs one number, or as many as --topics")
    return arguments


def asked_for(arguments: argparse.Namespace, names: list[str]) -> Iterator[tuple[str, Settings]]:
    """Every trainer and settings, in an order in which tables are complete as early as can be."""
    each = zip(arguments.topics, arguments.seconds, arguments.alpha, strict=True)
    for n_docs, (n_topics, seconds, alpha), seed, name in product(
        arguments.documents, list(each), arguments.seeds, names
    ):
        settings = Settings(
            n_topics=n_topics,
            seed=seed,
            documents=n_docs,
            alpha=alpha,
            passes=arguments.passes,
            seconds=seconds,
            fixed_priors=arguments.fixed_priors,
            start=arguments.start,
            threads=arguments.threads,
        )
        yield name, TRAINERS[name].settings(settings)


def main() -> None:
    arguments = arguments_of()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # clean up even then
    arguments.output.mkdir(parents=True, exist_ok=True)
    names = []
    for name in [*arguments.ours, *arguments.peers]:
        if TRAINERS[name].is_installed:
            names.append(name)
        elif not arguments.plot_only:
            print(f"{name} is not installed and is left out", flush=True)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * MEMORY
    if arguments.memory is not None:
        memory = 1e9 * arguments.memory
    _, test = reference_counts()
    for name, settings in () if arguments.plot_only else asked_for(arguments, names):
        what = f"K = {settings.n_topics}, {settings.documents:,} documents, seed {settings.seed}"
        there = load_runs(arguments.output)
        if any(run.answers(name, settings, arguments.limit) for run in there):
            print(f"{what}, {name}: is there", flush=True)
            continue
        began = time.perf_counter()
        run = measure(name, settings, arguments.limit, int(memory), test, arguments.growth)
        append_run(run, arguments.output)
        if run.looks:
            last = run.looks[-1]
            said = (
                f"{last.seconds:.1f} s, {last.cpu_seconds:.1f} CPU s, "
                f"perplexity {last.perplexity:.1f}"
            )
        else:
            said = run.failed
        took = time.perf_counter() - began
        print(f"{what}, {name}: {said} ({took:.0f} s in all, load {run.load:.1f})", flush=True)
    if runs := load_runs(arguments.output):
        show(runs, arguments.output)


if __name__ == "__main__":
    main()
