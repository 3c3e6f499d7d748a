"""`train`: articles in, topics out."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora import ArticleStore, Corpus, Pruning, find_model, split, writer_lock
from corpora.files import atomic_write_text, remove_partial_files
from models import SavedModel, load_model, save_model, seed_from
from models.kernel import seconds_compiling, working_clock
from models.parallel import effective_n_jobs
from pipeline.checkpoint import CHECKPOINT_SECONDS, Checkpoint
from pipeline.commands.download import download
from pipeline.commands.follow import follow
from pipeline.documents import (
    decide_documents,
    learn_bigrams,
    make_corpus,
    record_passed_over,
    refuse_empty,
    text_settings,
    tokens_of,
)
from pipeline.errors import Interrupted, UsageError
from pipeline.interrupts import Deferred, signals_handled_by
from pipeline.learning import (
    LOOK_EVERY_SECONDS,
    Looks,
    estimator_of,
    look_every,
    most_passes,
    to_look_at,
)
from pipeline.progress import Progress
from pipeline.runs import SAMPLE_STORE, RunDirectory, about_articles, open_run, versions
from pipeline.setting_sources import as_table
from pipeline.settings import SAMPLED, DownloadSettings, TrainSettings
from pipeline.topic_shares import prevalence_of, shares_in_documents
from pipeline.topic_table import format_topics, topic_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray
    from scipy import sparse

    from corpora import Split
    from pipeline.learning import Trainer

logger = logging.getLogger(__name__)

TOP_WORDS = 10


def train(
    settings: TrainSettings,
    given: dict[str, Any],
    clock: Callable[[], float] = working_clock,
) -> dict[str, Any]:
    """Learn topics; a run that was interrupted goes on, one that is done is only reported.

    Parameters
    ----------
    settings : TrainSettings
        As resolved.
    given : dict
        The part of them that was asked for, on the command line, in the environment or the file.
    clock : callable
        Seconds from any moment on, by which training is timed, and stopped if that is asked for. By
        default it stands still while kernels are compiled, which `seconds` of the provenance has.
    """
    compiled_before = seconds_compiling()
    run, settings = open_run(settings, given)
    _check(settings)
    if settings.articles and not settings.follow and not run.exists:
        refuse_empty(settings.articles, len(ArticleStore(settings.articles)))
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
        if run.has_corpus and (run.checkpoint_path.exists() or not settings.follow):
            corpus = Corpus.load(run.corpus_path)
        elif settings.follow:
            settings, corpus = follow(run, settings, n_threads, clock)
        else:
            settings = _begin(run, settings)
            corpus = _count(run, settings, n_threads)
        parts = split(corpus, settings.validation, settings.test)
        _check_documents(settings, parts)
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
        estimator, checkpoint = _learn(run, settings, corpus, parts, n_threads, clock)
        compiling = seconds_compiling() - compiled_before
        _finish(run, settings, estimator, checkpoint, corpus, parts, compiling)
    return _report(run)


def print_training(result: dict[str, Any]) -> None:
    """The topics and where they are."""
    print(format_topics(result["topics"]))
    print()
    if result["validation"]:
        best = result["validation"]
        print(
            f"validation perplexity {best['perplexity']:.1f} after {best['passes']:.1f} passes, "
            f"{best['seconds']:.1f} s of training: look {best['look']} of {best['looks']}"
        )
    path = Path(result["path"])
    name = path.name if path.parent == Path(TrainSettings.runs) else path
    print(f"{path}: held-out perplexity by `python -m pipeline evaluate {name}`")


def _check(settings: TrainSettings) -> None:
    """Find what cannot work before anything slow begins."""
    if settings.max_passes < 1:
        raise UsageError(f"--max-passes must be at least 1, found {settings.max_passes}")
    _check_model(settings)
    try:
        estimator_of(settings, 1).check_settings()
        Pruning(settings.no_below, settings.no_above, settings.keep_n)
        learn_bigrams((), bool, settings)
        seed_from(settings.seed)
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error
    if not (settings.validation >= 0 and settings.test >= 0):
        raise UsageError("--validation and --test are shares and must not be negative")
    if settings.validation + settings.test >= 1:
        raise UsageError("--validation and --test leave nothing to train on: lower one of them")
    if settings.follow and not settings.articles:
        raise UsageError("--follow needs the store that is being filled: --articles DIR")
    if settings.follow_after < 1:
        raise UsageError(f"--follow-after must be at least 1, found {settings.follow_after}")
    if settings.stopping_patience < 1:
        raise UsageError(
            f"--stopping-patience must be at least 1, found {settings.stopping_patience}"
        )
    if not 0 <= settings.stopping_tolerance < 1:
        raise UsageError(
            f"--stopping-tolerance must be from 0 to below 1, found {settings.stopping_tolerance}"
        )
    decided = settings.documents != "auto"
    text_settings(settings if decided else replace(settings, documents="article"))
    if settings.spacy_model or not settings.articles:  # else it is told by the articles' language
        find_model(settings.spacy_model)


def _check_model(settings: TrainSettings) -> None:
    """Find settings of the other model."""
    for each in fields(settings):
        models, value = each.metadata["of"], getattr(settings, each.name)
        if models and settings.model not in models and value != each.default:
            raise UsageError(
                f"--{each.name.replace('_', '-')} is for --model {' or '.join(models)}, not "
                f"{settings.model}: leave it out"
            )
    if settings.model == "gamma-poisson":
        _check_trainer(settings)
    for name in ("penalty", "length_scale"):
        if not 0 < getattr(settings, name) < math.inf:
            raise UsageError(
                f"--{name.replace('_', '-')} must be positive and finite, found "
                f"{getattr(settings, name)}"
            )
    if settings.model not in SAMPLED:
        return
    for name in ("alpha", "eta"):
        if settings.model == "gibbs" and getattr(settings, name) == "learned":
            raise UsageError(
                f"--{name} learned is for --model online: with gibbs, --{name} is a number to "
                "start from, and --learn-priors says what is learned"
            )
    if settings.burn_in >= settings.max_passes >= 1:
        raise UsageError(
            f"--burn-in must be less than the {settings.max_passes} of --max-passes, which leaves "
            f"topics to average, found {settings.burn_in}"
        )


def _check_trainer(settings: TrainSettings) -> None:
    """Find settings of another trainer of Gamma-Poisson models."""
    of_sampling = ("sampler", "start", "burn_in", "eta")
    foreign = {"gap": of_sampling, "kl-nmf": (*of_sampling, "shape")}.get(settings.trainer, ())
    for name in foreign:
        if getattr(settings, name) != getattr(TrainSettings, name):
            raise UsageError(
                f"--{name.replace('_', '-')} has no meaning for --trainer {settings.trainer}: "
                "leave it out"
            )


def _check_documents(settings: TrainSettings, parts: Split) -> None:
    """Find too few documents to train on for the topics, where each is to have one."""
    n_documents = int((parts.train.counts.sum(axis=1) > 0).sum())
    if settings.model == "poisson-mrf" and n_documents < settings.topics:
        raise UsageError(
            f"--topics {settings.topics}: --model poisson-mrf needs as many documents to train on "
            f"that have a word of the vocabulary, found {n_documents:,}: lower --topics, with "
            "another --run if you named one"
        )


def _begin(run: RunDirectory, settings: TrainSettings) -> TrainSettings:
    """Make the run directory, filling the store from the sample where no store was named."""
    if not settings.articles:
        if not Path(SAMPLE_STORE).exists():
            logger.info("no --articles: taking the built-in sample of Wikipedia articles")
        download(DownloadSettings(output=SAMPLE_STORE, threads=settings.threads))
        settings = replace(settings, articles=SAMPLE_STORE)
    store = ArticleStore(settings.articles)
    settings = decide_documents(settings, len(store))
    settings = replace(settings, seed=seed_from(settings.seed))
    run.create(settings, about_articles(settings, store.entries, settled=True))
    return settings


def _count(run: RunDirectory, settings: TrainSettings, n_processes: int) -> Corpus:
    """Articles to bags of words, with the time that it took in the provenance."""
    started = time.monotonic()
    articles = ArticleStore(settings.articles)
    tokens = tokens_of(articles, text_settings(settings), n_processes)
    record_passed_over(run, tokens)
    tokenized = time.monotonic()
    corpus = make_corpus(run, settings, tokens)
    seconds = {"text": tokenized - started, "counting": time.monotonic() - tokenized}
    run.update_provenance({"seconds": seconds})
    return corpus


def _learn(
    run: RunDirectory,
    settings: TrainSettings,
    corpus: Corpus,
    parts: Split,
    n_threads: int,
    clock: Callable[[], float],
) -> tuple[Trainer, Checkpoint]:
    """Train until validation stops improving, keeping checkpoints and metrics."""
    estimator = estimator_of(settings, n_threads)
    checkpoint = Checkpoint.load(
        run.checkpoint_path, corpus.content_hash, run.words_hash if settings.follow else ""
    )
    state: Any = checkpoint.state  # of the estimator's kind
    if state is not None:
        logger.info("going on after %s documents", f"{state.n_documents:,}")
    n_docs, validation = parts.train.n_docs, to_look_at(parts.validation.counts)
    every = look_every(settings.model, n_docs)
    looks = Looks(run, checkpoint, settings, every, LOOK_EVERY_SECONDS, n_threads, of_stream=False)
    deferred, saved = Deferred(), time.monotonic()
    reached = state.n_documents if state else 0
    with (
        signals_handled_by(deferred),
        Progress("training", most_passes(settings) * n_docs, "documents", reached) as progress,
    ):
        if checkpoint.stopped and state is not None:
            estimator.resume(parts.train.counts, state)
            return estimator, checkpoint
        started, n_passes = clock(), float(settings.max_passes)
        for n_documents, n_passes in _steps(estimator, settings, parts.train.counts, state):
            checkpoint.seconds += clock() - started
            checkpoint.stopped = looks.look_if_due(
                estimator, validation, n_documents, passes=n_passes
            )
            progress.update(n_documents - reached, _note(checkpoint, n_passes))
            reached = n_documents
            checkpoint.state = estimator.state_
            if deferred.signal_number is not None:
                checkpoint.save(run.checkpoint_path)
                logger.info("checkpoint at %s documents", f"{n_documents:,}")
                raise Interrupted(deferred.signal_number)
            if checkpoint.stopped:
                break
            if time.monotonic() - saved > CHECKPOINT_SECONDS:
                checkpoint.save(run.checkpoint_path)
                saved = time.monotonic()
            started = clock()
        if not checkpoint.stopped:
            looks.look_if_due(estimator, validation, reached, is_end=True, passes=n_passes)
            if (
                n_passes > settings.max_passes - 0.5  # else it came to an end by itself
                and checkpoint.best_look is not None
                and checkpoint.best_look == len(checkpoint.metrics) - 1
            ):
                logger.info("validation was still improving: more --max-passes may be worth while")
        checkpoint.stopped = True
        checkpoint.save(run.checkpoint_path)
    if deferred.signal_number is not None:
        raise Interrupted(deferred.signal_number)
    return estimator, checkpoint


def _note(checkpoint: Checkpoint, n_passes: float) -> str:
    """How far training is, for the line that shows its progress."""
    note = f"pass {n_passes:.1f}"
    if checkpoint.metrics:
        note += f", perplexity {checkpoint.metrics[-1]['perplexity']:.1f}"
    return note


def _steps(
    estimator: Trainer,
    settings: TrainSettings,
    counts: sparse.csr_array,
    state: Any,
) -> Iterator[tuple[int, float]]:
    """Documents seen and passes made, after each step of the training that is left to do.

    Where a stream came before, it was the first pass, and its end counts as a step.
    """
    n_streamed = 0
    if settings.follow and state is not None:
        n_streamed = 1
        estimator.resume(counts, state)
        if state.n_documents == counts.shape[0]:
            yield state.n_documents, 1.0
        if settings.max_passes == n_streamed:
            return
        estimator.set_params(n_passes=settings.max_passes - n_streamed)
    for step in estimator.iterate(counts, state=state):
        yield step.n_documents, n_streamed + step.n_passes


def _finish(
    run: RunDirectory,
    settings: TrainSettings,
    estimator: Trainer,
    checkpoint: Checkpoint,
    corpus: Corpus,
    parts: Split,
    compiling: float,
) -> None:
    """Write the model: the topics that validation liked best, if it was looked at, or the last.

    `compiling` are the seconds that the last of the commands which trained it took for kernels.
    """
    topics = estimator.topics_ if checkpoint.best is None else checkpoint.best
    n_tokens: NDArray[np.int64] = parts.train.counts.sum(axis=1)
    shares = shares_in_documents(topics, parts.train.counts, estimator.n_jobs, "prevalence")
    model = SavedModel(
        topics=topics,
        vocabulary=corpus.vocabulary,
        header={
            "settings": {n: v for n, v in as_table(settings).items() if n != "threads"},
            "seed": settings.seed,
            "versions": versions(),
            "training_corpus_hash": parts.train.content_hash,
        },
        prevalence=prevalence_of(shares, n_tokens),
    )
    table = format_topics(topic_rows(model, TOP_WORDS))
    atomic_write_text(run.path / "topics.txt", table + "\n")
    seconds = run.provenance().get("seconds", {})
    seconds |= {"compiling": compiling, "training": checkpoint.seconds}
    run.finish(
        {
            "seconds": seconds,
            "documents_seen": estimator.state_.n_documents,
            "best_look": checkpoint.best_look,
        }
    )
    save_model(run.model_path, model)


def _report(run: RunDirectory) -> dict[str, Any]:
    model = load_model(run.model_path)
    provenance = run.provenance()
    metrics, validation = run.metrics(), None
    best = provenance.get("best_look", len(metrics) - 1)  # versions without took the last
    if best is not None and 0 <= best < len(metrics):
        validation = {**metrics[best], "look": best + 1, "looks": len(metrics)}
    return {
        "run": run.path.name,
        "path": str(run.path),
        "seed": provenance["seed"],
        "seconds": provenance.get("seconds", {}),
        "validation": validation,
        "topics": topic_rows(model, TOP_WORDS),
    }
