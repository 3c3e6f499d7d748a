"""A million documents through training and evaluation: memory of each process, disk, seconds.

    python -m benchmarks.million_documents [--documents 1000000] [--topics 50] [--folder DIR]
        [--model FILE] [--passes 1] [--cluster ADDRESS] [--json FILE]

Documents are drawn from a fitted model: that of a run, or one of so many topics that is trained on
the built-in sample first. Their lengths are log-normal, 204 tokens on average: about what articles
of Wikipedia have once their text is reduced to words that count. They have no text: their counts
are written as the corpus of a run, on which `train` goes on and which `evaluate` then scores.

What a process takes is its largest resident set (VmHWM), pages of mapped files included, of every
process of the command's tree, looked at 20 times a second. With a cluster that is not local only
the processes here are measured.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from benchmarks.whole_pipeline import family
from corpora import Bigrams, Corpus, split
from corpora.corpus_writer import Bags, CorpusWriter
from models import LDATopics, load_model
from pipeline.runs.run_directory import RunDirectory
from pipeline.settings import TrainSettings

if TYPE_CHECKING:
    from models import SavedModel

BLOCK = 5_000
MEDIAN_LENGTH, SPREAD = 165.0, 0.65
"""Tokens of a document, and the standard deviation of their logarithm."""
EVERY_SECONDS = 0.05
RUN = "simulated"


@dataclass
class Stage:
    """One command."""

    name: str
    seconds: float
    cpu_seconds: float
    """Of all its processes that it waited for, however busy the machine was."""
    peak_bytes: list[int]
    """Of every process, the largest first."""
    result: dict[str, Any]

    @property
    def line(self) -> str:
        """For people."""
        others = f", others {self.peak_bytes[1] / 1e6:,.0f} MB" if len(self.peak_bytes) > 1 else ""
        return (
            f"{self.name:10s} {self.seconds:9.1f} s, {self.cpu_seconds:9.1f} s of processors   "
            f"largest process {self.peak_bytes[0] / 1e6:7,.0f} MB{others}"
        )


def measured(name: str, command: list[str]) -> Stage:
    """Run a command of Python that prints JSON, or nothing, and watch its processes.

    Raises
    ------
    SystemExit
        If it fails.
    """
    began, worked = time.perf_counter(), _cpu_seconds()
    process = subprocess.Popen([sys.executable, "-m", *command], stdout=subprocess.PIPE, text=True)
    peaks: dict[int, int] = {}
    while process.poll() is None:
        for pid in family(process.pid):
            peaks[pid] = max(peaks.get(pid, 0), _largest_so_far(pid))
        time.sleep(EVERY_SECONDS)
    seconds = time.perf_counter() - began
    output = process.stdout.read() if process.stdout else ""
    if process.returncode:
        raise SystemExit(f"{name} failed with exit code {process.returncode}")
    result = dict(json.loads(output)) if output.strip() else {}
    cpu_seconds = _cpu_seconds() - worked
    stage = Stage(name, seconds, cpu_seconds, sorted(peaks.values(), reverse=True), result)
    print(stage.line, flush=True)
    return stage


def draw(model: SavedModel, n_docs: int, run: RunDirectory, settings: TrainSettings) -> None:
    """Begin a run on a corpus of so many documents of the model."""
    run.create(settings, {"articles": {"store": settings.articles, "number": n_docs}})
    Bigrams({}).save(run.bigrams_path)
    run.record(run.bigrams_path)
    with CorpusWriter(run.corpus_path, model.vocabulary) as writer:
        for first in range(0, n_docs, BLOCK):
            n = min(BLOCK, n_docs - first)
            rng = np.random.default_rng([11, first])
            assert isinstance(model.topics, LDATopics)
            ids = tuple(f"en:{d}" for d in range(first, first + n))
            titles = tuple(f"Simulated article {d}" for d in range(first, first + n))
            counts = drawn_counts(model.topics, n, rng)
            writer.append(Bags(counts, ids, titles, np.zeros(n, dtype=np.int64)))


def drawn_counts(
    topics: LDATopics, n_docs: int, rng: np.random.Generator
) -> sparse.csr_array[np.int32]:
    """Counts (n_docs, V) of documents of the model, of log-normal lengths."""
    lengths = np.ceil(rng.lognormal(np.log(MEDIAN_LENGTH), SPREAD, n_docs)).astype(np.int64)
    of_topic = rng.multinomial(lengths, rng.dirichlet(topics.alpha, n_docs))
    keys = []
    for k, cumulative in enumerate(np.cumsum(topics.topic_word, axis=1)):
        doc_of = np.repeat(np.arange(n_docs), of_topic[:, k])
        words = np.searchsorted(cumulative, rng.random(len(doc_of)) * cumulative[-1], side="right")
        keys.append(doc_of * topics.n_words + words)
    cells, n_tokens = np.unique(np.concatenate(keys), return_counts=True)
    doc_of, word_of = np.divmod(cells, topics.n_words)
    start = np.searchsorted(doc_of, np.arange(n_docs + 1))
    return sparse.csr_array(
        (n_tokens.astype(np.int32), word_of.astype(np.int32), start.astype(np.int32)),
        shape=(n_docs, topics.n_words),
    )


def disk_of(directory: Path) -> int:
    """Bytes of all files."""
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())


def _cpu_seconds() -> float:
    """Of children that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


