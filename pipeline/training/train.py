"""`train`: articles in, topics out."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scipy import sparse

from corpora import ArticleStore, Corpus, Split, split, writer_lock
from corpora.files import atomic_write_text, remove_partial_files
from corpora.row_blocks import tokens_of_documents
from models import SavedModel, load_model, save_model, seed_from
from models.families import trainer_for
from models.family import Trainer
from models.kernel import seconds_compiling, working_clock
from models.parallel import effective_n_jobs
from pipeline.cluster.cluster import Cluster
from pipeline.cluster.connection import cluster_of
from pipeline.downloads.download import download
from pipeline.errors import ClusterLostError, Interrupted, SliceEnded, UsageError
from pipeline.interrupts import Deferred, signals_handled_by
from pipeline.progress import Progress
from pipeline.runs.run_directory import (
    SAMPLE_STORE,
    RunDirectory,
    about_articles,
    open_run,
    settings_begun,
    versions,
)
from pipeline.runs.topic_rows import format_topics, topic_rows
from pipeline.setting_sources import as_table
from pipeline.settings import AUTO, DownloadSettings, TrainSettings
from pipeline.text.documents import (
    decide_documents,
    make_corpus,
    record_skipped,
    refuse_empty,
    tokens_of,
)
from pipeline.text.inputs import NamedInput, counts_of, decide_input, input_at, texts_store
from pipeline.text.settings import text_settings
from pipeline.training.chain_stability import stability_in
from pipeline.training.checkpoint import CHECKPOINT_SECONDS, Checkpoint
from pipeline.training.default_model import decide_model
from pipeline.training.e_step_on_cluster import ClusterEStep
from pipeline.training.follow import follow
from pipeline.training.prevalence import is_starving, prevalence_in
from pipeline.training.setting_checks import check_settings
from pipeline.training.trainers import decided_eta, estimator_of, spec_of
from pipeline.training.validation import ValidationChecks, validation_sample
from pipeline.warming.background import compile_ahead

logger = logging.getLogger(__name__)

TOP_WORDS = 10
FEW_ARTICLES = 400
"""Number up to which a core is left to the process that compiles kernels."""
LONG_SECONDS = CHECKPOINT_SECONDS / 20
"""Seconds that a checkpoint may take to write. Slower ones, of topics of a billion tokens, for one,
are further apart, so that writing takes a twentieth of the time."""
NOT_OF_MODEL = ("threads", "cluster")
"""Settings that a model's file leaves out: they do not change the model."""


@dataclass(frozen=True)
class _By:
    """Resources of training: workers, clock, time limit."""

    cluster: Cluster | None
    clock: Callable[[], float]
    stop_after: float | None


@dataclass(frozen=True)
class _Source:
    """Input of a run that is neither a store nor the sample."""

    named: NamedInput | None
    counts: Corpus | None = None  # In memory, or mapped from where they lie


def train(
    settings: TrainSettings,
    given: dict[str, Any],
    clock: Callable[[], float] = working_clock,
    *,
    cluster: Cluster | None = None,
    stop_after: float | None = None,
    named: NamedInput | None = None,
) -> dict[str, Any]:
    """Learn topics; an interrupted run resumes, a finished run is only reported.

    `given` are the settings that the user gave. `clock` times training, in seconds; the default
    does not count the compilation of kernels, which the provenance records separately. By default
    the settings name the cluster. `named` is the input, if the caller has found it already. After
    `stop_after` seconds of training a checkpoint is saved, and
    `SliceEnded` is raised.
    """
    compiled_before = seconds_compiling()
    if named is None:
        settings, named = decide_input(settings)
    if settings.model == AUTO:
        settings = decide_model(settings, named, settings_begun(settings))
    run, settings = open_run(settings, given)
    is_done = run.model_path.exists()
    if is_done:
        logger.info("run %s is done: nothing left to train", run.path.name)
    else:
        articles = f"the articles in {settings.articles}"
        logger.info(
            "run %s: %s topics by --model %s from %s",
            *(run.path.name, f"{settings.topics:,}", settings.model),
            settings.input
            or settings.counts
            or (articles if settings.articles else "the built-in sample: there is no --articles"),
        )
    check_settings(settings)
    if settings.articles and not settings.follow and not run.exists:
        refuse_empty(settings.articles, len(ArticleStore(settings.articles)))
    source = _Source(named)
    if not (is_done or run.has_corpus):
        settings, source = _read(settings, named)  # first, so that bad input leaves no run behind
    opened = nullcontext(cluster) if cluster or is_done else cluster_of(settings.cluster)
    with opened as workers:  # first, so that a cluster that is not there leaves no run behind
        run.path.mkdir(parents=True, exist_ok=True)
        with writer_lock(run.path):
            for directory in (run.path, run.checkpoint_path.parent):
                remove_partial_files(directory)
            if not run.model_path.exists():
                by = _By(workers, clock, stop_after)
                _train(run, settings, source, by, compiled_before)
            elif run.articles_changed():
                logger.warning("its articles have changed since: choose another --run to use them")
    return _report(run)


