"""The article store: how fast it writes, opens, counts and verifies, and the memory that it takes.

    python -m benchmarks.article_store [--most 1000000] [--folder DIR]

First, articles of real size, in memory beforehand, are appended in one thread: 25,000 texts of
Wikipedia where the reference data are there, and the long articles of gensim's sample. Then stores
of 10,000, 100,000 and 1,000,000 short articles with ids in random order are made, opened, counted
and verified, each step in a process of its own. Memory is the growth of the process's peak while it
works, against what Python and the packages take anyway.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.reference_counts import FOLDER
from corpora import Article, ArticleStore, export_articles
from corpora.articles.json_lines import read_json_lines
from downloader.sources import read_source, sample_path

if TYPE_CHECKING:
    from collections.abc import Iterator

SHARD = 100
LARGEST_ID = 2**31 - 1  # a prime


def real_articles() -> Iterator[tuple[str, list[Article]]]:
    """Name and articles of each source of articles of real size."""
    path = FOLDER / "train_25000.jsonl.xz"
    if path.exists():
        yield "Wikipedia 2019", list(read_json_lines(path))
    else:
        print(f"{path} is not here; set WIKITOPICS_SHARED")
    sample = list(read_source("sample", sample_path()))
    copies = [replace(a, page_id=copy * 10**6 + a.page_id) for copy in range(20) for a in sample]
    yield "gensim's sample × 20", copies


def short_articles(n_articles: int) -> Iterator[Article]:
    """Made-up articles with ids in random order, none of them kept."""
    page_id = 1
    for _ in range(n_articles):
        page_id = page_id * 16807 % LARGEST_ID
        yield Article(
            page_id=page_id,
            revision_id=page_id + 1,
            title=f"Title {page_id}",
            url=f"https://en.wikipedia.org/wiki/Title_{page_id}",
            timestamp="2020-01-01T00:00:00Z",
            language="en",
            license="CC BY-SA 4.0",
            text=f"Title {page_id} is a short text.",
        )


def peak_memory() -> int:
    """Largest resident set of this process so far, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def append_real(folder: Path) -> None:
    print("articles of real size              n   characters   articles/s    MB/s   bytes each")
    for name, articles in real_articles():
        store = ArticleStore(folder / name, SHARD)
        n_characters = sum(len(article.text) for article in articles)
        started = time.perf_counter()
        store.append(articles)
        seconds = time.perf_counter() - started
        n, n_bytes = len(articles), sum(entry.bytes for entry in store.entries)
        print(
            f"  {name:24s} {n:10,} {n_characters / n:12,.0f} {n / seconds:12,.0f}"
            f" {n_characters / seconds / 1e6:7.1f} {n_bytes / n:12,.0f}",
            flush=True,
        )


def step(name: str, path: Path, n_articles: int) -> None:
    """One step on a store of short articles; its seconds and memory as JSON."""
    store = ArticleStore(path, SHARD)
    before, started = peak_memory(), time.perf_counter()
    if name == "append":
        store.append(short_articles(n_articles))
    elif name == "count":
        assert len(store) == n_articles
    elif name in ("open", "index"):
        with store.writer() as writer:
            assert writer.has("en", 16807)
            seconds = time.perf_counter() - started
    elif name == "verify":
        store.verify()
    elif name == "export":
        export_articles(store, path.with_suffix(".parquet"))
    if name not in ("open", "index"):
        seconds = time.perf_counter() - started
    print(json.dumps([seconds, peak_memory() - before]))


def in_process(name: str, path: Path, n_articles: int) -> tuple[float, float]:
    """Seconds and megabytes of one step, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.article_store", "--step", name]
    command += ["--folder", str(path), "--most", str(n_articles)]
    seconds, n_bytes = json.loads(subprocess.check_output(command))
    return seconds, n_bytes / 1e6


def grow(folder: Path, n_articles: int) -> None:
    """Make a store of short articles, and what there is to do with it."""
    path = folder / f"short-{n_articles}"
    print(f"\n{n_articles:,} short articles, {SHARD} a shard", flush=True)
    for name, says in (
        ("append", "append"),
        ("count", "count the articles"),
        ("open", "open for writing, one look-up"),
        ("index", "the same without keys.sqlite"),
        ("verify", "verify"),
        ("export", "export to Parquet"),
    ):
        if name == "index":
            (path / "keys.sqlite").unlink()
        seconds, megabytes = in_process(name, path, n_articles)
        rate = f"{n_articles / seconds:12,.0f} a second" if name not in ("count", "open") else ""
        print(f"  {says:30s} {seconds:9.3f} s  {megabytes:7.1f} MB {rate}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where to work; a temporary one by default")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        step(arguments.step, arguments.folder, arguments.most)
        return
    with tempfile.TemporaryDirectory(dir=arguments.folder) as temporary:
        folder = Path(temporary)
        append_real(folder)
        for n_articles in (10_000, 100_000, 1_000_000):
            if n_articles <= arguments.most:
                grow(folder, n_articles)


if __name__ == "__main__":
    main()
