"""Topics of new texts or rows, in the run's own words."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from corpora import Article, ArticleStore, CorpusFormatError
from corpora.inputs.frames import rows_of
from corpora.inputs.matrices import corpus_of
from corpora.inputs.rows import RowReader
from evaluation.arrays import Floats, Ints
from pipeline.runs.document_rows import original_id
from pipeline.runs.infer import in_words_of
from pipeline.runs.loaded_run import LoadedRun
from pipeline.text.documents import count_with

TEXTS = "texts"
"""Entry of the provenance: the columns that a run's texts were read from, and their language."""
WORTH_A_POOL = 2000  # Texts from which processes pay: each loads a spaCy model


@dataclass(frozen=True, eq=False)
class Inferred:
    """Rows (n,) and the topics in them; a row without a known word has the prior's shares."""

    ids: list[Any]
    titles: list[str]
    n_tokens: Ints  # (n,), known words
    n_unknown: Ints  # (n,)
    columns: dict[str, list[Any]]  # Columns that came along; None where missing
    shares: Floats  # (n, K)


def infer_rows(
    run: LoadedRun, texts: Any, text_column: str, id_column: str, n_threads: int
) -> Inferred:
    """Return the shares of topics in every row; for texts and columns see `articles_of`.

    Columns that are not named are those of training, if the texts have them. Raises UsageError if
    the run learned from counts.
    """
    _ = run.text_settings  # a run on counts has none
    table = rows_of(texts)
    known = run.provenance.get(TEXTS) or run.provenance.get("input", {})
    text_column = text_column or _if_in(table.columns, known.get("text_column", ""))
    id_column = id_column or _if_in(table.columns, known.get("id_column", ""))
    reader = RowReader(
        table.columns,
        text_column,
        id_column,
        known.get("language", "en"),
        table.source,
        strings=table.strings,
    )
    n_rows, rows, ids, titles = 0, [], [], []
    columns: dict[str, dict[int, Any]] = {}

    def read() -> Iterator[Article]:
        nonlocal n_rows
        for number, row in enumerate(table.rows, 1):
            n_rows = number
            article = reader.article(number, row)
            if article is not None:
                rows.append(number - 1)
                ids.append(original_id(article))
                titles.append(article.title)
                for name, value in article.columns.items():
                    columns.setdefault(name, {})[number - 1] = value
                yield article

    with tempfile.TemporaryDirectory(prefix="wikitopics-", ignore_cleanup_errors=True) as folder:
        store = ArticleStore(Path(folder) / "texts")
        n_texts = store.append(read())
        model = run.model
        counts: Any = sparse.csr_array((n_rows, len(model.vocabulary)), dtype=np.int32)
        n_unknown = np.zeros(n_rows, dtype=np.int64)
        if n_texts:
            # Each row is one document, even if the run's documents are sections.
            settings = replace(run.settings, documents="article")
            n_processes = n_threads if n_texts >= WORTH_A_POOL else 1
            corpus = count_with(run.directory, settings, store, model.vocabulary, n_processes)
            place = np.full(n_rows, -1)
            place[rows] = np.arange(n_texts)
            counts = _spread(corpus.counts, place)
            n_unknown[rows] = corpus.n_unknown
    shares = model.topics.proportions(counts, n_jobs=n_threads)
    place_of = {row: i for i, row in enumerate(rows)}
    return Inferred(
        [ids[place_of[row]] if row in place_of else row + 1 for row in range(n_rows)],
        [titles[place_of[row]] if row in place_of else "" for row in range(n_rows)],
        np.asarray(counts.sum(axis=1), dtype=np.int64),
        n_unknown,
        {name: [of.get(row) for row in range(n_rows)] for name, of in columns.items()},
        shares,
    )


def infer_counts(
    run: LoadedRun, counts: Any, vocabulary: Sequence[str] | None, n_threads: int
) -> Inferred:
    """Return the shares of topics in every row of counts in memory, for which see `corpus_of`. A
    matrix without words has the columns of the run. Raises as `corpus_of`.
    """
    own = run.model.vocabulary
    if (
        vocabulary is None
        and not hasattr(counts, "vocabulary")
        and not hasattr(counts, "var_names")
    ):
        vocabulary = own
    corpus = corpus_of(counts, vocabulary)
    if not corpus.n_docs:
        raise CorpusFormatError("the counts have no rows")
    parts = list(in_words_of(run, corpus, "the counts"))
    shares = [run.model.topics.proportions(each.counts, n_jobs=n_threads) for each in parts]
    return Inferred(
        list(corpus.doc_ids),
        list(corpus.titles),
        np.concatenate([each.counts.sum(axis=1, dtype=np.int64) for each in parts]),
        np.concatenate([each.n_unknown for each in parts]),
        {},
        np.concatenate(shares),
    )


def _spread(counts: sparse.csr_array, place: Ints) -> sparse.csr_array:
    """Return counts (n, V) whose rows are those at `place` (n,), and empty for -1."""
    lengths = np.diff(counts.indptr)
    of_row = np.where(place >= 0, lengths[place], 0)
    start = np.concatenate(([0], np.cumsum(of_row)))
    return sparse.csr_array(
        (counts.data, counts.indices, start), shape=(len(place), counts.shape[1])
    )


def _if_in(columns: tuple[str, ...], name: str) -> str:
    return name if name in columns else ""
