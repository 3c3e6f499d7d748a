"""Titles of documents and links to their exact revisions, from the article store."""

import unicodedata
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from corpora import Article, Corpus, article_of
from corpora.articles.manifest import ShardEntry
from corpora.articles.shard import read_articles, read_keys
from corpora.articles.shard_file import shard_path, stored_bytes
from corpora.articles.store import ArticleStore
from corpora.errors import CorpusFormatError
from pipeline.report.page_data import safe_url
from pipeline.runs.loaded_run import LoadedRun

SECTION_SIGN = " § "
"""Separator of title and heading in a corpus of sections; see `corpora.tokens.selection`."""


@dataclass(frozen=True)
class ArticleName:
    """Title and link of a document."""

    title: str  # Title of the article; `Title: Heading` for a section. No control characters.
    url: str  # Link to the exact revision if it is known; http(s), or empty


class ArticleNames:
    """Looks up names of documents, each once, and says in `note` what is missing.

    Documents that the store lacks, or that are in a damaged shard, have the titles of the
    corpus and no link. `no_store` is the note of a run that has read no store. Only shards with
    a SHA-256 in `shards` are read, if it is given: others may hold other revisions.
    """

    def __init__(
        self,
        store: str | Path,
        corpus: Corpus,
        shards: Collection[str] | None = None,
        no_store: str = "",
    ) -> None:
        self._no_store = no_store
        self._store, self._corpus = ArticleStore(store), corpus
        self._shards = None if shards is None else frozenset(shards)
        self._known: dict[str, ArticleName] = {}
        self._note = ""
        self._unknown: set[str] = set()

    @property
    def note(self) -> str:
        """Sentence on what is missing, and why; empty if nothing is missing so far."""
        if self._no_store:
            return self._no_store
        if self._note or not self._unknown:
            return self._note
        n = len(self._unknown)
        return (
            f"{n:,} article{'s' if n > 1 else ''} shown here {'have' if n > 1 else 'has'} no link: "
            f"no longer in {self._store.path}."
        )

    def __call__(self, doc_ids: Iterable[str]) -> dict[str, ArticleName]:
        """Return the names of these documents by id; reads no more of the store than needed."""
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
        missing = {doc_id for of_article in documents_of.values() for doc_id in of_article}
        if missing:
            titled = zip(self._corpus.doc_ids, self._corpus.titles, strict=True)
            titles = {doc_id: title for doc_id, title in titled if doc_id in missing}
            for doc_id in missing:
                title = titles.get(doc_id, doc_id).replace(SECTION_SIGN, ": ")
                self._known[doc_id] = ArticleName(_shown(title), "")

    def _found(self, wanted: set[str]) -> Iterator[Article]:
        """Yield the `wanted` articles that the store has; a damaged shard is skipped."""
        wanted = set(wanted)
        if self._no_store:
            return
        try:
            entries = self._store.entries
        except (CorpusFormatError, OSError) as error:
            self._record(error)
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
                self._record(error)

    def _of_shard(self, entry: ShardEntry, wanted: set[str]) -> Iterator[Article]:
        """Yield the `wanted` articles of the shard, which is read up to the last of them."""
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

    def _record(self, error: Exception) -> None:
        if not self._note:
            self._note = f"Some articles have no link to their revision: {_shown(str(error))}."


def names_of(run: LoadedRun) -> ArticleNames:
    """Return the names of documents of the run, from the shards that it learned from."""
    if run.settings.counts:
        note = "The run learned from counts: its documents have no text to show and no links."
        return ArticleNames(run.store.path, run.corpus, no_store=note)
    articles = run.provenance.get("articles", {})
    shards = articles.get("shards") if articles.get("settled") else None
    return ArticleNames(run.store.path, run.corpus, shards)


def name_of(article: Article, doc_id: str) -> ArticleName:
    """Return the name of `doc_id`: the article, or its section number 3 (from 1) as `en:12#3`."""
    title, (_, _, number) = article.title, doc_id.partition("#")
    if number.isdecimal():
        headings = [heading for heading, _ in article.sections()]
        heading = headings[int(number) - 1] if 0 < int(number) <= len(headings) else ""
        title = f"{title}: {heading}" if heading else title
    return ArticleName(_shown(title), revision_url(article.url, article.revision_id))


def revision_url(url: str, revision_id: int) -> str:
    """Return MediaWiki's address of a revision of the page at `url`, `…?oldid=12`.

    `url` itself for revision 0, which means unknown; empty if it is not http(s).
    """
    if not safe_url(url) or revision_id <= 0:
        return safe_url(url)
    parts = urlsplit(url)
    kept = [each for each in parts.query.split("&") if each and not each.startswith("oldid=")]
    return urlunsplit(parts._replace(query="&".join([*kept, f"oldid={revision_id}"])))


def _shown(text: str) -> str:
    """Return `text` on one line, without control characters and lone surrogates."""
    cut = "".join(" " if unicodedata.category(c) in ("Cc", "Cs") else c for c in text)
    return " ".join(cut.split())
