"""Columns that came along with the texts of a run, in the order of its documents."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from corpora import CorpusFormatError, article_of
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

    There are none if the articles of the store's first shard have none, or if the store is gone.
    """

    def __init__(self, run: LoadedRun) -> None:
        self._run = run
        self.kinds: dict[str, type] = {}
        """Kinds of the columns by name: str, int, float or bool; str if there are several."""
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
            values = tuple(_as_kind(article.columns.get(n), k) for n, k in self.kinds.items())
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
        n_articles = sum(entry.articles for entry in entries)
        with Progress("columns of the texts", n_articles, "articles") as progress:
            for entry in entries:
                for article in store.read_shard(entry):
                    for name, value in article.columns.items():
                        kinds.setdefault(name, set()).add(type(value))
                if not kinds:
                    return
                progress.update(entry.articles)
        self.kinds = {name: _common(each - {type(None)}) for name, each in kinds.items()}


def _common(kinds: set[type]) -> type:
    """Return the kind that holds values of all these."""
    if kinds == {int, float}:
        return float
    return kinds.pop() if len(kinds) == 1 else str


def _as_kind(value: Any, kind: type) -> Value:
    return None if value is None else kind(value)
