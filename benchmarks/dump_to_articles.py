"""From a dump to articles: how fast each stage is, before and after a change, and beside others.

    python -m benchmarks.dump_to_articles [--dump FILE.xml.bz2] [--before CHECKOUT] [--no-peers]

Processor seconds of one process, for each stage the least of some rounds in which the programs take
turns, over the wikitext of the articles in the dump, the built-in sample unless told otherwise.
`--before` names a folder with an earlier state of these sources, as `git worktree add` makes it.
gensim's `filter_wiki` and mwparserfromhell, which is slow and gets every fifth article, read the
same pages.
"""

from __future__ import annotations

import argparse
import bz2
import hashlib
import json
import math
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS, REPEATS = 4, 3
EVERY = 5  # of the articles, mwparserfromhell gets one


def seconds_of(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds of a call, and its result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def stages(dump: str, unpacked: str) -> dict[str, Any]:
    """Seconds of each stage by the sources that are first on the path; `unpacked` has the content
    of the dump.
    """
    from corpora.articles.compressed import read_chunks  # noqa: PLC0415
    from corpora.articles.mediawiki_xml import read_pages  # noqa: PLC0415
    from corpora.articles.page import page_to_article  # noqa: PLC0415

    seconds = {"bzip2": math.inf, "XML": math.inf, "main text": math.inf}
    for _ in range(REPEATS):
        taken, _ = seconds_of(lambda: sum(map(len, read_chunks(dump))))
        seconds["bzip2"] = min(seconds["bzip2"], taken)
        taken, pages = seconds_of(lambda: list(read_pages(unpacked)))
        seconds["XML"] = min(seconds["XML"], taken)
        taken, articles = seconds_of(partial(map_all, page_to_article, pages))
        seconds["main text"] = min(seconds["main text"], taken)
    texts = "\f".join(article.text for article in articles if article is not None)
    return {
        "seconds": seconds,
        "bytes": sum(len(page.wikitext.encode()) for page in pages),
        "articles": len(articles),
        "sha256": hashlib.sha256(texts.encode()).hexdigest(),
    }


def map_all(function: Callable[[Any], Any], items: list[Any]) -> list[Any]:
    """The results of a function for all items."""
    return [function(item) for item in items]


def gensim_pages(dump: str) -> dict[str, float]:
    """Seconds of gensim's reader of dumps."""
    from gensim.corpora.wikicorpus import extract_pages, filter_wiki  # noqa: PLC0415

    with bz2.open(dump) as file:
        read, pages = seconds_of(lambda: [text for _, text, _ in extract_pages(file, ("0",))])
    extracted, _ = seconds_of(lambda: [filter_wiki(text) for text in pages])
    return {"bzip2 and XML": read, "main text": extracted, "all": read + extracted}


def parser_pages(dump: str) -> dict[str, float]:
    """Seconds of mwparserfromhell for each of its articles times their share, without reading."""
    import mwparserfromhell  # noqa: PLC0415

    from corpora.articles.mediawiki_xml import read_pages  # noqa: PLC0415

    texts = [page.wikitext for page in read_pages(dump)]
    some = texts[::EVERY]
    extracted, _ = seconds_of(lambda: [mwparserfromhell.parse(text).strip_code() for text in some])
    return {"main text": extracted * sum(map(len, texts)) / sum(map(len, some))}


def in_checkout(root: Path, dump: str, unpacked: str) -> dict[str, Any]:
    """The stages by the sources in a folder, in a process of its own."""
    found = subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), "--stages", unpacked, "--dump", dump],
        env=os.environ | {"PYTHONPATH": str(root.resolve())},
        capture_output=True,
        text=True,
        check=True,
        cwd=root,
    )
    measured: dict[str, Any] = json.loads(found.stdout)
    return measured


def print_row(name: str, seconds: dict[str, float], n_bytes: int) -> None:
    """Print the seconds of stages, with megabytes of wikitext a second."""
    for stage, taken in seconds.items():
        print(f"{name:18} {stage:14} {taken:8.3f} s {n_bytes / taken / 1e6:8.1f} MB/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dump", help="an export of a wiki; the built-in sample if none is given")
    parser.add_argument("--before", type=Path, help="folder with an earlier state of the sources")
    parser.add_argument("--no-peers", action="store_true", help="leave out the other programs")
    parser.add_argument("--stages", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.stages:
        print(json.dumps(stages(arguments.dump, arguments.stages)))
        return
    from downloader.sources import sample_path  # noqa: PLC0415

    dump = str(Path(arguments.dump or sample_path()).resolve())
    roots = {"wikitopics": Path(__file__).parents[1]}
    if arguments.before:
        roots = {"before": arguments.before, **roots}
    with TemporaryDirectory() as folder, bz2.open(dump) as file:
        unpacked = Path(folder) / "dump.xml"
        unpacked.write_bytes(file.read())
        rounds = [
            {name: in_checkout(root, dump, str(unpacked)) for name, root in roots.items()}
            for _ in range(ROUNDS)
        ]
    last = rounds[-1]["wikitopics"]
    n_bytes = last["bytes"]
    print(f"{last['articles']} articles, {n_bytes / 1e6:.2f} MB of wikitext")
    for name in roots:
        least = {
            stage: min(one[name]["seconds"][stage] for one in rounds) for stage in last["seconds"]
        }
        print_row(name, least | {"all": sum(least.values())}, n_bytes)
    texts = {one[name]["sha256"] for one in rounds for name in roots}
    print("the same texts" if len(texts) == 1 else "DIFFERENT TEXTS", *texts)
    if not arguments.no_peers:
        print_row("gensim", gensim_pages(dump), n_bytes)
        print_row("mwparserfromhell", parser_pages(dump), n_bytes)


if __name__ == "__main__":
    main()