def _read(settings: TrainSettings, named: NamedInput | None) -> tuple[TrainSettings, _Source]:
    """Read what the settings name: texts into a store, counts into memory."""
    if settings.counts:
        named = named or input_at(settings.counts, settings)
        return settings, _Source(named, counts_of(named, settings))
    if settings.input and (named or not ArticleStore(settings.articles).exists):
        named = named or input_at(settings.input, settings)
        # The store of a run in progress stays in its folder, which a selection's runs share.
        folder = Path(settings.articles).parent if settings.articles else settings.runs
        settings = replace(settings, articles=texts_store(named, folder))
    return settings, _Source(named)


def _train(
    run: RunDirectory, settings: TrainSettings, source: _Source, by: _By, compiled_before: float
) -> None:
    """Do all stages of a run that are not done yet."""
    n_threads = effective_n_jobs(settings.threads)
    if run.has_corpus and (run.checkpoint_path.exists() or not settings.follow):
        corpus = Corpus.load(run.corpus_path, mmap=True, checked=True)
    elif settings.follow:
        compile_ahead(settings)
        settings, corpus = follow(run, settings, n_threads, by.clock)
    elif source.counts is not None:
        compile_ahead(settings)
        settings = _begin(run, settings, source)
        source.counts.save(run.corpus_path)
        corpus = Corpus.load(run.corpus_path, mmap=True, checked=True)
    else:
        is_compiling = compile_ahead(settings)
        settings = _begin(run, settings, source)
        few = is_compiling and len(ArticleStore(settings.articles)) <= FEW_ARTICLES
        corpus = _count(run, settings, max(1, n_threads - few), by.cluster)
    parts = split(corpus, settings.validation, settings.test)
    _check_documents(settings, parts)
    logger.info(
        "%s documents to train on, %s to validate, %s to test; %s words, %s tokens",
        *(f"{n:,}" for n in (parts.train.n_docs, parts.validation.n_docs, parts.test.n_docs)),
        f"{corpus.n_words:,}",
        f"{corpus.n_tokens:,}",
    )
    sizes = {"documents": corpus.n_docs, "words": corpus.n_words, "tokens": corpus.n_tokens}
    run.update_provenance({"corpus": {**sizes, "hash": corpus.content_hash}})
    estimator, checkpoint = _learn(run, settings, corpus, parts, n_threads, by)
    compiling = seconds_compiling() - compiled_before
    _finish(run, settings, estimator, checkpoint, corpus, parts, compiling)


def _check_documents(settings: TrainSettings, parts: Split) -> None:
    """Refuse fewer training documents than topics, if each topic needs one."""
    if not spec_of(settings).needs_document_per_topic:
        return
    n_documents = int((tokens_of_documents(parts.train.counts) > 0).sum())
    if n_documents < settings.topics:
        raise UsageError(
            f"--topics {settings.topics}: --model {settings.model} needs as many documents to "
            f"train on that have a word of the vocabulary, found {n_documents:,}: lower --topics, "
            "with another --run if you named one"
        )


def _begin(run: RunDirectory, settings: TrainSettings, source: _Source) -> TrainSettings:
    """Make the run directory; without a store, fill one from the built-in sample."""
    about: dict[str, Any] = {} if source.named is None else {"input": source.named.about}
    if source.counts is not None:
        settings = replace(settings, documents="article")
        settings = replace(decided_eta(settings), seed=seed_from(settings.seed))
        run.create(settings, about)
        return settings
    if not settings.articles:
        download(DownloadSettings(output=SAMPLE_STORE, threads=1))  # processes take longer
        settings = replace(settings, articles=SAMPLE_STORE)
    store = ArticleStore(settings.articles)
    settings = decide_documents(settings, len(store))
    settings = replace(decided_eta(settings), seed=seed_from(settings.seed))
    run.create(settings, about_articles(settings, store.entries, settled=True) | about)
    return settings


