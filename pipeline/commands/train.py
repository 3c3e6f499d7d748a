"""`train`: articles in, topics out."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corpora import ArticleStore, Corpus, Pruning, find_model, split, writer_lock
from corpora.files import atomic_write_text, remove_partial_files
from evaluation import log_likelihood
from models import EarlyStopping, OnlineLDA, SavedModel, load_model, save_model, seed_from
from models.parallel import effective_n_jobs
from pipeline.checkpoint import Checkpoint
from pipeline.commands.download import download
from pipeline.documents import (
    decide_documents,
    learn_bigrams,
    make_corpus,
    text_settings,
    tokens_of,
)
from pipeline.errors import Interrupted, UsageError
from pipeline.interrupts import Deferred, signals_handled_by
from pipeline.progress import Progress
from pipeline.runs import SAMPLE_STORE, RunDirectory, open_run, versions
from pipeline.settings import DownloadSettings, TrainSettings, as_table
from pipeline.topic_table import format_topics, topic_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from corpora import Split

logger = logging.getLogger(__name__)

CHECKPOINT_SECONDS = 30.0
LOOK_EVERY_DOCUMENTS = 25_000
LOOK_EVERY_SECONDS = 5.0
TOP_WORDS = 10
DOCUMENTS_AT_ONCE = 1000


def train(settings: TrainSettings, given: dict[str, Any]) -> dict[str, Any]:
    """Learn topics; a run that was interrupted goes on, one that is done is only reported.

    Parameters
    ----------
    settings : TrainSettings
        As resolved.
    given : dict
        The part of them that was asked for, on the command line, in the environment or the file.
    """
    run, settings = open_run(settings, given)
    _check(settings)
    run.path.mkdir(parents=True, exist_ok=True)
    with writer_lock(run.path):
        for directory in (run.path, run.checkpoint_path.parent):
            remove_partial_files(directory)
        if run.model_path.exists():
            logger.info("run %s is done: nothing left to train", run.path.name)
            if run.articles_changed():
                logger.warning("its articles have changed since: choose another --run to use them")
            return _report(run)
        n_threads = effective_n_jobs(settings.threads)
        if run.has_corpus:
            corpus = Corpus.load(run.corpus_path)
        else:
            settings = _begin(run, settings)
            corpus = _count(run, settings, n_threads)
        parts = split(corpus, settings.validation, settings.test)
        logger.info(
            "%s documents to train on, %s to validate, %s to test; %s words, %s tokens",
            *(f"{n:,}" for n in (parts.train.n_docs, parts.validation.n_docs, parts.test.n_docs)),
            f"{corpus.n_words:,}",
            f"{corpus.n_tokens:,}",
        )
        run.update_provenance(
            {
                "corpus": {
                    "documents": corpus.n_docs,
                    "words": corpus.n_words,
                    "tokens": corpus.n_tokens,
                    "hash": corpus.content_hash,
                }
            }
        )
        estimator, checkpoint = _learn(run, settings, corpus, parts, n_threads)
        _finish(run, settings, estimator, checkpoint, corpus, parts)
    return _report(run)


def print_training(result: dict[str, Any]) -> None:
    """The topics and where they are."""
    print(format_topics(result["topics"]))
    print()
    if result["validation"]:
        last = result["validation"]
        print(
            f"validation perplexity {last['perplexity']:.1f} after {last['passes']:.1f} passes, "
            f"{last['seconds']:.1f} s of training"
        )
    path = Path(result["path"])
    name = path.name if path.parent == Path(TrainSettings.runs) else path
    print(f"{path}: held-out perplexity by `python -m pipeline evaluate {name}`")


def _check(settings: TrainSettings) -> None:
    """Find what cannot work before anything slow begins."""
    try:
        _estimator(settings, 1).check_settings()
        Pruning(settings.no_below, settings.no_above, settings.keep_n)
        learn_bigrams((), bool, settings)
        seed_from(settings.seed)
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error
    if not (settings.validation >= 0 and settings.test >= 0):
        raise UsageError("--validation and --test are shares and must not be negative")
    if settings.validation + settings.test >= 1:
        raise UsageError("--validation and --test leave nothing to train on: lower one of them")
    if settings.max_passes < 1:
        raise UsageError(f"--max-passes must be at least 1, found {settings.max_passes}")
    decided = settings.documents != "auto"
    text_settings(settings if decided else replace(settings, documents="article"))
    find_model(settings.spacy_model)


def _begin(run: RunDirectory, settings: TrainSettings) -> TrainSettings:
    """Make the run directory, filling the store from the sample where no store was named."""
    if not settings.articles:
        if not Path(SAMPLE_STORE).exists():
            logger.info("no --articles: taking the built-in sample of Wikipedia articles")
        download(DownloadSettings(output=SAMPLE_STORE, threads=settings.threads))
        settings = replace(settings, articles=SAMPLE_STORE)
    store = ArticleStore(settings.articles)
    settings = decide_documents(settings, store)
    settings = replace(settings, seed=seed_from(settings.seed))
    run.create(
        settings,
        {
            "articles": {
                "store": settings.articles,
                "number": len(store),
                "shards": [entry.sha256 for entry in store.entries],
                "attribution": "Text by Wikipedia contributors, CC BY-SA; the store names the "
                "revision of each article.",
            },
            "spacy_model": find_model(settings.spacy_model),
        },
    )
    return settings


def _count(run: RunDirectory, settings: TrainSettings, n_processes: int) -> Corpus:
    """Articles to bags of words, with the time that it took in the provenance."""
    started = time.monotonic()
    articles = ArticleStore(settings.articles)
    tokens = tokens_of(articles, text_settings(settings), n_processes)
    tokenized = time.monotonic()
    corpus = make_corpus(run, settings, tokens)
    seconds = {"text": tokenized - started, "counting": time.monotonic() - tokenized}
    run.update_provenance({"seconds": seconds})
    return corpus


def _estimator(settings: TrainSettings, n_threads: int) -> OnlineLDA:
    return OnlineLDA(
        settings.topics,
        alpha=_number_or_name(settings.alpha),
        eta=_number_or_name(settings.eta),
        batch_size=settings.batch_size,
        max_e_iterations=settings.max_e_iterations,
        e_tolerance=settings.e_tolerance,
        learning_decay=settings.learning_decay,
        learning_offset=settings.learning_offset,
        n_passes=settings.max_passes,
        word_budget=settings.word_budget,
        random_state=settings.seed,
        n_jobs=n_threads,
    )


def _learn(
    run: RunDirectory, settings: TrainSettings, corpus: Corpus, parts: Split, n_threads: int
) -> tuple[OnlineLDA, Checkpoint]:
    """Train until validation stops improving, keeping checkpoints and metrics."""
    estimator = _estimator(settings, n_threads)
    checkpoint = Checkpoint.load(run.checkpoint_path, corpus.content_hash)
    if checkpoint.state is not None:
        logger.info("going on after %s documents", f"{checkpoint.state.n_documents:,}")
    n_docs = parts.train.n_docs
    by_time = settings.early_stopping == "time"
    stopping = EarlyStopping(LOOK_EVERY_SECONDS if by_time else min(n_docs, LOOK_EVERY_DOCUMENTS))
    for line in checkpoint.metrics:
        stopping.record(line["seconds" if by_time else "documents"], line["log_likelihood"])
    looks = settings.early_stopping != "none" and parts.validation.n_tokens > 0

    deferred, saved, resumed_from = Deferred(), time.monotonic(), checkpoint.state
    reached = resumed_from.n_documents if resumed_from else 0
    with (
        signals_handled_by(deferred),
        Progress("training", settings.max_passes * n_docs, "documents", reached) as progress,
    ):
        if checkpoint.stopped and checkpoint.state is not None:
            estimator.resume(parts.train.counts, checkpoint.state)
            return estimator, checkpoint
        clock = time.perf_counter()
        for step in estimator.iterate(parts.train.counts, state=resumed_from):
            checkpoint.seconds += time.perf_counter() - clock
            position = checkpoint.seconds if by_time else step.n_documents
            due = looks and stopping.due(position)
            if due:
                line = _look(estimator, parts.validation, n_threads)
                line |= {
                    "documents": step.n_documents,
                    "passes": step.n_passes,
                    "seconds": checkpoint.seconds,
                }
                checkpoint.metrics.append(line)
                checkpoint.stopped = stopping.record(position, line["log_likelihood"])
                run.write_metrics(checkpoint.metrics)
            note = f"perplexity {checkpoint.metrics[-1]['perplexity']:.1f}" if due else None
            progress.update(step.n_documents - reached, note)
            reached = step.n_documents
            checkpoint.state = estimator.state_
            if deferred.signal_number is not None:
                checkpoint.save(run.checkpoint_path)
                logger.info("checkpoint at %s documents", f"{step.n_documents:,}")
                raise Interrupted(deferred.signal_number)
            if checkpoint.stopped:
                break
            if time.monotonic() - saved > CHECKPOINT_SECONDS:
                checkpoint.save(run.checkpoint_path)
                saved = time.monotonic()
            clock = time.perf_counter()
        checkpoint.stopped = True
        checkpoint.save(run.checkpoint_path)
    if deferred.signal_number is not None:
        raise Interrupted(deferred.signal_number)
    return estimator, checkpoint


def _look(estimator: OnlineLDA, validation: Corpus, n_threads: int) -> dict[str, Any]:
    """Completion of the validation documents; always the same halves, so that looks compare."""
    estimate = log_likelihood(
        estimator, validation.counts, "completion", n_samples=1, random_state=0, n_jobs=n_threads
    )
    error = estimate.perplexity_standard_error
    return {
        "log_likelihood": estimate.total,
        "perplexity": estimate.perplexity,
        # None for a single document: JSON has no NaN.
        "perplexity_standard_error": None if math.isnan(error) else error,
        "tokens": estimate.total_tokens,
    }


def _finish(
    run: RunDirectory,
    settings: TrainSettings,
    estimator: OnlineLDA,
    checkpoint: Checkpoint,
    corpus: Corpus,
    parts: Split,
) -> None:
    n_tokens: NDArray[np.int64] = parts.train.counts.sum(axis=1)
    with Progress("prevalence", parts.train.n_docs, "documents") as progress:
        proportions = np.empty((parts.train.n_docs, settings.topics))
        for start in range(0, parts.train.n_docs, DOCUMENTS_AT_ONCE):
            block = parts.train.counts[start : start + DOCUMENTS_AT_ONCE]
            proportions[start : start + block.shape[0]] = estimator.transform(block)
            progress.update(block.shape[0])
    # Not by BLAS, whose sums depend on the number of cores.
    prevalence = (n_tokens[:, None] * proportions).sum(axis=0) / n_tokens.sum()
    model = SavedModel(
        topics=estimator.topics_,
        vocabulary=corpus.vocabulary,
        header={
            "family": "lda",
            "settings": {n: v for n, v in as_table(settings).items() if n != "threads"},
            "seed": settings.seed,
            "versions": versions(),
            "training_corpus_hash": parts.train.content_hash,
        },
        prevalence=prevalence,
    )
    table = format_topics(topic_rows(model, TOP_WORDS))
    atomic_write_text(run.path / "topics.txt", table + "\n")
    seconds = {**run.provenance().get("seconds", {}), "training": checkpoint.seconds}
    run.finish({"seconds": seconds, "documents_seen": estimator.state_.n_documents})
    save_model(run.model_path, model)


def _report(run: RunDirectory) -> dict[str, Any]:
    model = load_model(run.model_path)
    provenance = run.provenance()
    metrics = run.metrics()
    return {
        "run": run.path.name,
        "path": str(run.path),
        "seed": provenance["seed"],
        "seconds": provenance.get("seconds", {}),
        "validation": metrics[-1] if metrics else None,
        "topics": topic_rows(model, TOP_WORDS),
    }


def _number_or_name(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
