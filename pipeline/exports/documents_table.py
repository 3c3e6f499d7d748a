"""Table of the topics of documents, a row for each document, in memory of a block of rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from corpora import part_of
from corpora.array_file import release
from corpora.files import atomic_write
from corpora.optional_module import of_pyarrow
from corpora.row_blocks import row_blocks
from corpora.string_column import StringColumn
from models.parallel import effective_n_jobs
from pipeline.errors import UsageError
from pipeline.exports.csv_file import described_endings, is_csv, open_csv
from pipeline.exports.row_columns import RowColumns, joined
from pipeline.exports.topics_table import warn_of_apostrophes
from pipeline.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from corpora.articles.article import Value
    from corpora.files import PathLike
    from models.arrays import Floats
    from pipeline.runs.loaded_run import LoadedRun

COLUMNS = ("id", "title", "part", "tokens")
"""First columns; those that came along with the texts follow, then `topic_0`, `topic_1`, …"""


@dataclass(frozen=True)
class DocumentBlock:
    """Some documents, one after the other in the run's corpus."""

    ids: Sequence[str]
    titles: Sequence[str]
    parts: tuple[str, ...]  # "train", "validation" or "test"
    n_tokens: NDArray[np.int64]  # (n,), tokens that are in the vocabulary
    columns: list[list[Value]]  # Those that came along with the texts, each of n values
    shares: Floats  # (n, K), rows sum to 1


def document_blocks(
    run: LoadedRun, n_jobs: int = -1, columns: RowColumns | None = None
) -> Iterator[DocumentBlock]:
    """Yield all documents of a run with the shares of topics in each, a block at a time.

    The number of threads `n_jobs` changes no bit. A document without tokens has the shares that
    the prior gives it. `columns` that came along with the texts are taken from the run's store.
    """
    columns = RowColumns(run) if columns is None else columns
    corpus, settings, topics = run.corpus, run.settings, run.model.topics
    ids, titles = StringColumn.of(corpus.doc_ids), StringColumn.of(corpus.titles)
    n_threads = effective_n_jobs(n_jobs)
    for first, counts in row_blocks(corpus.counts):
        some = slice(first, first + counts.shape[0])
        yield DocumentBlock(
            ids[some],
            titles[some],
            tuple(part_of(each, settings.validation, settings.test) for each in ids[some]),
            np.asarray(counts.sum(axis=1, dtype=np.int64)).ravel(),
            columns.take(ids[some]),
            topics.proportions(counts, n_jobs=n_threads),
        )
        release(ids.data, titles.data)


def check_documents_path(path: PathLike) -> None:
    """Raise UsageError if the name does not tell a format; MissingExtraError without pyarrow."""
    if _is_parquet(path):
        of_pyarrow()
    elif not is_csv(path):
        raise UsageError(
            f"the name {path} does not give the format: it must end in .parquet, or in "
            f"{described_endings()}"
        )


def write_documents(run: LoadedRun, path: PathLike, n_jobs: int = -1) -> dict[str, int]:
    """Write the table as CSV, TSV or Parquet, as the name ends, and return its sizes.

    The file appears whole or not at all; a block of documents is in memory at a time. Parquet holds
    texts as they are and several values as a list, CSV texts as `pipeline.exports.csv_file` says
    and several values with | between them. Raises UsageError if the name does
    not tell a format; MissingExtraError if Parquet is asked for without pyarrow; OSError if the
    file cannot be written.
    """
    check_documents_path(path)
    n_topics, n_docs = run.model.topics.n_topics, run.corpus.n_docs
    columns = RowColumns(run)
    shares = tuple(f"topic_{k}" for k in range(n_topics))
    with Progress("topics of documents", n_docs, "documents") as progress:
        blocks = _counted(document_blocks(run, n_jobs, columns), progress)
        if _is_parquet(path):
            _write_parquet(blocks, path, columns, shares)
        else:
            _write_csv(blocks, path, (*COLUMNS, *columns.names, *shares))
    return {"documents": n_docs, "topics": n_topics}


def _counted(blocks: Iterator[DocumentBlock], progress: Progress) -> Iterator[DocumentBlock]:
    for block in blocks:
        yield block
        progress.update(len(block.ids))


def _write_csv(blocks: Iterator[DocumentBlock], path: PathLike, header: tuple[str, ...]) -> None:
    with open_csv(path, header) as table:
        for block in blocks:
            along = ([joined(v) if isinstance(v, tuple) else v for v in c] for c in block.columns)
            columns = block.ids, block.titles, block.parts, block.n_tokens.tolist(), *along
            table.write_rows(
                (*row, *shares.tolist())
                for *row, shares in zip(*columns, block.shares, strict=True)
            )
    warn_of_apostrophes(path, table.n_quoted)


def _write_parquet(
    blocks: Iterator[DocumentBlock], path: PathLike, columns: RowColumns, shares: tuple[str, ...]
) -> None:
    arrow, parquet = of_pyarrow(), of_pyarrow("pyarrow.parquet")
    kind_of = {
        str: arrow.string(),
        int: arrow.int64(),
        float: arrow.float64(),
        bool: arrow.bool_(),
        tuple: arrow.list_(arrow.string()),
    }
    along = zip(columns.names, columns.kinds.values(), strict=True)
    fields = [arrow.field(name, kind_of[str], nullable=False) for name in COLUMNS[:-1]]
    fields.append(arrow.field(COLUMNS[-1], kind_of[int], nullable=False))
    fields += [arrow.field(_plain(name), kind_of[kind]) for name, kind in along]
    fields += [arrow.field(name, kind_of[float], nullable=False) for name in shares]
    schema = arrow.schema(fields)
    with (
        atomic_write(path) as stream,
        parquet.ParquetWriter(stream, schema, compression="zstd") as writer,
    ):
        for block in blocks:
            texts = (list(map(_plain, column)) for column in (block.ids, block.titles))
            others = (list(map(_plain, column)) for column in block.columns)
            numbers = np.ascontiguousarray(block.shares.T)
            arrays = [*texts, block.parts, block.n_tokens, *others, *numbers]
            typed = [arrow.array(a, f.type) for a, f in zip(arrays, fields, strict=True)]
            writer.write_table(arrow.Table.from_arrays(typed, schema=schema))


def _plain(value: Value) -> Value:
    """Return the value; a text has question marks for halves of surrogate pairs."""
    if isinstance(value, tuple):
        return tuple(each.encode(errors="replace").decode() for each in value)
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def _is_parquet(path: PathLike) -> bool:
    return Path(path).suffix.lower() == ".parquet"
