"""Tables of Parquet as rows, one file or a folder of them, a part of a row group at a time.

The layouts of wikimedia/wikipedia (id, url, title, text) and of Wikimedia's structured snapshots
are known by the names of their columns. Columns of lists and objects are not read, but those that a
structured snapshot's text is made of.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from corpora.articles.article import Article
from corpora.errors import CorpusFormatError
from corpora.files import PathLike
from corpora.inputs.rows import RowReader
from corpora.inputs.structured import NESTED
from corpora.inputs.table_files import articles_of_files, check_columns, table_files
from corpora.optional_module import of_pyarrow

ENDINGS = (".parquet", ".pq")
MAGIC = b"PAR1"
ROWS = 64  # Rows that are Python's objects at a time
READ_BYTES = 1 << 20  # Bytes of a column that are read at a time


class ParquetTable:
    """Rows of one or several files of Parquet, which have the same columns.

    `path` is a file, or a folder with files that end in .parquet, read in the order of their names.
    Raises MissingExtraError if pyarrow is missing; OSError if a file cannot be read;
    CorpusFormatError, naming the file, if one is cut short, damaged or has other columns.
    """

    def __init__(self, path: PathLike) -> None:
        self._parquet = of_pyarrow("pyarrow.parquet")
        self.path = Path(path)
        self.files = table_files(self.path, ENDINGS)
        if not self.files:
            raise CorpusFormatError(f"{path}: no file in this folder ends in .parquet")
        self._schema = self._open(self.files[0]).schema_arrow
        self.columns = tuple(self._schema.names)
        for i, name in enumerate(self.columns):
            if name in self.columns[:i]:
                raise CorpusFormatError(
                    f"{self.files[0]}: two columns are called {name!r}; give each its own name"
                )

    def reader(self, text_column: str, id_column: str, language: str) -> RowReader:
        """Return what makes articles of the rows. Raises CorpusFormatError also if another file
        lacks a column that is used.
        """
        types = of_pyarrow("pyarrow.types")
        strings = [field.name for field in self._schema if _is_string(types, field.type)]
        reader = RowReader(
            self.columns, text_column, id_column, language, str(self.path), strings=strings
        )
        for file in self.files[1:]:
            check_columns(reader, file, self._open(file).schema_arrow.names, self.files[0])
        return reader

    def articles(self, reader: RowReader) -> Iterator[Article]:
        """Yield the articles of all files."""
        rows = (
            (file, number, row)
            for file in self.files
            for number, row in enumerate(self._rows(file, reader), 1)
        )
        yield from articles_of_files(reader, self.path, rows, "row")

    def _rows(self, file: Path, reader: RowReader) -> Iterator[dict[str, object]]:
        table = self._open(file)
        try:
            names = self._names(table.schema_arrow, reader)
            n_rows = 0
            for batch in _batches(table, names, file):
                rows = _plain_rows(batch, file, n_rows)
                n_rows += len(rows)
                yield from rows
        finally:
            table.close()

    def _names(self, schema: Any, reader: RowReader) -> list[str]:
        """Names of the columns to read: those of single values, and those of the text."""
        types = of_pyarrow("pyarrow.types")
        wanted = {*reader.text_columns, reader.id_column, *(NESTED if reader.is_structured else ())}
        return [
            field.name
            for field in schema
            if field.name in wanted or not types.is_nested(_value_type(types, field.type))
        ]

    def _open(self, file: Path) -> Any:
        arrow = of_pyarrow()
        if not file.stat().st_size:
            raise CorpusFormatError(f"{file}: the file is empty, so it is no Parquet file")
        try:
            return self._parquet.ParquetFile(file, buffer_size=READ_BYTES, pre_buffer=False)
        except (arrow.ArrowException, OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise _damaged(file, error) from error


def _batches(table: Any, names: Sequence[str], file: Path) -> Iterator[Any]:
    arrow = of_pyarrow()
    try:
        yield from table.iter_batches(batch_size=ROWS, columns=list(names), use_threads=False)
    except (arrow.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise _damaged(file, error) from error


def _plain_rows(batch: Any, file: Path, before: int) -> list[dict[str, object]]:
    """Rows of a batch as Python's objects; an error names the row, counted after `before`."""
    try:
        rows: list[dict[str, object]] = _in_microseconds(batch).to_pylist()
    except (ValueError, OverflowError) as error:
        if batch.num_rows > 1:
            rows = []
            for i in range(batch.num_rows):
                rows += _plain_rows(batch.slice(i, 1), file, before + i)
            return rows
        what = "not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        column = _faulty_column(batch)
        raise CorpusFormatError(f"{file}, row {before + 1}, column {column!r}: {what}") from error
    return rows


def _faulty_column(batch: Any) -> str:
    """Name of the first column that cannot be made Python's objects."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            column.to_pylist()
        except (ValueError, OverflowError):
            return str(name)
    return ""


def _in_microseconds(batch: Any) -> Any:
    """Return `batch` with times of microseconds, as Python's have no nanoseconds."""
    arrow, types = of_pyarrow(), of_pyarrow("pyarrow.types")
    for i, field in enumerate(batch.schema):
        kind = field.type
        if types.is_timestamp(kind) and kind.unit == "ns":
            kind = arrow.timestamp("us", kind.tz)
        elif types.is_duration(kind) and kind.unit == "ns":
            kind = arrow.duration("us")
        elif types.is_time64(kind) and kind.unit == "ns":
            kind = arrow.time64("us")
        else:
            continue
        column = batch.column(i).cast(kind, safe=False)
        batch = batch.set_column(i, arrow.field(field.name, kind), column)
    return batch


def _is_string(types: Any, kind: Any) -> bool:
    kind = _value_type(types, kind)
    is_view = getattr(types, "is_string_view", lambda _: False)
    return bool(types.is_string(kind) or types.is_large_string(kind) or is_view(kind))


def _value_type(types: Any, kind: Any) -> Any:
    return kind.value_type if types.is_dictionary(kind) else kind


def _damaged(file: Path, error: Exception) -> CorpusFormatError:
    why = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return CorpusFormatError(
        f"{file}: the Parquet file is cut short or damaged ({why[:200]}); get it again"
    )
