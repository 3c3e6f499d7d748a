"""A million short texts in a Parquet file through `train`: memory of its processes, seconds, disk.

    python -m benchmarks.own_parquet [--texts 1000000] [--words 12] [--topics 20] [--passes 1]
        [--threads -1] [--folder DIR] [--json FILE]

Texts are made up: sentences of words of 40 themes, 250 words each, two themes a text, in a file of
row groups of 10,000, with an id and a year. `train FILE` reads them into an article store,
annotates and counts them, and makes one pass over the counts.

Memory is the proportional set size (PSS) of all processes of the command together, looked at twice
a second: a page that several share counts once. Exits with 1 if it was ever above 1.5 GB.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALLOWED = 1.5e9  # Bytes of all processes
ROW_GROUP = 10_000
N_THEMES, OF_A_THEME = 40, 250
SYLLABLES = ["".join(pair) for pair in product("bdklm", "aeiou")]
EVERY_SECONDS = 0.5
RUN = "own"


def make_file(path: Path, n_texts: int, n_words: int, seed: int = 0) -> None:
    """Write texts of about `n_words` words each, one row group at a time."""
    import pyarrow as pa  # noqa: PLC0415 - an optional package
    import pyarrow.parquet as pq  # noqa: PLC0415

    rng = np.random.default_rng(seed)
    syllables = list(map("".join, product(SYLLABLES, repeat=3)))
    words = np.array(rng.permutation(syllables)[: N_THEMES * OF_A_THEME], dtype=object)
    schema = pa.schema([("id", pa.int64()), ("year", pa.int64()), ("text", pa.string())])
    with pq.ParquetWriter(path, schema) as writer:
        for first in range(0, n_texts, ROW_GROUP):
            n = min(ROW_GROUP, n_texts - first)
            ids = np.arange(first, first + n)
            texts = _texts(rng, words, n, n_words)
            writer.write_table(pa.table([ids + 1, 1900 + ids % 100, texts], schema=schema))


def _texts(rng: np.random.Generator, words: NDArray[np.object_], n: int, n_words: int) -> list[str]:
    themes = rng.integers(N_THEMES, size=(n, 2))
    chosen = themes[np.arange(n)[:, None], rng.integers(2, size=(n, n_words))]
    of_text = words[chosen * OF_A_THEME + rng.integers(OF_A_THEME, size=chosen.shape)]
    return ["The " + " and the ".join(row) + " are here." for row in of_text]


def main(argv: list[str] | None = None) -> int:
    """Make the file, train, print and judge."""
    parser = argparse.ArgumentParser(description="memory of train FILE.parquet")
    parser.add_argument("--texts", type=int, default=1_000_000)
    parser.add_argument("--words", type=int, default=12)
    parser.add_argument("--topics", type=int, default=20)
    parser.add_argument("--passes", type=int, default=1)
    parser.add_argument("--threads", type=int, default=-1)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        file = Path(folder) / "big.parquet"
        make_file(file, arguments.texts, arguments.words)
        command = [
            *("pipeline", "train", str(file), "--run", RUN, "--runs", f"{folder}/runs"),
            *("--model", "online"),
            *("--topics", str(arguments.topics), "--max-passes", str(arguments.passes)),
            *("--threads", str(arguments.threads), "--seed", "0"),
        ]
        seconds, peak = watched([sys.executable, "-m", *command])
        size = {
            "file": file.stat().st_size,
            "store": _bytes_in(Path(folder, "runs"), "texts-*/shards/*"),
            "tokens": _bytes_in(Path(folder, "runs"), "texts-*/tokens/**/*"),
            "corpus": _bytes_in(Path(folder, "runs"), "own/corpus/*"),
        }
    print(f"{arguments.texts:,} texts of {arguments.words} words, {arguments.topics} topics")
    print(f"{seconds:,.0f} s; at most {peak / 1e6:,.0f} MB, allowed {ALLOWED / 1e6:,.0f} MB")
    print("disk: " + ", ".join(f"{name} {n / 1e6:,.1f} MB" for name, n in size.items()))
    if arguments.json:
        about = {"texts": arguments.texts, "words": arguments.words, "bytes": size}
        found = {**about, "seconds": seconds, "peak_bytes": peak}
        arguments.json.write_text(json.dumps(found, indent=2))
    return int(peak > ALLOWED)


def watched(command: list[str]) -> tuple[float, int]:
    """Run a command; return its seconds, and the largest memory of all its processes together.

    Raises SystemExit if it fails.
    """
    began, peak = time.perf_counter(), 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        peak = max(peak, sum(map(_memory_of, _with_descendants(process.pid))))
        time.sleep(EVERY_SECONDS)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return time.perf_counter() - began, peak


def _with_descendants(process: int) -> list[int]:
    found = [process]
    for each in found:  # grows
        try:
            tasks = Path(f"/proc/{each}/task").glob("*/children")
            found += [int(child) for task in tasks for child in task.read_text().split()]
        except OSError:  # it has ended
            continue
    return found


def _memory_of(process: int) -> int:
    """Bytes of a process, with its part of what it shares; 0 if it has ended."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text("ascii")
    except OSError:
        return 0
    return 1024 * int(text.partition("Pss:")[2].split()[0])


def _bytes_in(folder: Path, pattern: str) -> int:
    return sum(each.stat().st_size for each in folder.glob(pattern) if each.is_file())


if __name__ == "__main__":
    sys.exit(main())