def _count(
    run: RunDirectory, settings: TrainSettings, n_processes: int, cluster: Cluster | None
) -> Corpus:
    """Make bags of words of the articles, and record the time in the provenance."""
    started = time.monotonic()
    articles = ArticleStore(settings.articles)
    tokens = tokens_of(
        articles, text_settings(settings), n_processes, cluster=cluster, runs=settings.runs
    )
    record_skipped(run, tokens)
    tokenized = time.monotonic()
    corpus = make_corpus(run, settings, tokens, n_processes, cluster)
    seconds = {"text": tokenized - started, "counting": time.monotonic() - tokenized}
    run.update_provenance({"seconds": seconds})
    return corpus


def _learn(
    run: RunDirectory,
    settings: TrainSettings,
    corpus: Corpus,
    parts: Split,
    n_threads: int,
    by: _By,
) -> tuple[Trainer, Checkpoint]:
    """Train until validation stops improving, with checkpoints and metrics."""
    estimator = estimator_of(settings, n_threads)
    checkpoint = Checkpoint.load(
        run.checkpoint_path, corpus.content_hash, run.words_hash if settings.follow else ""
    )
    state: Any = checkpoint.state  # of the estimator's kind
    if state is not None:
        logger.info("going on after %s documents", f"{state.n_documents:,}")
    n_docs, validation = parts.train.n_docs, validation_sample(parts.validation.counts)
    checks = ValidationChecks(run, checkpoint, settings, n_docs, n_threads, of_stream=False)
    keeping = _Keeping(checkpoint, run.checkpoint_path, by.stop_after)
    reached = state.n_documents if state else 0
    n_visits = estimator.schedule.max_passes * n_docs
    with (
        signals_handled_by(keeping.deferred),
        Progress("training", n_visits, "documents", reached) as progress,
    ):
        if checkpoint.stopped and state is not None:
            estimator.resume(parts.train.counts, state)
            _finish_training(estimator, checkpoint, checks, validation, by)
            return estimator, checkpoint
        started, n_passes = by.clock(), float(settings.max_passes)
        steps = _steps(
            estimator, settings, parts.train.counts, state, _expect(settings, by, n_threads)
        )
        for n_documents, n_passes in keeping.if_lost(steps, settings):
            checkpoint.seconds += by.clock() - started
            checkpoint.stopped = checks.check_if_due(
                estimator, validation, n_documents, passes=n_passes
            )
            progress.update(n_documents - reached, _note(checkpoint, n_passes))
            reached = n_documents
            checkpoint.state = estimator.state_
            keeping.after_step(n_documents, n_passes)
            if checkpoint.stopped:
                break
            started = by.clock()
        if not checkpoint.stopped:
            checks.check_if_due(estimator, validation, reached, is_end=True, passes=n_passes)
            if (
                n_passes > settings.max_passes - 0.5  # else it came to an end by itself
                and checkpoint.best_look is not None
                and checkpoint.best_look == len(checkpoint.metrics) - 1
            ):
                logger.info("validation was still improving: more --max-passes may help")
        checkpoint.stopped = True
        _finish_training(estimator, checkpoint, checks, validation, by)
        checkpoint.save(run.checkpoint_path)
    if keeping.deferred.signal_number is not None:
        raise Interrupted(keeping.deferred.signal_number)
    return estimator, checkpoint


def _finish_training(
    estimator: Trainer,
    checkpoint: Checkpoint,
    checks: ValidationChecks,
    validation: sparse.csr_array,
    by: _By,
) -> None:
    """Compute the final topics; if others were better by validation, the model keeps those."""
    started = by.clock()
    if not estimator.finish():
        return
    checkpoint.seconds += by.clock() - started
    checkpoint.state = estimator.state_
    passes = {"passes": checkpoint.metrics[-1]["passes"]} if checkpoint.metrics else {}
    checks.check_if_due(
        estimator, validation, checkpoint.state.n_documents, is_finished=True, **passes
    )


