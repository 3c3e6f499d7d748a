"""Columns that came along with the texts of a run, in the order of its documents.

A table has the column `timestamp` of the articles too, where they have one and other columns.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from corpora import CorpusFormatError, article_of
from corpora.articles.shard import has_columns
from corpora.articles.shard_file import stored_bytes
from pipeline.progress import Progress
from pipeline.runs.column_names import free_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from corpora import Article
    from corpora.articles.article import Value
    from pipeline.runs.loaded_run import LoadedRun

logger = logging.getLogger(__name__)

TAKEN = re.compile(r"id|title|part|tokens|topic_\d+")
"""Names of the other columns of a table of documents."""


class RowColumns:
    """Columns of the rows that a run's texts were in; the store is read twice, a shard at a time.

    There are none if the articles of the first and the last shard have none, or the store is gone.
    """

    def __init__(self, run: LoadedRun) -> None:
        self._run = run
        self.kinds: dict[str, type] = {}
        """Kinds of the columns by name: str, int, float, bool, tuple; str if there are several."""
        try:
            if run.settings.articles:
                self._find()
        except (CorpusFormatError, OSError) as error:
            logger.warning("documents are without the columns of their rows: %s", error)
        self._articles = self._read()
        self._found: dict[str, tuple[Value, ...]] = {}
        self._last = ""  # Article of the last document so far

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns in a table of documents; one that is taken gets a _ at its end."""
        return tuple(free_names(self.kinds, TAKEN))

    def take(self, doc_ids: Sequence[str]) -> list[list[Value]]:
        """Return the columns of the next documents, with None where there is no value."""
        if not self.kinds:
            return []
        keys = [article_of(doc_id) for doc_id in doc_ids]
        missing = {key for key in keys if key not in self._found}
        while missing and (article := next(self._articles, None)) is not None:
            there = columns_of(article)
            values = tuple(_as_kind(there.get(name), kind) for name, kind in self.kinds.items())
            self._found[article.document_id] = values
            missing.discard(article.document_id)
        nothing = (None,) * len(self.kinds)
        rows = [self._found.get(key, nothing) for key in keys]
        # Other sections of the last article may be among the next documents.
        for key in {*keys, self._last} - {*keys[-1:]}:
            self._found.pop(key, None)
        self._last = keys[-1] if keys else self._last
        return [list(column) for column in zip(*rows, strict=True)]

    def _read(self) -> Iterator[Article]:
        store = self._run.store
        for entry in store.entries:
            yield from store.read_shard(entry)

    def _find(self) -> None:
        """Find the names and kinds of the columns."""
        store, kinds = self._run.store, dict[str, set[type]]()
        entries = store.entries
        if not any(
            has_columns(stored_bytes(store.path, entry)) for entry in {*entries[:1], *entries[-1:]}
        ):
            return
        n_articles = sum(entry.articles for entry in entries)
        with Progress("columns of the texts", n_articles, "articles") as progress:
            for entry in entries:
                for article in store.read_shard(entry):
                    for name, value in columns_of(article).items():
                        kinds.setdefault(name, set()).add(type(value))
                progress.update(entry.articles)
        self.kinds = {name: _common(each - {type(None)}) for name, each in kinds.items()}


def columns_of(article: Article) -> dict[str, Value]:
    """Return the columns of an article, the time of its revision first, if it has one."""
    times: dict[str, Value] = {"timestamp": article.timestamp} if article.timestamp else {}
    return times | dict(article.columns)


def _common(kinds: set[type]) -> type:
    """Return the kind that holds values of all these."""
    if kinds == {int, float}:
        return float
    return kinds.pop() if len(kinds) == 1 else str


def _as_kind(value: Any, kind: type) -> Value:
    if isinstance(value, tuple) and kind is str:
        return joined(value)
    return None if value is None else kind(value)


def joined(values: tuple[str, ...]) -> str:
    """Return the values of a column as one text, for tables that hold no lists."""
    return "|".join(values)
