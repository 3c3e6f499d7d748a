"""`train --follow`: topics from a store while a download fills it.

Bigrams and vocabulary are learned from the first articles. Then training visits each document once,
as it arrives. When the download has ended, all documents form the run's corpus, and training
continues with passes over it (see `pipeline.training.train`).

The result depends on the articles and their order, not on when they arrive: a step takes a fixed
number of consecutive training documents.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, cast

import numpy as np
from scipy import sparse

from corpora import ArticleStore, Bigrams, Corpus, TokenBlock, article_of, part_of
from corpora.articles.manifest import ShardEntry
from corpora.files import atomic_write_text
from models import seed_from
from pipeline.errors import Interrupted
from pipeline.interrupts import Deferred, signals_handled_by
from pipeline.progress import Progress
from pipeline.runs.run_directory import RunDirectory, about_articles
from pipeline.settings import TrainSettings
from pipeline.text.documents import decide_documents, learn_words, record_skipped, tokens_of
from pipeline.text.settings import text_settings
from pipeline.training.checkpoint import CHECKPOINT_SECONDS, Checkpoint
from pipeline.training.stream import DocumentStream, GrowingStore
from pipeline.training.trainers import decided_eta, estimator_of
from pipeline.training.validation import ValidationChecks, validation_sample

if TYPE_CHECKING:
    from models import OnlineLDA

logger = logging.getLogger(__name__)

BATCH_SIZE = 400  # Documents of a step by default


def follow(
    run: RunDirectory, settings: TrainSettings, n_threads: int, clock: Callable[[], float]
) -> tuple[TrainSettings, Corpus]:
    """Learn from each document once, until the download has ended; `clock` times training.

    Return the decided settings and the corpus. The run's checkpoint, saved as its `words_hash`,
    holds the state to resume from.
    """
    articles = ArticleStore(settings.articles)
    if run.has_vocabulary:
        checkpoint = Checkpoint.load(run.checkpoint_path, run.words_hash)
        known = run.provenance()["articles"]
        shards = max(known["shards"], [] if known["settled"] else checkpoint.shards, key=len)
        store = GrowingStore(articles, shards, is_settled=known["settled"])
        store.refresh()
        first = _first_documents(run, settings, store, n_threads)
    else:
        store = GrowingStore(articles)
        settings = _begin(run, settings, store)
        first = _first_documents(run, settings, store, n_threads)
        checkpoint = Checkpoint(run.words_hash)
    bigrams, vocabulary = _words_of(run)
    n_taken = checkpoint.state.n_documents if checkpoint.state else 0
    if n_taken:
        logger.info("going on after %s documents", f"{n_taken:,}")
    stream = DocumentStream(store, settings, bigrams, vocabulary, n_taken, n_threads)
    training = _StreamTraining(run, settings, store, stream, first, checkpoint, n_threads, clock)
    training.run_to_the_end()

    tokens = tokens_of(articles, text_settings(settings), n_threads, store.entries)
    record_skipped(run, tokens)
    with Progress("counts", store.n_articles, "articles") as progress:

        def joined() -> Iterator[TokenBlock]:
            for entry, block in zip(store.entries, tokens, strict=True):
                yield bigrams.join(block)
                progress.update(entry.articles)

        corpus = Corpus.from_blocks(joined(), vocabulary)
    corpus.save(run.corpus_path)
    return settings, corpus


def _begin(run: RunDirectory, settings: TrainSettings, store: GrowingStore) -> TrainSettings:
    """Make the run directory, and wait for enough articles to learn the vocabulary from."""
    settings = replace(decided_eta(settings), seed=seed_from(settings.seed))
    _create(run, settings, store)
    store.refresh()
    there = f"{store.n_articles:,} articles in {settings.articles}"
    if store.is_settled:
        logger.info("no download is running: learning from the %s", there)
    else:
        logger.info("following a download: %s so far", there)
    enough = settings.follow_after
    with Progress("waiting", enough, "articles", min(store.n_articles, enough)) as progress:
        while not store.is_settled and store.n_articles < enough:
            progress.wait(f"the first {enough:,} give the words")
            store.wait()
            before = store.n_articles
            store.refresh()
            progress.update(min(store.n_articles, enough) - before)
    settings = decide_documents(settings, min(store.n_articles, enough))
    _create(run, settings, store)
    return settings


def _create(run: RunDirectory, settings: TrainSettings, store: GrowingStore) -> None:
    run.create(settings, about_articles(settings, store.entries, settled=store.is_settled))


def _first_documents(
    run: RunDirectory, settings: TrainSettings, store: GrowingStore, n_threads: int
) -> sparse.csr_array[np.int32]:
    """Count the training documents among the first articles; learn the words if not yet done."""
    entries, beyond = _first_shards(store, settings.follow_after)

    def is_first(document_id: str) -> bool:
        in_training = part_of(document_id, settings.validation, settings.test) == "train"
        return in_training and article_of(document_id) not in beyond

    tokens = tokens_of(store.articles, text_settings(settings), n_threads, entries)
    if run.has_vocabulary:
        bigrams, vocabulary = _words_of(run)
        corpus = Corpus.from_blocks((bigrams.join(block) for block in tokens), vocabulary)
    else:
        corpus = learn_words(run, settings, tokens, is_first)
        atomic_write_text(run.vocabulary_path, "".join(f"{word}\n" for word in corpus.vocabulary))
        run.record(run.vocabulary_path)
        logger.info(
            "%s words, from the first %s articles",
            f"{corpus.n_words:,}",
            f"{sum(entry.articles for entry in entries) - len(beyond):,}",
        )
    return corpus.counts[[is_first(document_id) for document_id in corpus.doc_ids]]


def _first_shards(
    store: GrowingStore, n_articles: int
) -> tuple[tuple[ShardEntry, ...], frozenset[str]]:
    """Return the shards of the first articles, and the later articles in these shards."""
    ends = np.array(list(accumulate(entry.articles for entry in store.entries)), dtype=np.int64)
    entries = store.entries[: int(np.searchsorted(ends, n_articles)) + 1]
    surplus = sum(entry.articles for entry in entries) - n_articles
    if surplus <= 0:
        return entries, frozenset()
    last = [article.document_id for article in store.articles.read_shard(entries[-1])]
    return entries, frozenset(last[-surplus:])


def _words_of(run: RunDirectory) -> tuple[Bigrams, tuple[str, ...]]:
    bigrams = Bigrams.load(run.verified(run.bigrams_path))
    text = run.verified(run.vocabulary_path).read_text("utf-8")
    return bigrams, tuple(text.split("\n")[:-1])


class _StreamTraining:
    """Training steps over a stream, with validation checks, checkpoints and progress."""

    def __init__(
        self,
        run: RunDirectory,
        settings: TrainSettings,
        store: GrowingStore,
        stream: DocumentStream,
        first: sparse.csr_array[np.int32],
        checkpoint: Checkpoint,
        n_threads: int,
        clock: Callable[[], float],
    ) -> None:
        self._run, self._settings, self._store, self._stream = run, settings, store, stream
        self._checkpoint, self._clock = checkpoint, clock
        self._batch_size = settings.batch_size or BATCH_SIZE
        self._estimator = cast("OnlineLDA", estimator_of(settings, n_threads))
        self._estimator.resume(first, checkpoint.state)
        checkpoint.state = self._estimator.state_
        self._checks = ValidationChecks(
            run, checkpoint, settings, first.shape[0], n_threads, of_stream=True
        )
        self._saved, self._n_saved = time.monotonic(), checkpoint.state.n_documents
        self._in_step = False

    def run_to_the_end(self) -> None:
        """Train on documents as they arrive, until the store is settled and all were visited."""
        stream, n_shown = self._stream, 0
        with Progress("following", None, "articles") as progress, closing(stream.read()) as reading:
            try:
                for is_new in reading:
                    while stream.n_waiting >= self._batch_size:
                        self._step(self._batch_size)
                    progress.update(stream.n_articles - n_shown, self._note())
                    n_shown = stream.n_articles
                    if not is_new:
                        self._save_now_and_then()
                        progress.wait(f"waiting for more, {self._note()}")
                        self._store.wait()
                self._settle()
                if stream.n_waiting:
                    self._step(stream.n_waiting)
                self._save()
            except Interrupted:
                if not self._in_step:
                    self._save()
                    logger.info("checkpoint at %s documents", f"{stream.n_taken:,}")
                raise

    def _step(self, n_docs: int) -> None:
        with _in_one_go():
            self._in_step = True
            started = self._clock()
            self._estimator.partial_fit(self._stream.take(n_docs))
            self._checkpoint.seconds += self._clock() - started
            held_out = validation_sample(self._stream.validation())
            self._checks.check_if_due(
                *(self._estimator, held_out, self._stream.n_taken),
                validation_documents=held_out.shape[0],
            )
            self._in_step = False
            self._save_now_and_then()

    def _save_now_and_then(self) -> None:
        if time.monotonic() - self._saved > CHECKPOINT_SECONDS:
            self._save()

    def _save(self) -> None:
        checkpoint = self._checkpoint
        assert checkpoint.state is not None
        if checkpoint.state.n_documents > self._n_saved:
            checkpoint.shards = [e.sha256 for e in self._store.entries[: self._stream.n_shards]]
            checkpoint.save(self._run.checkpoint_path)
            self._n_saved = checkpoint.state.n_documents
        self._saved = time.monotonic()

    def _settle(self) -> None:
        """Record the articles in the provenance, now that no more will come."""
        if self._run.provenance()["articles"]["settled"]:
            return
        logger.info("the download has ended: %s articles", f"{self._store.n_articles:,}")
        about = about_articles(self._settings, self._store.entries, settled=True)
        self._run.update_provenance(about)

    def _note(self) -> str:
        note = f"of {self._store.n_articles:,} stored"
        if self._checkpoint.metrics:
            note += f", perplexity {self._checkpoint.metrics[-1]['perplexity']:.1f}"
        return note


@contextmanager
def _in_one_go() -> Iterator[None]:
    """Defer a signal that arrives within the block to its end."""
    deferred = Deferred()
    with signals_handled_by(deferred):
        yield
    if deferred.signal_number is not None:
        raise Interrupted(deferred.signal_number)