class _Keeping:
    """Checkpoint writer: regularly, and when training ends early."""

    def __init__(self, checkpoint: Checkpoint, path: Path, stop_after: float | None) -> None:
        self.deferred = Deferred()
        self._checkpoint, self._path, self._stop_after = checkpoint, path, stop_after
        self._begun = self._saved = time.monotonic()
        self._interval = CHECKPOINT_SECONDS

    def after_step(self, n_documents: int, n_passes: float) -> None:
        """Save a checkpoint if it is time; raise if training ends here."""
        now = time.monotonic()
        if self.deferred.signal_number is not None:
            self._checkpoint.save(self._path)
            logger.info("checkpoint at %s documents", f"{n_documents:,}")
            raise Interrupted(self.deferred.signal_number)
        if self._checkpoint.stopped:
            return
        if self._stop_after is not None and now - self._begun >= self._stop_after:
            self._checkpoint.save(self._path)
            raise SliceEnded(n_passes)
        if now - self._saved > self._interval:
            self._checkpoint.save(self._path)
            self._saved = time.monotonic()
            is_slow = max(1.0, (self._saved - now) / LONG_SECONDS)
            self._interval = CHECKPOINT_SECONDS * is_slow

    def if_lost(
        self, steps: Iterator[tuple[int, float]], settings: TrainSettings
    ) -> Iterator[tuple[int, float]]:
        """Yield the steps; if the cluster is lost in one of them, save the state before it."""
        try:
            yield from steps
        except ClusterLostError:
            # With a staleness, other batches have changed the state since the last step.
            if self._checkpoint.state is not None and not settings.staleness:
                self._checkpoint.save(self._path)
            raise


def _expect(settings: TrainSettings, by: _By, n_threads: int) -> dict[str, Any]:
    """Arguments of `iterate` that distribute the E-step, if the trainer supports it."""
    if by.cluster is None:
        return {}
    if spec_of(settings).distributes_e_step:
        return {"submit_e_step": ClusterEStep(by.cluster, n_threads, settings.staleness)}
    if by.stop_after is None:
        logger.info("--model %s is trained on this machine alone", settings.model)
    return {}


def _note(checkpoint: Checkpoint, n_passes: float) -> str:
    """Note for the progress bar."""
    note = f"pass {n_passes:.1f}"
    if checkpoint.metrics:
        note += f", perplexity {checkpoint.metrics[-1]['perplexity']:.1f}"
    return note


def _steps(
    estimator: Trainer,
    settings: TrainSettings,
    counts: sparse.csr_array,
    state: Any,
    e_steps: dict[str, Any],
) -> Iterator[tuple[int, float]]:
    """Yield (documents seen, passes made) after each remaining step of training.

    A stream was the first pass, and its end counts as a step.
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
    for step in estimator.iterate(counts, state=state, **e_steps):
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
    """Write the model: the best topics by validation, or the last ones without validation."""
    topics = estimator.topics_ if checkpoint.best is None else checkpoint.best
    model = SavedModel(
        topics=topics,
        vocabulary=corpus.vocabulary,
        header={
            "settings": {n: v for n, v in as_table(settings).items() if n not in NOT_OF_MODEL},
            "seed": settings.seed,
            "versions": versions(),
            "training_corpus_hash": parts.train.content_hash,
            **stability_in(estimator, topics),
        },
        prevalence=prevalence_in(topics, parts.train.counts, estimator.n_jobs, "prevalence"),
    )
    table = format_topics(topic_rows(model, TOP_WORDS))
    atomic_write_text(run.path / "topics.txt", table + "\n")
    seconds = run.provenance().get("seconds", {})
    seconds |= {"compiling": compiling, "training": checkpoint.seconds}
    seen = {"documents_seen": estimator.state_.n_documents, "best_look": checkpoint.best_look}
    run.finish({"seconds": seconds, **seen})
    save_model(run.model_path, model)


def _n_starving(model: SavedModel) -> int | None:
    """Number of starving topics; None for trainers that empty topics on purpose."""
    settings = {**vars(TrainSettings()), **model.header["settings"]}
    if model.prevalence is None or trainer_for(settings).empties_topics:
        return None
    return int(is_starving(model.prevalence).sum())


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
        "starving": _n_starving(model),
        "topics": topic_rows(model, TOP_WORDS),
    }
