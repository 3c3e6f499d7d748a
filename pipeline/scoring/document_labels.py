"""Labels of scored documents: a column that came along with them, or a table of id and label."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from corpora import Article, ArticleStore, article_of
from corpora.formats.lines import shown
from corpora.inputs.rows import is_of_wikipedia
from models.described.document_shares import only_number_rows
from models.described.tables import Table, place_of
from pipeline.errors import UsageError
from pipeline.runs.document_rows import OF_ARTICLES, original_id
from pipeline.runs.loaded_run import LoadedRun
from pipeline.settings import EvaluateSettings
from pipeline.text.held_out import HeldOut, documents_at
from pipeline.text.inputs import texts_store

ID = ("id", "doc_id", "document", "doc", "document_id", "name")
LABEL = ("label", "labels", "category", "class", "target")


def scored_store(settings: EvaluateSettings, runs: Sequence[LoadedRun]) -> ArticleStore | None:
    """Return the store of the scored documents; None if they are counts or it is gone."""
    store = None
    if settings.articles:
        store = ArticleStore(settings.articles)
    elif (named := documents_at(settings)) is not None:
        if named.kind != "counts":
            is_store = named.kind == "store"
            store = ArticleStore(named.path if is_store else texts_store(named, settings.runs))
    elif not settings.counts and runs and not runs[0].settings.counts:
        store = runs[0].store
    return store if store is not None and store.exists else None


def names_of(documents: HeldOut, store: ArticleStore | None) -> list[tuple[str, ...]]:
    """Return the names (D,) by which other programs may know each document.

    They are its id, that of its article, this one without the language, and the id as it was given.
    """
    given: dict[str, str] = {}
    wanted = set(documents.article_of)
    for each in _of(store, wanted):
        given[each.document_id] = str(original_id(each))
    found = []
    for doc_id, article in zip(documents.corpus.doc_ids, documents.article_of, strict=True):
        number = article.partition(":")[2] or article
        found.append(tuple(dict.fromkeys((doc_id, article, number, given.get(article, number)))))
    return found


def labels_of(
    settings: EvaluateSettings,
    documents: HeldOut,
    store: ArticleStore | None,
    names: Sequence[tuple[str, ...]],
) -> list[str | None]:
    """Return the label (D,) of each document; None where there is none.

    Of several values, such as categories, the one that most documents have is taken.

    Raises UsageError if there is neither such a file nor such a column, or fewer than two labels;
    CorpusFormatError, with the line, if the file is malformed.
    """
    if Path(settings.labels).is_file():
        labels = _of_file(settings.labels, names, has_pages=_has_pages(store))
    else:
        labels = _of_column(settings.labels, documents, store)
    _check_differ(settings.labels, labels, names[0][-1])
    return labels


def _check_differ(source: str, labels: Sequence[str | None], an_id: str) -> None:
    """Raise UsageError unless two of the labels are different; `an_id` is that of a document."""
    known = [label for label in labels if label is not None]
    if len(set(known)) > 1:
        return
    if not known:
        raise UsageError(
            f"--labels {source}: none of the {len(labels):,} scored documents has a label: do its "
            f"ids fit the documents', such as {an_id}?"
        )
    raise UsageError(
        f"--labels {source}: {len(known):,} of {len(labels):,} scored documents have a label, all "
        f"{shown(known[0])}: give two labels or more"
    )


def _has_pages(store: ArticleStore | None) -> bool:
    """Whether documents are pages of a Wikipedia, as the first of them says."""
    first = None if store is None else next(iter(store), None)
    return first is not None and is_of_wikipedia(first)


def _of_file(path: str, names: Sequence[tuple[str, ...]], *, has_pages: bool) -> list[str | None]:
    """Read a table of id and label.

    Ids that only number the rows are no ids of pages: then rows are the documents in their order.
    """
    table = Table.at(path)
    header = table.peek()[0].fields
    if len(header) < 2:
        raise table.error(1, "expected two columns, id and label, found one")
    known = place_of(header, ID), place_of(header, LABEL)
    id_column, label_column = known[0] or 0, known[1] if known[1] is not None else 1
    if label_column == id_column and known[0] is None:
        id_column = 1 - label_column
    elif label_column == id_column:
        label_column = 1 - id_column
    label_of: dict[str, str] = {}
    rows: list[tuple[str, str]] = []
    for row in islice(table.rows(), int(known != (None, None)), None):
        if len(row.fields) <= max(id_column, label_column):
            raise table.error(row.line, f"expected {len(header)} fields, found {len(row.fields)}")
        document, label = row.fields[id_column], row.fields[label_column]
        rows.append((document, label))
        if label and label_of.setdefault(document, label) != label:
            raise table.error(row.line, f"document {document!r} has two labels: leave one out")
    if has_pages and only_number_rows([document for document, _ in rows]):
        if len(rows) == len(names):
            return [label or None for _, label in rows]
        raise table.error(
            1,
            f"its ids only number {len(rows):,} rows, and {len(names):,} pages are scored: give "
            f"their ids, as {names[0][0]}",
        )
    return [next((label_of[each] for each in some if each in label_of), None) for some in names]


def _of_column(column: str, documents: HeldOut, store: ArticleStore | None) -> list[str | None]:
    if store is None:
        raise UsageError(
            f"--labels {column}: there is no such file, and no column of documents given as counts "
            "or whose store is gone: give a table of id and label"
        )
    values: dict[str, tuple[str, ...]] = {}
    columns: set[str] = set()
    for article in _of(store, set(documents.article_of)):
        columns |= {*OF_ARTICLES, *article.columns}
        own = getattr(article, column) if column in OF_ARTICLES else article.columns.get(column)
        if isinstance(own, tuple):
            values[article.document_id] = tuple(map(str, own))
        elif own is not None and str(own):
            values[article.document_id] = (str(own),)
    if column not in columns:
        raise UsageError(
            f"--labels {column}: there is no such file or column: the documents have "
            f"{', '.join(sorted(columns)) or 'no columns'}"
        )
    n_of = Counter(value for some in values.values() for value in set(some))
    best = {
        article: min(some, key=lambda value: (-n_of[value], value))
        for article, some in values.items()
        if some
    }
    return [best.get(article_of(doc_id)) for doc_id in documents.corpus.doc_ids]


def _of(store: ArticleStore | None, wanted: set[str]) -> Iterator[Article]:
    if store is not None:
        yield from (article for article in store if article.document_id in wanted)