def _largest_so_far(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def _sample_model(folder: Path, n_topics: int) -> Path:
    """A model of the built-in sample, as it is trained by default."""
    settings = ["--topics", str(n_topics), "--seed", "1", "--run", "sample", "--model", "online"]
    settings += ["--runs", str(folder / "runs"), "--articles", str(folder / "articles-sample")]
    download = ["download", "--source", "sample", "--output", str(folder / "articles-sample")]
    for command in (download, ["train", *settings]):
        subprocess.run(
            [sys.executable, "-m", "pipeline", *command], check=True, stdout=subprocess.DEVNULL
        )
    return folder / "runs" / "sample" / "model.npz"


def simulate(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """All stages, and what they took."""
    model = arguments.model or _sample_model(folder, arguments.topics)
    if model.is_dir():
        model /= "model.npz"
    run = RunDirectory(folder / "runs" / RUN)
    drawing = ["benchmarks.million_documents", "--draw", "--model", str(model)]
    drawing += ["--documents", str(arguments.documents), "--folder", str(folder)]
    drawing += ["--topics", str(arguments.topics), "--passes", str(arguments.passes)]
    stages = [measured("draw", drawing)]
    where = ["--runs", str(folder / "runs"), "--threads", str(arguments.threads), "--json"]
    if arguments.cluster:
        where += ["--cluster", arguments.cluster]
    stages.append(measured("train", ["pipeline", "train", "--run", RUN, *where]))
    stages.append(measured("evaluate", ["pipeline", "evaluate", RUN, *where]))
    draw_stage, train, evaluate = stages
    corpus = Corpus.load(run.corpus_path, mmap=True)
    n_docs, seen = corpus.n_docs, run.provenance()["documents_seen"]
    n_training = _n_training(run)
    in_parts = sum(map(disk_of, run.corpus_path.glob("parts-*")))
    seconds_training = train.result["seconds"]["training"]
    return {
        "documents": n_docs,
        "words": corpus.n_words,
        "topics": load_model(run.model_path).topics.n_topics,
        "tokens": corpus.n_tokens,
        "counts": corpus.counts.nnz,
        "passes": seen / n_training,
        "disk_corpus": disk_of(run.corpus_path) - in_parts,
        "disk_parts": in_parts,
        "disk_run": disk_of(run.path),
        "documents_trained_per_second": seen / seconds_training,
        "seconds_training": seconds_training,
        "training_documents": n_training,
        "documents_scored": evaluate.result["documents"],
        "documents_scored_per_second": evaluate.result["documents"] / evaluate.seconds,
        "documents_drawn_per_second": n_docs / draw_stage.seconds,
        "perplexity": evaluate.result["perplexity"],
        "largest_process": max(stage.peak_bytes[0] for stage in stages[1:]),
        "stages": [asdict(replace(stage, result={})) for stage in stages],
    }


def _n_training(run: RunDirectory) -> int:
    settings, corpus = run.settings(), Corpus.load(run.corpus_path, mmap=True)
    return split(corpus, settings.validation, settings.test).train.n_docs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--passes", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--model", type=Path, help="a run, or its model.npz, to draw from")
    parser.add_argument("--folder", type=Path, help="where to work; a temporary one by default")
    parser.add_argument("--cluster", default="", help="passed on to train and evaluate")
    parser.add_argument("--json", type=Path, help="file for the result")
    parser.add_argument("--draw", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.draw:
        settings = TrainSettings(
            articles="simulated",
            run=RUN,
            runs=str(arguments.folder / "runs"),
            documents="article",
            model="online",
            topics=arguments.topics,
            seed=1,
            max_passes=arguments.passes,
        )
        run = RunDirectory(arguments.folder / "runs" / RUN)
        draw(load_model(arguments.model), arguments.documents, run, settings)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        result = simulate(folder.resolve(), arguments)
    for name, value in result.items():
        if name != "stages":
            print(
                f"{name:30s} {value:20,.6g}"
                if isinstance(value, float)
                else f"{name:30s} {value:20,}"
            )
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
