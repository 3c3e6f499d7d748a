"""Texts to counts: the transformer of scikit-learn beside the text stage of `train`.

    python -m benchmarks.own_texts [--texts 20000] [--rounds 3] [--processes 1 2] [--shared DIR]

The same texts, articles of Wikipedia (2019, cut near 600 words, of the reference data), are read

    train      annotated from an article store, and counted into a run directory: bigrams,
               vocabulary, counts
    pipeline   by `make_pipeline(LemmaVectorizer()).fit_transform(texts)`, from a list of strings

with the settings of `train`, each in a process of its own, in turn. Seconds are those of a clock
and of processors, child processes included; neither imports nor the making of the store are
counted. Counts have to be equal. Prints each pair and the ratio of the medians, which should be at
most 1.1.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import lzma
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.pipeline import make_pipeline

from corpora import ArticleStore, LemmaVectorizer
from corpora.articles.article import Article
from pipeline.runs.run_directory import RunDirectory
from pipeline.settings import TrainSettings
from pipeline.text.documents import decide_documents, make_corpus, tokens_of
from pipeline.text.settings import text_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from scipy import sparse

WAYS = ("train", "pipeline")


def main() -> None:
    """Measure each way in turn, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"))
    parser.add_argument("--measure", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        folder = Path(options.shared)
        print(json.dumps(measured(options.measure, folder, options.processes[0])))
        return
    with tempfile.TemporaryDirectory() as folder:
        texts = read_texts(options.shared, options.texts)
        write_texts(Path(folder) / "few", texts[:100])
        write_texts(Path(folder) / "all", texts)
        for way in WAYS:  # so that kernels are compiled
            run(way, Path(folder) / "few", 1)
        for n_processes in options.processes:
            compare(Path(folder) / "all", n_processes, options.rounds)


def compare(folder: Path, n_processes: int, rounds: int) -> None:
    """Print the seconds of each round, and the ratios of the medians."""
    found: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    print(f"{n_processes} processes: seconds by the clock (of processors)", flush=True)
    for _ in range(rounds):
        for way in WAYS:
            found[way].append(run(way, folder, n_processes))
        if len({each[-1]["counts"] for each in found.values()}) > 1:
            raise SystemExit("the counts differ")
        last = [found[way][-1] for way in WAYS]
        print(
            *(f"  {w} {m['clock']:.1f} ({m['cpu']:.1f})" for w, m in zip(WAYS, last, strict=True))
        )
    for measure in ("clock", "cpu"):
        theirs, ours = (statistics.median(m[measure] for m in found[way]) for way in WAYS)
        print(f"  {measure}: {ours:.1f} / {theirs:.1f} = {ours / theirs:.3f}", flush=True)


def run(way: str, folder: Path, n_processes: int) -> dict[str, Any]:
    """Measure one way in a new process."""
    command = [sys.executable, "-m", "benchmarks.own_texts", "--measure", way]
    command += ["--shared", str(folder), "--processes", str(n_processes)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def read_texts(shared: Path, n_texts: int) -> list[str]:
    """Return the first texts of the reference data."""
    with lzma.open(shared / "wikipedia-2019/train_25000.jsonl.xz", "rt") as lines:
        texts = [json.loads(line)["text"] for line in itertools.islice(lines, n_texts)]
    print(f"{len(texts):,} texts, {sum(len(each.split()) for each in texts):,} words")
    return texts


def write_texts(folder: Path, texts: list[str]) -> None:
    """Write texts as a store and as one file."""
    folder.mkdir()
    (folder / "texts.json").write_text(json.dumps(texts))
    articles = (Article(i + 1, 0, "", "", "", "en", "", text) for i, text in enumerate(texts))
    ArticleStore(folder / "store").append(articles)


def measured(way: str, folder: Path, n_processes: int) -> dict[str, Any]:
    """Seconds of a way, and a hash of its counts."""
    texts = json.loads((folder / "texts.json").read_text()) if way == "pipeline" else []
    call: Callable[[], sparse.csr_array] = {
        "train": lambda: by_train(folder / "store", n_processes),
        "pipeline": lambda: by_pipeline(texts, n_processes),
    }[way]
    clock, cpu = time.perf_counter(), processor_seconds()
    counts = call()
    seconds = {"clock": time.perf_counter() - clock, "cpu": processor_seconds() - cpu}
    arrays = (counts.indptr, counts.indices, counts.data)
    digest = hashlib.sha256(b"".join(array.astype("int64").tobytes() for array in arrays))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {**seconds, "counts": digest.hexdigest(), "megabytes": peak}


def by_train(store: Path, n_processes: int) -> sparse.csr_array:
    """Annotate and count as `train` does, with nothing from an earlier run."""
    shutil.rmtree(store / "tokens", ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        articles, run = ArticleStore(store), RunDirectory(Path(folder) / "run")
        settings = TrainSettings(articles=str(store), documents="article", validation=0, test=0)
        settings = replace(decide_documents(settings, len(articles)), seed=0)
        run.create(settings, {})
        tokens = tokens_of(articles, text_settings(settings), n_processes)
        return make_corpus(run, settings, tokens, n_processes).counts.copy()


def by_pipeline(texts: list[str], n_processes: int) -> sparse.csr_array:
    """Annotate and count a list of texts."""
    pipeline = make_pipeline(LemmaVectorizer(n_jobs=n_processes))
    counts: sparse.csr_array = pipeline.fit_transform(texts)
    return counts


def processor_seconds() -> float:
    """Processor seconds of this process and of its children that ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


if __name__ == "__main__":
    main()
