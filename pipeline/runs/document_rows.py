"""Documents of a run beside what came along with them: ids, titles and columns of their rows."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corpora import CorpusFormatError, article_of
from corpora.articles.json_lines import made_page_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from corpora import Article
    from pipeline.runs.loaded_run import LoadedRun

logger = logging.getLogger(__name__)

OF_ARTICLES = ("timestamp", "language")
"""Fields of articles that may be named like columns."""


@dataclass(frozen=True, eq=False)
class DocumentRows:
    """Documents (D,), and the articles or rows that they are or belong to."""

    ids: list[Any]
    """Id of each: a number or string as it was given; that of the corpus without a store."""
    titles: list[str]
    sections: list[int] | None
    """Number of the section that each document is, from 1; None if documents are whole."""
    row_of: NDArray[np.int64]  # Row (D,) of each, among those of `columns`
    columns: dict[str, list[Any]]  # Columns of the rows that came along; None where missing


def document_rows(run: LoadedRun) -> DocumentRows:
    """Read them from the store of the run; without it there are ids and titles alone."""
    corpus = run.corpus
    doc_ids = list(corpus.doc_ids)
    articles = [article_of(doc_id) for doc_id in doc_ids]
    place: dict[str, int] = {}
    row_of = np.array([place.setdefault(each, len(place)) for each in articles], dtype=np.int64)
    ids: list[Any] = list(place)
    columns: dict[str, list[Any]] = {}
    known: dict[str, str] = {}  # Texts of columns with several values, each once in memory
    for article in _articles(run):
        row = place.get(article.document_id)
        if row is None:
            continue
        ids[row] = original_id(article)
        values = {name: getattr(article, name) or None for name in OF_ARTICLES}
        for name, value in {**values, **article.columns}.items():
            column = columns.setdefault(name, [None] * len(place))
            if isinstance(value, tuple):
                column[row] = tuple(known.setdefault(each, each) for each in value)
            else:
                column[row] = value
    has_sections = any("#" in each for each in doc_ids)
    return DocumentRows(
        [ids[row] for row in row_of],
        list(corpus.titles),
        [int(each.partition("#")[2] or 0) for each in doc_ids] if has_sections else None,
        row_of,
        {name: each for name, each in columns.items() if _says_something(name, each)},
    )


def _says_something(name: str, values: list[Any]) -> bool:
    """Whether a column is shown: not if it is empty, or if all articles are of one language."""
    present = {value for value in values if value is not None}
    return len(present) > (name == "language")


def original_id(article: Article) -> int | str:
    """Return the id as it was given: page ids of other than numbers are made from it."""
    if article.page_id < 0:
        for value in (*article.columns.values(), article.title):
            if isinstance(value, str) and made_page_id(value) == article.page_id:
                return value
    return article.page_id


def _articles(run: LoadedRun) -> Iterator[Article]:
    if not run.settings.articles:
        return
    try:
        yield from run.store
    except (CorpusFormatError, OSError) as error:
        logger.warning("documents are without columns: %s", error)
