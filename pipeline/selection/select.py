"""`select`: train runs with several numbers of topics, score them, and say which to take."""

import json
import logging
import threading
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from tqdm import tqdm

from corpora import Corpus, split, writer_lock
from corpora.files import atomic_write_text, remove_partial_files
from corpora.worker_pool import ordered_map
from evaluation import LikelihoodEstimate
from evaluation.topics.reference.index import ReferenceIndex
from models.parallel import effective_n_jobs
from pipeline.cluster.cluster import Cluster
from pipeline.cluster.connection import cluster_of
from pipeline.errors import SliceEnded, UsageError
from pipeline.progress import Progress
from pipeline.runs.run_directory import RunDirectory
from pipeline.scoring.score import log_warnings
from pipeline.selection.directory import SelectDirectory, open_selection, settings_begun
from pipeline.selection.on_cluster import estimates_on, train_on
from pipeline.selection.plot import plot_selection
from pipeline.selection.scores import (
    Reference,
    estimates_here,
    recommend,
    rows_of,
    running_text,
    score_run,
    scored_part,
)
from pipeline.setting_sources import check_least
from pipeline.settings import AUTO, SelectSettings, TrainSettings
from pipeline.text.inputs import NamedInput, decide_input, texts_store
from pipeline.training.default_model import decide_model
from pipeline.training.train import train

logger = logging.getLogger(__name__)

TOKENS_WORTH_A_PROCESS = 1_000_000
"""Tokens times runs from which runs are trained at the same time, each in a process with its share
of the threads. On two cores this took 0.7 to 0.9 of the time of one run after another with all
threads (4,000 articles, 10 to 80 topics), and the same time on the sample, where the start of
processes counts. It takes the memory of as many runs."""


def select(settings: SelectSettings, training: TrainSettings) -> dict[str, Any]:
    """Train runs that are not finished, score all runs, and write the table and the plot.

    Raises UsageError if a setting makes no sense, or there is nothing to score.
    """
    numbers = topic_numbers(settings.topics)
    _check(settings, training)
    # First, so that a file that is no index costs no training.
    index = ReferenceIndex.open(settings.reference) if settings.reference else None
    training, named = decide_input(training)
    n_threads = effective_n_jobs(training.threads)
    if training.model == AUTO:
        begun = settings_begun(training, settings.name, settings.seeds)
        n_at_once = min(n_threads, len(numbers) * settings.seeds)
        # A whole run is one task of a cluster, so that any model can be trained there.
        decided = decide_model(replace(training, cluster=""), named, begun, n_at_once)
        training = replace(training, model=decided.model)
    selection = open_selection(training, settings.name, settings.seeds)
    if named is not None and not selection.has_known(named.about):
        logger.warning(
            "%s has changed since %s was begun: choose another --name to use it",
            *(named.path, selection.path),
        )
    elif named is not None and named.kind == "texts":
        selection = selection.with_articles(texts_store(named, training.runs))
    logger.info("%s: runs of %s topics", selection.path, ", ".join(map(str, numbers)))
    with ExitStack() as stack:
        cluster = stack.enter_context(cluster_of(training.cluster))
        selection.path.mkdir(parents=True, exist_ok=True)
        stack.enter_context(writer_lock(selection.path))
        remove_partial_files(selection.path)
        selection.create()
        wanted = [
            selection.settings_of(k, number) for k in numbers for number in range(settings.seeds)
        ]
        _train_all(selection, wanted, n_threads, cluster, named)
        result = _score_all(selection, wanted, settings.words, n_threads, cluster, index)
        text = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
        atomic_write_text(selection.path / "select.json", text)
        plot_selection(result["rows"], result["recommended"], selection.path, result["scored"])
    return result


def topic_numbers(text: str) -> list[int]:
    """Return the numbers of a comma-separated list, ascending.

    Raises UsageError if the list is empty, or a number is not whole, not positive, or repeated.
    """
    parts = [part.strip() for part in text.split(",")]
    if not any(parts):
        raise UsageError("--topics needs numbers of topics, such as 5,10,20")
    numbers = []
    for part in parts:
        if not (part.isascii() and part.lstrip("+-").isdigit()):
            raise UsageError(
                f"--topics must be whole numbers and commas, such as 5,10,20; found {part!r}"
            )
        numbers.append(int(part))
        if numbers[-1] < 1:
            raise UsageError(f"--topics must be at least 1 each, found {part}")
        if numbers.count(numbers[-1]) > 1:
            raise UsageError(f"--topics names {numbers[-1]} twice")
    return sorted(numbers)


def _check(settings: SelectSettings, training: TrainSettings) -> None:
    check_least(settings, seeds=1)
    if settings.words < 2:
        raise UsageError(
            f"--words must be at least 2, as coherence is of pairs, found {settings.words}"
        )
    if Path(settings.name).name != settings.name:
        raise UsageError(f"--name must be a name, not a path, found {settings.name!r}")
    if training.test <= 0 and not (training.early_stopping == "none" and training.validation > 0):
        raise UsageError("--test leaves nothing to choose by: give it a share above 0")


