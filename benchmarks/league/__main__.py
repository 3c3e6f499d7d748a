"""Trains and scores cells, and shows tables: see the package."""

from __future__ import annotations

import argparse
import sys
import time
from itertools import product
from pathlib import Path

import benchmarks.league
from benchmarks.league.cells import Cell, LeagueFileError, fill
from benchmarks.league.corpora import CORPORA
from benchmarks.league.page import page
from benchmarks.league.tables import store, stored, table_of
from benchmarks.league.trainers import TRAINERS
from corpora.files import atomic_write_text

OUTPUT = Path("build/benchmarks/league")
NEEDED = "--corpora and --trainers name those that are here; what is made is kept"


def arguments_of() -> argparse.Namespace:
    description = (benchmarks.league.__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser("python -m benchmarks.league", description=description)
    for name, known in (("corpora", CORPORA), ("trainers", TRAINERS)):
        parser.add_argument(
            f"--{name}",
            nargs="+",
            default=list(known),
            choices=list(known),
            metavar="NAME",
            help=", ".join(known),
        )
    parser.add_argument("--topics", type=int, nargs="+", default=[20, 50, 100], metavar="K")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5], metavar="SEED")
    parser.add_argument("--output", type=Path, default=OUTPUT, metavar="DIR")
    parser.add_argument("--minutes", type=float, metavar="N", help="begin no cell after so many")
    parser.add_argument("--show", type=Path, metavar="FILE", help="write the page, train nothing")
    arguments = parser.parse_args()
    for name, least in (("topics", 1), ("seeds", 0)):
        if min(getattr(arguments, name)) < least:
            parser.error(
                f"--{name} must be at least {least}, found {min(getattr(arguments, name))}"
            )
    return arguments


def show(output: Path, page_path: Path) -> None:
    """Store the tables of a folder beside the page, and make the page of all that are stored."""
    if not page_path.suffix:
        sys.exit(
            f"--show {page_path}: name a file, such as {page_path}.md; tables go to {page_path}"
        )
    tables = page_path.with_suffix("")
    folders = {path.parent for path in output.glob("*/*/*.json") if path.parent.name.isdecimal()}
    for table in [table_of(folder) for folder in sorted(folders)]:
        store(table, tables)
    found = sorted(map(stored, tables.glob("*.json")), key=lambda t: (t.corpus, t.n_topics))
    if not found:
        sys.exit(
            f"{output} has no figures of the league: name its folder by --output, "
            "or leave --show out to make them"
        )
    atomic_write_text(page_path, page(found))
    print(page_path)


def main() -> None:
    arguments = arguments_of()
    try:
        if arguments.show is not None:
            show(arguments.output, arguments.show)
        else:
            fill_all(arguments)
    except LeagueFileError as error:
        sys.exit(str(error))
    except FileNotFoundError as error:
        sys.exit(
            f"{error.filename}: no such file: set WIKITOPICS_SHARED to the folder that holds data, "
            f"or leave that corpus out: {NEEDED}"
        )
    except ImportError as error:
        sys.exit(f"{error}: `pip install 'wikitopics[peers]'`, or leave that out: {NEEDED}")


def fill_all(arguments: argparse.Namespace) -> None:
    """Train and score the cells that are missing, until time is up."""
    began = time.monotonic()
    for corpus in arguments.corpora:
        parts = CORPORA[corpus]()
        # All trainers of a K and a seed before the next, so that tables are complete early.
        for n_topics, seed, trainer in product(
            arguments.topics, arguments.seeds, arguments.trainers
        ):
            if arguments.minutes and time.monotonic() - began > 60 * arguments.minutes:
                print("time is up; the same command goes on")
                return
            started = time.monotonic()
            if fill(Cell(corpus, n_topics, trainer, seed), parts, arguments.output):
                took = time.monotonic() - started
                print(f"{corpus}, K = {n_topics}, {trainer}, seed {seed}: {took:.0f} s", flush=True)


if __name__ == "__main__":
    main()
