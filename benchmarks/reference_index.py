"""Indexes of reference corpora for coherence: cost, and what their standard errors are worth.

    python -m pipeline download --source jsonl train_25000.jsonl.xz
    python -m pipeline train --articles articles --model online --topics 100 --run hundred
        --seed 1 --max-passes 4
    python -m benchmarks.reference_index cost --articles articles --run hundred
    python -m benchmarks.reference_index coverage articles.index --run hundred

`cost`: processor seconds and peak memory to build the index of articles that are annotated, in a
process of its own; its size; processor seconds to count the 100 topics' 10 words for each measure,
from the index and from the running text in memory. `coverage`: articles are drawn from
the index with replacement, as samples of it, and the 95 % intervals of samples are compared with
the value in all its articles.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from scipy import sparse

from evaluation import RunningText, coherence
from evaluation.topics import cooccurrence
from evaluation.topics.coherence import WINDOW_SIZES
from evaluation.topics.confirmation import topic_values
from evaluation.topics.cooccurrence import N_BLOCKS, BlockCounts
from evaluation.topics.reference.index import ReferenceIndex
from evaluation.topics.resampling import resample
from pipeline.runs.loaded_run import LoadedRun

SIZES = (2_500, 10_000, 25_000, 250_000, 2_500_000)
REPEATS = 100
MEASURES = tuple(WINDOW_SIZES)


def top_words(run: LoadedRun) -> list[list[str]]:
    vocabulary = run.model.vocabulary
    return [[vocabulary[w] for w in row] for row in run.model.topics.top_words(10).tolist()]


def cost(articles: str, run_name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reference.index"
        argv = ("index", articles, "--like", run_name, "--output", str(path), "--threads", "1")
        subprocess.run([sys.executable, "-m", "pipeline", *argv], check=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
        size = path.stat().st_size
        index = ReferenceIndex.open(path)
        print(f"build: {seconds:.1f} s, {peak:.0f} MB at most, {size / 1e6:.2f} MB")
        print(
            f"{index.n_tokens:,} tokens of {index.n_positions:,}, {len(index.vocabulary):,} words, "
            f"{size / index.n_tokens:.3f} bytes a token"
        )
        started = time.process_time()
        ReferenceIndex.open(path, checked=True)
        print(f"open and check all: {time.process_time() - started:.2f} s")
        topics, text = top_words(LoadedRun.find("runs", run_name)), text_of(index)
        for measure, (name, corpus) in itertools.product(
            MEASURES, (("index", index), ("running text", text))
        ):
            found = coherence(topics, corpus, measure)  # compiles
            started = time.process_time()
            found = coherence(topics, corpus, measure)
            print(
                f"{measure:7s} {name:13s} {time.process_time() - started:.2f} s, {found.mean:.4f}"
            )


def text_of(index: ReferenceIndex) -> RunningText:
    """The text in memory, from the positions of all words."""
    word_of = np.full(index.n_positions, -1, dtype=np.int32)
    for w in range(len(index.vocabulary)):
        data = index.postings(w)
        is_last = data < 128
        ends = np.flatnonzero(is_last)
        starts = np.concatenate(([0], ends[:-1] + 1))
        shift = 7 * (np.arange(len(data)) - np.repeat(starts, ends - starts + 1))
        gaps = np.add.reduceat((data & 127).astype(np.int64) << shift, starts) if len(ends) else []
        word_of[np.cumsum(np.asarray(gaps, dtype=np.int64)) - 1] = w
    return RunningText(word_of, index.doc_start, index.vocabulary, index.article_of)


def counts_of_articles(index: ReferenceIndex, topics: Any, size: int | None) -> tuple[Any, Any]:
    """Words and pairs, and their windows in each article (n_articles, 1 + R + P), sparse."""
    with mock.patch.object(cooccurrence, "N_BLOCKS", index.n_articles):
        found = index.count_windows(topics, size)
    together = np.concatenate((found.n_windows[:, None], found.n_word, found.n_pair), axis=1)
    return found.words, sparse.csr_array(together)


def sampled(words: Any, counts: Any, n: int, rng: np.random.Generator) -> BlockCounts:
    """Counts of `n` articles drawn with replacement, in blocks of the same number."""
    n_articles = counts.shape[0]
    each = rng.multinomial(n // N_BLOCKS, np.full(n_articles, 1 / n_articles), size=N_BLOCKS)
    return block_counts(words, (sparse.csr_array(each) @ counts).toarray())


def block_counts(words: Any, counts: Any) -> BlockCounts:
    n_words = len(words.words)
    return BlockCounts(words, counts[:, 0], counts[:, 1 : 1 + n_words], counts[:, 1 + n_words :])


def coverage(path: str, run_name: str, sizes: list[int], repeats: int) -> None:
    index = ReferenceIndex.open(path)
    names = top_words(LoadedRun.find("runs", run_name))
    topics = np.array([[index.number_of[word] for word in words] for words in names])
    print(
        "measure  articles   topics with ±  their coverage  of all topics   mean with ±  coverage"
    )
    for measure in MEASURES:
        words, counts = counts_of_articles(index, topics, WINDOW_SIZES[measure])
        whole = block_counts(words, counts.sum(axis=0)[None, :]).total
        # The mean is that of topics whose pairs all co-occur somewhere.
        smooth = np.flatnonzero(np.all(whole.n_both > 0, axis=(1, 2)))
        for n in sizes:
            # As smoothing is 1 in a sample, it is more in all articles.
            truth = topic_values(whole, measure, index.n_articles / n)
            rng = np.random.default_rng(n)
            covers, is_shown, mean_covers, mean_is_shown = [], [], [], []
            for _ in range(repeats):
                found = sampled(words, counts, n, rng)
                values, errors = (
                    topic_values(found.total, measure, 1.0),
                    resample(found, measure, 1.0),
                )
                margins = [each.quantile * each.raw_error for each in errors.topics]
                covers.append(np.abs(values - truth) <= margins)
                is_shown.append(np.isfinite(errors.standard_errors))
                error = resample(part_of(found, smooth), measure, 1.0).mean
                difference = float(values[smooth].mean() - truth[smooth].mean())
                mean_covers.append(abs(difference) <= error.quantile * error.raw_error)
                mean_is_shown.append(not error.why_none)
            print(
                f"{measure:7s}  {n:9,}  {np.mean(is_shown):13.1%}  {share(covers, is_shown)}"
                f"  {np.mean(covers):13.1%}  {np.mean(mean_is_shown):12.1%}"
                f"  {share(mean_covers, mean_is_shown)}",
                flush=True,
            )


def share(covers: list[Any], which: list[Any]) -> str:
    """Share of those `which` are shown."""
    found = np.array(covers)[np.array(which)]
    return f"{found.mean():14.1%}" if len(found) else f"{'-':>14}"


def part_of(found: BlockCounts, which: Any) -> BlockCounts:
    """The same counts for some of the topics."""
    words = found.words
    words = replace(words, place=words.place[which], pair_of=words.pair_of[which])
    return BlockCounts(words, found.n_windows, found.n_word, found.n_pair)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("cost", "coverage"))
    parser.add_argument("index", nargs="?", default="articles.index")
    parser.add_argument("--articles", default="articles")
    parser.add_argument("--run", default="hundred")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--repeats", type=int, default=REPEATS)
    arguments = parser.parse_args()
    if arguments.what == "cost":
        cost(arguments.articles, arguments.run)
    else:
        sizes = [int(each) for each in arguments.sizes.split(",")]
        coverage(arguments.index, arguments.run, sizes, arguments.repeats)


if __name__ == "__main__":
    main()
