"""The writer of an article store: gathers articles and commits them as shards.

The order of a commit is: ATTRIBUTION, where it has to change; the shard's file; its line in the
manifest, which makes it stored; the index of the keys. An interrupt may come between any two
instructions, and the commit be repeated: an article waits until manifest and index have it.
"""

import time
from collections import deque
from functools import partial
from itertools import takewhile
from pathlib import Path

from corpora.articles import attribution, key_index
from corpora.articles.article import Article
from corpora.articles.attribution import Attribution, read_attribution
from corpora.articles.key_index import Key, KeyIndex
from corpora.articles.manifest import (
    START,
    ShardEntry,
    Tail,
    append_entry,
    make_durable,
    read_manifest,
    shard_name,
)
from corpora.articles.shard import check_article, pack_shard, read_articles
from corpora.articles.shard_file import has_expected_size, shard_path, stored_bytes, stored_keys
from corpora.files import atomic_write, sha256_of

CHECKED_BYTES, CHECKED_SHARDS = 2**25, 1000
"""The newest shards, up to so many bytes and shards, are read and checked before any writing."""

ARTICLES_ASKED = 20_000  # Articles of a store without ATTRIBUTION that are asked for their source


class ArticleWriter:
    """Adds articles to a store; `ArticleStore.writer` makes one, under the writer's lock. Articles
    are stored by the next `commit`; leaving the block commits too.
    """

    def __init__(self, path: Path, manifest: Path, shard_size: int) -> None:
        self._path = path
        self._manifest = manifest
        self._shard_size = shard_size
        self._closed = False
        self._pending: dict[Key, tuple[int, Article]] = {}
        """Articles that wait, each with its number in the store; some may be in the manifest."""
        self._pending_since: float | None = None
        self._tail = self._checked_tail()
        self._n_before = self._tail.n_articles
        self._attribution_path = path / attribution.FILE
        self._attribution = self._former_attribution()
        self._index = KeyIndex(
            path / key_index.FILE, partial(read_manifest, manifest), partial(stored_keys, path)
        )

    def add(self, article: Article) -> bool:
        """Let `article` wait for the next commit; False if it is stored or waits already. Raises
        CorpusFormatError if it cannot be stored, see `corpora.articles.shard.check_article`.
        """
        self._check_open()
        check_article(article)
        key = article.language, article.page_id
        if key in self._pending or self._index.has(key):
            return False
        last = next(reversed(self._pending.values()), None)
        number = max(last[0] + 1 if last else 0, self._tail.n_articles)
        if self._pending_since is None:
            self._pending_since = time.monotonic()
        self._pending[key] = number, article
        return True

    def has(self, language: str, page_id: int) -> bool:
        """Whether the article is stored, or waits to be."""
        self._check_open()
        key = language, page_id
        return key in self._pending or (-(2**63) <= page_id < 2**63 and self._index.has(key))

    @property
    def n_pending(self) -> int:
        """Number of articles that wait for the next commit."""
        return len(self._pending)

    @property
    def pending_since(self) -> float | None:
        """When the first of them was added, by `time.monotonic`; None if there are none."""
        return self._pending_since

    @property
    def n_added(self) -> int:
        """Number of articles given to this writer, stored or not yet."""
        last = next(reversed(self._pending.values()), None)
        return max(last[0] + 1 if last else 0, self._tail.n_articles) - self._n_before

    def commit(self) -> None:
        """Store what waits, as shards of `shard_size` articles and maybe a smaller one. After an
        OSError, as of a full disk, the shards stored before stay stored, and the other articles
        wait.
        """
        self._check_open()
        self._settle()
        waiting = [article for _, article in self._pending.values()]
        if waiting:
            self._attribute(waiting)
        for start in range(0, len(waiting), self._shard_size):
            self._take_note_of(self._store(waiting[start : start + self._shard_size]))
        self._pending_since = None

    def close(self) -> None:
        """Commit, and let go of the files."""
        if self._closed:
            return
        try:
            self.commit()
        finally:
            self._closed = True
            self._index.close()

    def _store(self, articles: list[Article]) -> Tail:
        """Make `articles` the next shard; the manifest's tail is then the one that is returned."""
        data = pack_shard(articles)
        entry = ShardEntry(
            shard=shard_name(self._tail.n_shards),
            articles=len(articles),
            bytes=len(data),
            sha256=sha256_of(data),
        )
        with atomic_write(shard_path(self._path, entry)) as stream:
            stream.write(data)
        return append_entry(self._manifest, self._tail, entry)

    def _take_note_of(self, tail: Tail) -> None:
        """The manifest goes as far as `tail`: its new articles need not wait any longer."""
        self._index.add(self._first_pending(tail.n_articles), tail)
        self._tail = tail
        self._forget_stored()

    def _forget_stored(self) -> None:
        for key in self._first_pending(self._tail.n_articles):
            del self._pending[key]

    def _first_pending(self, end: int) -> list[Key]:
        """Keys of the articles that wait and whose numbers are below `end`."""
        first = takewhile(lambda item: item[1][0] < end, self._pending.items())
        return [key for key, _ in first]

    def _settle(self) -> None:
        """Find out how far a commit came that an interrupt or an error ended."""
        self._forget_stored()
        for _, tail in read_manifest(self._manifest, self._tail):
            make_durable(self._manifest)
            self._take_note_of(tail)

    def _attribute(self, articles: list[Article]) -> None:
        """See to it that ATTRIBUTION names the sources of `articles`."""
        wanted = self._attribution.including(articles)
        if wanted != self._attribution or not self._attribution_path.exists():
            wanted.write(self._attribution_path)
            self._attribution = wanted

    def _former_attribution(self) -> Attribution:
        """Attribution from the file ATTRIBUTION, or from the articles if it is missing."""
        attribution = read_attribution(self._attribution_path)
        if attribution is not None or not self._tail.n_articles:
            return attribution or Attribution()
        step = -(-self._tail.n_articles // ARTICLES_ASKED)
        attribution = Attribution(complete=step == 1)
        for entry, tail in read_manifest(self._manifest):
            if tail.n_shards % step == 0:
                data = stored_bytes(self._path, entry)
                attribution = attribution.including(read_articles(data, entry.shard))
        attribution.write(self._attribution_path)
        return attribution

    def _checked_tail(self) -> Tail:
        """Return the end of the manifest, after checking that all shards have the right size, and
        the content of the newest, whose writing a power cut may have met, or of all of a small
        store.
        """
        tail, newest, n_bytes = START, deque[ShardEntry](), 0
        for entry, tail in read_manifest(self._manifest):  # noqa: B007 - the last one is returned
            if not has_expected_size(self._path, entry):
                stored_bytes(self._path, entry)  # raises
            newest.append(entry)
            n_bytes += entry.bytes
            while len(newest) > (CHECKED_SHARDS if n_bytes <= CHECKED_BYTES else 1):
                n_bytes -= newest.popleft().bytes
        for entry in newest:
            stored_bytes(self._path, entry)
        return tail

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("this writer is closed: its `with` block has ended")
