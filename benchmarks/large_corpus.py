"""Millions of short documents through bigrams, vocabulary and counting: memory, speed and disk.

    python -m benchmarks.large_corpus [--documents 10000000] [--folder DIR]

The documents are drawn as they are needed, the same ones in every pass, and no text is stored: some
eight words each, of Zipf's distribution over infinitely many, so that new words keep coming. Each
size runs in a process of its own. Peak memory is the growth of the process's peak against what
Python and the packages take anyway. Documents a second are by processor time, without drawing;
elapsed time is with it, and with whatever else the machine does.

The last step maps the corpus, as training does, and goes through it in batches. Its memory holds
pages of the mapped files, which the system takes back when it needs them; they are also given.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from corpora import Bigrams, Corpus, Pruning, TokenBlock, part_of
from corpora.corpus import build_corpus_on_disk
from corpora.tokens.block import BREAK
from corpora.vocabulary import learn_vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

SIZES = (1_000_000, 2_000_000, 5_000_000, 10_000_000)
BLOCK = 20_000
WORDS_A_DOCUMENT = 8
EXPONENT = 1.25
"""Of Zipf's law: 80 million words are some 3 million different ones."""
BATCH = 5_000


class Documents:
    """Simulated token blocks; iterating draws them anew, and the same ones each time."""

    def __init__(self, n_docs: int) -> None:
        self.n_docs = n_docs
        self.seconds = 0.0
        """Processor time spent on drawing so far."""

    def __iter__(self) -> Iterator[TokenBlock]:
        for start in range(0, self.n_docs, BLOCK):
            began = time.process_time()
            block = self._block(start, min(BLOCK, self.n_docs - start))
            self.seconds += time.process_time() - began
            yield block

    def _block(self, start: int, n_docs: int) -> TokenBlock:
        rng = np.random.default_rng([7, start])
        lengths = 1 + rng.poisson(WORDS_A_DOCUMENT - 1, n_docs)
        doc_start = np.concatenate(([0], np.cumsum(lengths + 1)))
        ranks = self._ranks(rng, int(doc_start[-1]))
        # Collocations: every other even word is followed by the one after it.
        after = np.flatnonzero((ranks[:-1] % 2 == 0) & (rng.random(len(ranks) - 1) < 0.5))
        ranks[after + 1] = ranks[after] + 1
        ranks[doc_start[1:] - 1] = BREAK
        distinct, word_of = np.unique(ranks, return_inverse=True)
        # The first of all is BREAK.
        words = [f"w{rank:09d}" for rank in distinct[1:].tolist()]
        return TokenBlock(
            tuple(words),
            (word_of - 1).astype(np.int32),
            doc_start,
            tuple(f"en:{d}" for d in range(start, start + n_docs)),
            tuple(f"Title of {d}" for d in range(start, start + n_docs)),
        )

    @staticmethod
    def _ranks(rng: np.random.Generator, n: int) -> NDArray[np.int64]:
        """(n,) ranks from 0 to about 10⁹, rank r with probability about (r + 1)^-EXPONENT."""
        u = np.maximum(rng.random(n), 1e9 ** (1 - EXPONENT))
        return np.asarray(np.floor(u ** (1 / (1 - EXPONENT))) - 1, dtype=np.int64)


def is_training(document_id: str) -> bool:
    return part_of(document_id) == "train"


def memory(kind: str) -> int:
    """Bytes of this process: VmHWM, the most so far, or RssFile, those of mapped files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{kind}:"))


def build(n_docs: int, folder: Path) -> dict[str, float]:
    """All steps on so many documents; seconds of each, memory and sizes."""
    blocks = Documents(n_docs)
    before, mapped_before = memory("VmHWM"), memory("RssFile")
    result: dict[str, float] = {"documents": n_docs}

    @contextmanager
    def measured(step: str) -> Iterator[None]:
        began, worked, drawn = time.perf_counter(), time.process_time(), blocks.seconds
        yield
        result[f"{step}_elapsed"] = time.perf_counter() - began
        result[f"{step}_worked"] = time.process_time() - worked - (blocks.seconds - drawn)
        result[f"{step}_memory"] = memory("VmHWM") - before

    with measured("bigrams"):
        rule = Bigrams({})
        counts = (rule.count_pairs(block, is_training) for block in blocks)
        bigrams = rule.from_counts(counts, scoring="npmi", threshold=0.5, directory=folder)
    with measured("vocabulary"):
        joined = (bigrams.join(block) for block in blocks)
        vocabulary = learn_vocabulary(joined, is_training, Pruning(), directory=folder)
    with measured("counts"):
        build_corpus_on_disk(
            folder / "corpus", (bigrams.join(block) for block in blocks), vocabulary
        )
    with measured("read"):
        began = time.perf_counter()
        corpus = Corpus.load(folder / "corpus", mmap=True)
        result["open"] = time.perf_counter() - began
        assert sum(int(batch.sum()) for batch in corpus.batches(BATCH)) == corpus.n_tokens
    result["mapped"] = memory("RssFile") - mapped_before
    result["pairs"], result["words"] = len(bigrams.scores), corpus.n_words
    result["nnz"] = corpus.counts.nnz
    result["disk"] = sum(file.stat().st_size for file in (folder / "corpus").iterdir())
    return result


def report(result: dict[str, float]) -> None:
    n = result["documents"]
    print(
        f"\n{n:,.0f} documents: {result['pairs']:,.0f} pairs, {result['words']:,.0f} words, "
        f"{result['nnz']:,.0f} counts, {result['disk'] / 1e6:,.0f} MB on disk, "
        f"opened in {1000 * result['open']:.0f} ms"
    )
    for step in ("bigrams", "vocabulary", "counts", "read"):
        worked, elapsed = result[f"{step}_worked"], result[f"{step}_elapsed"]
        mapped = f", {result['mapped'] / 1e6:.0f} of it mapped files" if step == "read" else ""
        print(
            f"  {step:12s} {n / worked:12,.0f} documents/s {elapsed:8.1f} s elapsed"
            f"   peak memory {result[f'{step}_memory'] / 1e6:7.1f} MB{mapped}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=SIZES[-1])
    parser.add_argument("--folder", type=Path, help="where to work; a temporary one by default")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(build(arguments.documents, arguments.folder)))
        return
    sizes = [size for size in SIZES if size < arguments.documents] + [arguments.documents]
    for size in sizes:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            command = [sys.executable, "-m", "benchmarks.large_corpus", "--one"]
            command += ["--documents", str(size), "--folder", folder]
            report(json.loads(subprocess.check_output(command)))


if __name__ == "__main__":
    main()
