"""Command line: `python -m benchmarks.whole_wikipedia pages|run|count|rates|paper …`."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.whole_wikipedia.markup import Markup
from benchmarks.whole_wikipedia.pages import make_pages, n_cores, real_pages
from benchmarks.whole_wikipedia.paper import print_paper
from benchmarks.whole_wikipedia.rates import measure_rates
from benchmarks.whole_wikipedia.run import Folder, count_again, print_stages, straight_through
from corpora.articles.mediawiki_xml import read_pages

DESCRIBED = 1000  # Articles of the last file that are compared with real pages


def main() -> None:
    arguments = arguments_of()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    folder = Folder(arguments.folder.resolve())
    if arguments.what == "pages":
        print_pages(folder, arguments)
    elif arguments.what == "rates":
        measure_rates(folder)
    elif arguments.what == "paper":
        print_paper(folder.taken(), json.loads(folder.rates.read_text()))
    else:
        found = stages_of(folder, arguments)
        print_stages(found, json.loads(arguments.paper.read_text()) if arguments.paper else None)


def arguments_of() -> argparse.Namespace:
    """Arguments of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.whole_wikipedia")
    what = parser.add_subparsers(dest="what", required=True)
    for name in ("pages", "run", "count", "rates", "paper"):
        each = what.add_parser(name)
        each.add_argument("--folder", type=Path, required=True)
        if name in ("rates", "paper"):
            continue
        each.add_argument("--threads", type=int, default=n_cores())
        if name != "pages":
            each.add_argument("--paper", type=Path, help="run.json of a run whose rates to compare")
        if name == "count":
            continue
        each.add_argument("--pages", type=int, default=20_000, help="articles to make")
        each.add_argument("--seed", type=int, default=0, help="of the pages")
        if name == "run":
            each.add_argument("--topics", type=int, default=100)
            each.add_argument(
                "--kills",
                action="store_true",
                help="kill each stage once, if it lasts long enough: 3 seconds, or 45 of download,"
                " text and training",
            )
    return parser.parse_args()


def print_pages(folder: Folder, arguments: argparse.Namespace) -> None:
    """Make pages, and print what real ones and these have of markup."""
    for file in make_pages(
        folder.path / "server", arguments.pages, arguments.seed, arguments.threads
    ):
        print(file, file.stat().st_size)
    made = (page.wikitext for page in islice(read_pages(file), DESCRIBED))
    for name, some in (("real", real_pages()), ("made", made)):
        print(f"\n{name}: {Markup.of(some)}")


def stages_of(folder: Folder, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what a run takes, or what counting takes without kills."""
    if arguments.what == "count":
        return count_again(replace(folder, name="count"), arguments.threads)
    return straight_through(
        folder,
        arguments.pages,
        arguments.topics,
        arguments.threads,
        kills=arguments.kills,
        seed=arguments.seed,
    )


if __name__ == "__main__":
    main()