def _train_all(
    selection: SelectDirectory,
    wanted: Sequence[TrainSettings],
    n_threads: int,
    cluster: Cluster | None,
    named: NamedInput | None,
) -> None:
    """Train unfinished runs: first one that makes the corpus, then the others."""
    pending = [each for each in wanted if not selection.run_of(each).model_path.exists()]
    if len(pending) < len(wanted):
        logger.info("%d of %d runs are done", len(wanted) - len(pending), len(wanted))
    # Longest first, so that no process is left with it at the end.
    pending.sort(key=lambda each: -each.topics)
    if pending and selection.run_with_corpus() is None:
        # The quickest run makes the corpus. All its settings are passed: they may change until it
        # has one.
        first, stop_after = pending[-1], None if cluster is None else 0.0
        with suppress(SliceEnded):  # workers train the rest
            train(first, vars(first), cluster=cluster, stop_after=stop_after, named=named)
        pending = [each for each in pending if not selection.run_of(each).model_path.exists()]
    runs = [selection.prepare(each) for each in pending]
    if not runs:
        return
    if cluster is not None:
        train_on(cluster, runs, runs[0].corpus_path, len(wanted))
        return
    n_processes = 1
    n_tokens = Corpus.load(runs[0].corpus_path, mmap=True).n_tokens
    if n_tokens * len(runs) >= TOKENS_WORTH_A_PROCESS:
        n_processes = min(n_threads, len(runs))
    with_threads = [(each, max(1, n_threads // n_processes)) for each in pending]
    with Progress("runs", len(wanted), "runs", len(wanted) - len(pending)) as progress:
        for _ in ordered_map(_train_one, with_threads, n_processes, _prepare_process):
            progress.update(1)


def _prepare_process() -> None:
    """Keep progress bars from making semaphores, which killed processes leave behind."""
    tqdm.set_lock(threading.RLock())


def _train_one(task: tuple[TrainSettings, int]) -> None:
    """Train a run on its corpus with this number of threads, in any process."""
    settings, n_threads = task
    # Other settings are in the file of the run.
    train(TrainSettings(run=settings.run, runs=settings.runs, threads=n_threads), {})


def _score_all(
    selection: SelectDirectory,
    wanted: Sequence[TrainSettings],
    n_words: int,
    n_threads: int,
    cluster: Cluster | None,
    index: ReferenceIndex | None,
) -> dict[str, Any]:
    first = selection.run_of(wanted[0])
    settings = first.settings()
    corpus = Corpus.load(first.corpus_path, mmap=True, checked=True)
    parts = split(corpus, settings.validation, settings.test)
    part, held_out = scored_part(settings, parts)
    if not held_out.n_tokens:
        raise UsageError(
            f"the {part} part has no document with a word of the vocabulary: train with a larger "
            f"--{part} share, or on more articles"
        )
    runs = [selection.run_of(each) for each in wanted]
    for run in runs:
        if run.provenance()["corpus"]["hash"] != corpus.content_hash:
            raise UsageError(
                f"{run.path} was trained on another corpus than {first.path}: delete it"
            )
    estimates = _estimates(runs, held_out, n_threads, cluster)
    reference: Reference | None = index
    if index is None:
        reference = running_text(first, settings, corpus, n_threads, cluster)
    if reference is None:
        reference = parts.train
    scores = []
    with Progress("coherence", len(wanted), "runs") as progress:
        for run, each, estimate in zip(runs, wanted, estimates, strict=True):
            scores.append(score_run(run, each, estimate, held_out, reference, n_words))
            progress.update(1)
    rows = rows_of(scores)
    recommended, sentence = recommend(rows)
    estimate = scores[0].estimate
    return {
        "path": str(selection.path),
        "scored": part,
        "method": estimate.method,
        "articles": estimate.n_documents,
        "documents": held_out.n_docs,
        "tokens_scored": estimate.total_tokens,
        "words": n_words,
        "reference": None if index is None else str(index.path),
        "reference_identity": None if index is None else index.identity,
        "rows": rows,
        "recommended": recommended,
        "recommendation": sentence,
        "run": next(row["runs"][0] for row in rows if row["topics"] == recommended),
    }


def _estimates(
    runs: Sequence[RunDirectory], held_out: Corpus, n_threads: int, cluster: Cluster | None
) -> list[LikelihoodEstimate]:
    models = [run.model_path for run in runs]
    if cluster is None:
        scored = estimates_here(models, held_out.counts, n_threads)
    else:
        scored = estimates_on(cluster, models, held_out.counts)
    found: dict[int, LikelihoodEstimate] = {}
    with (
        Progress("scoring", len(runs), "runs") as progress,
        closing(cast("Generator[tuple[int, LikelihoodEstimate]]", scored)) as arriving,
    ):
        for number, estimate in arriving:
            found[number] = estimate
            name = runs[number].path.name
            progress.update(1, f"{name} perplexity {estimate.perplexity:,.1f}")
    log_warnings({run.path.name: found[number] for number, run in enumerate(runs)})
    return [found[number] for number in range(len(runs))]
