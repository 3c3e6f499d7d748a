"""What documents are called, and where their exact text can be read, looked up in their store."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from corpora import article_of
from corpora.articles.shard import read_articles, read_keys
from corpora.articles.shard_file import shard_path, stored_bytes
from corpora.articles.store import ArticleStore
from corpora.errors import CorpusFormatError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

    from corpora import Article, Corpus
    from corpora.articles.manifest import ShardEntry
    from pipeline.runs.loaded_run import LoadedRun

SECTION_SIGN = " § "
"""What parts title and heading in a corpus of sections; see `corpora.tokens.selection`."""

SCHEMES = ("http", "https")
NOT_IN_URLS = re.compile(r"[\x00-\x20\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
"""Controls, spaces and marks that turn text around: no address has them as they are."""


@dataclass(frozen=True)
class ArticleName:
    """What a document is called, and its link."""

    title: str
    """Of the article; `Title: Heading` for one of its sections. No control characters."""
    url: str
    """Of the exact revision if it is known; empty, or http(s)."""


class ArticleNames:
    """Looks up names of documents, each once, and tells in `note` what it could not find.

    Parameters
    ----------
    store
        Directory of the articles. If it is missing or damaged, documents that are not found have
        the titles that the corpus knows, and no link.
    corpus
        Of the documents.
    shards
        SHA-256s of the shards that the corpus was made of; of another shard nothing is taken, as
        the revisions there may be others. By default all shards are taken.
    """

    def __init__(
        self, store: str | Path, corpus: Corpus, shards: Collection[str] | None = None
    ) -> None:
        self._store, self._corpus = ArticleStore(store), corpus
        self._shards = None if shards is None else frozenset(shards)
        self._known: dict[str, ArticleName] = {}
        self._note = ""
        self._unknown: set[str] = set()

    @property
    def note(self) -> str:
        """A sentence on what is missing, and why; empty if nothing is so far."""
        if self._note or not self._unknown:
            return self._note
        n = len(self._unknown)
        return (
            f"{n:,} article{'s' if n > 1 else ''} shown here {'are' if n > 1 else 'is'} not in "
            f"{self._store.path} any more, and so without a link."
        )

    def __call__(self, doc_ids: Iterable[str]) -> dict[str, ArticleName]:
        """The names of these documents, by id; the store is gone through once, as far as needed."""
        wanted = list(dict.fromkeys(doc_ids))
        missing = [doc_id for doc_id in wanted if doc_id not in self._known]
        if missing:
            self._look_up(missing)
        return {doc_id: self._known[doc_id] for doc_id in wanted}

    def _look_up(self, doc_ids: list[str]) -> None:
        documents_of: dict[str, list[str]] = {}
        for doc_id in doc_ids:
            documents_of.setdefault(article_of(doc_id), []).append(doc_id)
        for article in self._found(set(documents_of)):
            for doc_id in documents_of.pop(article.document_id):
                self._known[doc_id] = name_of(article, doc_id)
        self._unknown |= documents_of.keys()
        left = {doc_id for of_article in documents_of.values() for doc_id in of_article}
        if left:
            for doc_id, title in zip(self._corpus.doc_ids, self._corpus.titles, strict=True):
                if doc_id in left:
                    self._known[doc_id] = ArticleName(_shown(title.replace(SECTION_SIGN, ": ")), "")
            for doc_id in left - self._known.keys():
                self._known[doc_id] = ArticleName(_shown(doc_id), "")

    def _found(self, wanted: set[str]) -> Iterator[Article]:
        """Those of the `wanted` articles that the store has; a damaged shard is passed over."""
        wanted = set(wanted)
        try:
            entries = self._store.entries
        except (CorpusFormatError, OSError) as error:
            self._tell(error)
            return
        for entry in entries:
            if not wanted:
                return
            if self._shards is not None and entry.sha256 not in self._shards:
                continue
            try:
                for article in self._of_shard(entry, wanted):
                    wanted.discard(article.document_id)
                    yield article
            except (CorpusFormatError, OSError) as error:
                self._tell(error)

    def _of_shard(self, entry: ShardEntry, wanted: set[str]) -> Iterator[Article]:
        """Those of the shard, which is read up to the last of them."""
        data, name = stored_bytes(self._store.path, entry), str(shard_path(self._store.path, entry))
        keys = [f"{language}:{page_id}" for language, page_id in read_keys(data, name)]
        n_wanted = sum(key in wanted for key in keys)
        if not n_wanted:
            return
        for article in read_articles(data, name):
            if article.document_id in wanted:
                n_wanted -= 1
                yield article
                if not n_wanted:
                    return

    def _tell(self, error: Exception) -> None:
        """Note the first error."""
        if not self._note:
            self._note = f"Some articles have no link to their revision: {_shown(str(error))}."


def names_of(run: LoadedRun) -> ArticleNames:
    """What documents of the run are called, by the shards that it learned from."""
    articles = run.provenance.get("articles", {})
    shards = articles.get("shards") if articles.get("settled") else None
    return ArticleNames(run.store.path, run.corpus, shards)


def name_of(article: Article, doc_id: str) -> ArticleName:
    """The name of `doc_id`, which is the article or a section of it, `en:12#3`, counted from 1."""
    title, (_, _, number) = article.title, doc_id.partition("#")
    if number.isdecimal():
        headings = [heading for heading, _ in article.sections()]
        heading = headings[int(number) - 1] if 0 < int(number) <= len(headings) else ""
        title = f"{title}: {heading}" if heading else title
    return ArticleName(_shown(title), revision_url(article.url, article.revision_id))


def revision_url(url: str, revision_id: int) -> str:
    """The address of the revision of the page at `url`, as MediaWiki has it, `…?oldid=12`.

    The address as it is if the revision is not known, which is 0; empty if it is not http(s).
    """
    if NOT_IN_URLS.search(url):
        return ""
    try:
        parts = urlsplit(url)
    except ValueError:  # an address in brackets that is none
        return ""
    if parts.scheme.lower() not in SCHEMES or not parts.netloc:
        return ""
    if revision_id <= 0:
        return url
    kept = [each for each in parts.query.split("&") if each and not each.startswith("oldid=")]
    return urlunsplit(parts._replace(query="&".join([*kept, f"oldid={revision_id}"])))


def _shown(text: str) -> str:
    """`text` on one line, without control characters and lone surrogates."""
    cut = "".join(" " if unicodedata.category(c) in ("Cc", "Cs") else c for c in text)
    return " ".join(cut.split())
