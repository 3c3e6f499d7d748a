"""Stream of the documents of a growing store: tokens, counts, and batches to train on.

Nothing depends on when articles arrive or how shards group them: a batch is a fixed number of
consecutive training documents.
"""

from __future__ import annotations

import time
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from corpora import (
    ArticleStore,
    Bigrams,
    Corpus,
    CorpusFormatError,
    StoreLockedError,
    TokenBlock,
    TokenStore,
    part_of,
)
from downloader.crawl import download_is_running
from pipeline.text.documents import token_store
from pipeline.text.settings import text_settings

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from numpy.typing import NDArray

    from corpora.articles.manifest import ShardEntry
    from pipeline.settings import TrainSettings

SHARDS_WORTH_A_POOL = 2
"""Missing shards for each process from which processes pay: each loads spaCy first."""
MAX_VALIDATION = 5000  # Validation documents kept for checks during training: always the first ones
POLL_SECONDS = 0.5


class DocumentStream:
    """Stream of training documents, shard by shard, which keeps some documents to validate.

    In memory are the training documents that were not taken yet, and up to `MAX_VALIDATION`
    validation documents; the rest stays in the cache of tokens. The first `n_taken` training
    documents are skipped, as they were taken before.
    """

    def __init__(
        self,
        store: GrowingStore,
        settings: TrainSettings,
        bigrams: Bigrams,
        vocabulary: tuple[str, ...],
        n_taken: int,
        n_processes: int,
    ) -> None:
        self.n_shards = self.n_articles = 0  # read
        self.n_taken = n_taken
        self._store, self._settings, self._n_processes = store, settings, n_processes
        self._bigrams, self._vocabulary = bigrams, vocabulary
        self._n_read = 0  # training documents, skipped ones too
        self._waiting: Any = sparse.csr_array((0, len(vocabulary)), dtype=np.int32)
        self._validation: Any = sparse.csr_array((0, len(vocabulary)), dtype=np.int32)
        self._n_before: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        """Number (n,) of training documents before each validation document."""

    @property
    def n_waiting(self) -> int:
        """Training documents that can be taken."""
        return int(self._waiting.shape[0])

    def read(self) -> Generator[bool, None, None]:
        """Read shard after shard; yield True for each, and False if there is no new one yet.

        The generator ends when the store is settled and all of it has been read.
        """
        store = self._store
        while True:
            store.refresh()
            new = store.entries[self.n_shards :]
            if not new and store.is_settled:
                return
            tokens = token_store(store.articles, text_settings(self._settings), new)
            try:
                for entry, block in zip(new, _blocks(tokens, self._n_processes), strict=True):
                    self._add(block)
                    self.n_shards += 1
                    self.n_articles += entry.articles
                    yield True
            except StoreLockedError:
                new = ()  # another process is making the same tokens
            if not new:
                yield False

    def take(self, n_docs: int) -> sparse.csr_array:
        """Return the next training documents."""
        taken: sparse.csr_array = self._waiting[:n_docs]
        self._waiting = self._waiting[n_docs:]
        self.n_taken += taken.shape[0]
        return taken

    def validation(self) -> sparse.csr_array:
        """Validation documents before the training document taken last."""
        n_docs = int(np.searchsorted(self._n_before, self.n_taken))
        before: sparse.csr_array = self._validation[:n_docs]
        return before

    def _add(self, block: TokenBlock) -> None:
        parts = np.array(
            [part_of(d, self._settings.validation, self._settings.test) for d in block.doc_ids],
            dtype="U10",
        )
        training, validation = parts == "train", parts == "validation"
        n_training = int(np.count_nonzero(training))
        passed_over = self._n_read + n_training <= self.n_taken
        n_wanted = MAX_VALIDATION - len(self._n_before)
        if not passed_over or n_wanted > 0:
            counts = Corpus.from_blocks([self._bigrams.join(block)], self._vocabulary).counts
            rows = np.flatnonzero(training)[max(0, self.n_taken - self._n_read) :]
            held_out = np.flatnonzero(validation)[:n_wanted]
            self._waiting = sparse.vstack([self._waiting, counts[rows]], format="csr")
            self._validation = sparse.vstack([self._validation, counts[held_out]], format="csr")
            n_before = self._n_read + np.cumsum(training)[held_out]
            self._n_before = np.concatenate([self._n_before, n_before])
        self._n_read += n_training


def _blocks(tokens: TokenStore, n_processes: int) -> Iterator[TokenBlock]:
    """Yield blocks in order, each as soon as it is annotated."""
    missing = {entry.sha256 for entry in tokens.missing()}
    if len(missing) < SHARDS_WORTH_A_POOL * n_processes:
        n_processes = 1
    filling = tokens.fill(n_processes)
    for entry in tokens.entries:
        if entry.sha256 in missing:
            # Another process may have made them meanwhile.
            next(filling, None)
        one = copy(tokens)
        one.entries = (entry,)
        yield from one


class GrowingStore:
    """Shards of a store that grows.

    Once no download is running, the articles are settled: articles of a later download are ignored,
    so that results do not depend on the moment of a refresh. The store need not exist yet while a
    download is running. It must begin with the shards in `known`, given by SHA-256; if it is
    settled, they are all shards to read.
    """

    def __init__(
        self, articles: ArticleStore, known: Sequence[str] = (), *, is_settled: bool = False
    ) -> None:
        self.articles = articles
        self.entries: tuple[ShardEntry, ...] = ()  # Shards at the last refresh
        self.is_settled = False  # Whether no more shards will come
        self._known = list(known)
        self._was_settled = is_settled
        self._seen: tuple[int, ...] | None = None

    @property
    def n_articles(self) -> int:
        """Number of articles at the last refresh."""
        return sum(entry.articles for entry in self.entries)

    def refresh(self) -> None:
        """Read the list of shards again; cheap if nothing has changed.

        Raises CorpusFormatError if the store is damaged, does not begin with the known shards, or
        is missing while no download is running.
        """
        if self.is_settled:
            return
        # In this order: what is read after the download has ended is complete.
        is_filled = not self._was_settled and download_is_running(self.articles.path)
        stamp = self._stamp()
        if stamp is None and is_filled:
            return
        if stamp is None or stamp != self._seen:
            self._read()
            self._seen = stamp
        self.is_settled = not is_filled

    def wait(self) -> None:
        """Wait before the next refresh."""
        time.sleep(POLL_SECONDS)

    def _stamp(self) -> tuple[int, ...] | None:
        """Stamp of the list of shards, which changes with it; None if there is no list."""
        try:
            status = (self.articles.path / "manifest.jsonl").stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns

    def _read(self) -> None:
        entries = self.articles.entries
        if [entry.sha256 for entry in entries[: len(self._known)]] != self._known:
            raise CorpusFormatError(
                f"{self.articles.path} does not begin with the articles that this run has learned "
                "from: bring them back, or choose another --run"
            )
        self.entries = entries[: len(self._known)] if self._was_settled else entries
