"""Trains, scores, and shows: see the package."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import benchmarks.lda_trainers
from benchmarks.lda_trainers.one_run import measure
from benchmarks.lda_trainers.plot import plot_results
from benchmarks.lda_trainers.results import Results
from benchmarks.lda_trainers.table import tables
from benchmarks.lda_trainers.trainers import OURS, PEERS, TRAINERS, Settings
from benchmarks.reference_counts import reference_counts
from corpora.files import atomic_write_text

OUTPUT = Path("build/benchmarks/lda_trainers")
PACKAGES = ("numpy", "numba", "tomotopy", "lda", "scikit-learn", "gensim")


def installed_versions() -> dict[str, str]:
    found = {"python": sys.version.split()[0]}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def show(results: Results, directory: Path) -> None:
    """Print the tables and write them, and the plot."""
    text = tables(results)
    print(f"\n{text}")
    atomic_write_text(directory / "tables.md", text)
    plot_results(results, directory)
    print(f"results, tables and plot: {directory}")


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
    parser.add_argument("--passes", type=int, default=4, help="of a variational trainer")
    parser.add_argument(
        "--limit",
        type=float,
        default=1800.0,
        help="seconds after which any run is stopped; its looks up to then count",
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
    parser.add_argument("--seeds", type=int, default=1, help="how many runs of each")
    parser.add_argument(
        "--documents", type=int, help="train on the first so many; on more, with repeats"
    )
    parser.add_argument("--fixed-priors", action="store_true", help="learn no alpha")
    parser.add_argument(
        "--start", default="online", choices=("online", "random"), help="GibbsLDA's"
    )
    parser.add_argument("--output", type=Path, default=OUTPUT, metavar="DIR")
    parser.add_argument(
        "--plot-only", type=Path, metavar="RESULTS.json", help="show these, train nothing"
    )
    arguments = parser.parse_args()
    if len(arguments.seconds) == 1:
        arguments.seconds *= len(arguments.topics)
    if len(arguments.seconds) != len(arguments.topics):
        parser.error("--seconds needs one number, or as many as --topics")
    return arguments


def main() -> None:
    arguments = arguments_of()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # clean up even then
    arguments.output.mkdir(parents=True, exist_ok=True)
    if arguments.plot_only:
        show(Results.load(arguments.plot_only), arguments.output)
        return
    names = []
    for name in [*arguments.ours, *arguments.peers]:
        if TRAINERS[name].is_installed:
            names.append(name)
        else:
            print(f"{name} is not installed and is left out", flush=True)
    _, test = reference_counts()
    shown = ("topics", "seconds", "passes", "seeds", "documents", "fixed_priors", "start")
    settings = {name: getattr(arguments, name) for name in shown}
    results = Results({**settings, "cores": os.cpu_count()}, installed_versions(), [])
    for n_topics, seconds in zip(arguments.topics, arguments.seconds, strict=True):
        for seed in range(1, arguments.seeds + 1):
            for name in names:
                load, began = os.getloadavg()[0], time.perf_counter()
                one = Settings(
                    n_topics=n_topics,
                    seed=seed,
                    passes=arguments.passes,
                    seconds=seconds,
                    fixed_priors=arguments.fixed_priors,
                    start=arguments.start,
                )
                run = measure(name, one, arguments.documents, arguments.limit, test)
                if run is None:
                    continue
                last = run.looks[-1]
                print(
                    f"K = {n_topics}, seed {seed}, {name}: {last.seconds:.1f} s, "
                    f"{last.cpu_seconds:.1f} CPU s, perplexity {last.perplexity:.1f} "
                    f"({time.perf_counter() - began:.0f} s with looks; load before {load:.1f})",
                    flush=True,
                )
                results.runs.append(run)
                results.save(arguments.output / "results.json")
    if results.runs:
        show(results, arguments.output)


if __name__ == "__main__":
    main()
