"""Lists of texts and data frames in memory as articles, one a row, by `RowReader`.

pandas and polars are imported by whoever made the frame, and never here.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.articles.article import Article
from corpora.errors import CorpusFormatError
from corpora.inputs.rows import RowReader

TEXT = "text"


@dataclass(frozen=True)
class Rows:
    """Table in memory, to be read once."""

    source: str  # Name of the table in messages
    columns: tuple[str, ...]
    strings: tuple[str, ...]  # Columns that hold strings
    rows: Iterable[Mapping[str, object]]


def articles_of(
    texts: Any, text_column: str = "", id_column: str = "", language: str = "en"
) -> Iterator[Article]:
    """Yield an article for each row; for the columns see `RowReader`.

    Raises CorpusFormatError if a column is not there or a row is malformed; TypeError if `texts` is
    none of what `rows_of` takes.
    """
    table = rows_of(texts)
    reader = RowReader(
        table.columns, text_column, id_column, language, table.source, strings=table.strings
    )
    return reader.articles(table.rows)


def rows_of(texts: Any) -> Rows:
    """Return the rows of a data frame or series of pandas or polars, or of an iterable.

    An iterable holds texts, or a mapping for each row; a mapping holds columns by their names.
    Raises TypeError for anything else; CorpusFormatError if two columns have the same name, or
    columns differ in length.
    """
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    if pandas is not None and isinstance(texts, pandas.DataFrame):
        columns = [texts.iloc[:, i] for i in range(texts.shape[1])]
        strings = [_holds_strings_of_pandas(each) for each in columns]
        return _of_columns("the data frame", list(texts.columns), columns, strings)
    if polars is not None and isinstance(texts, polars.LazyFrame):
        raise TypeError("a LazyFrame has no rows yet: give frame.collect()")
    if polars is not None and isinstance(texts, polars.DataFrame):
        columns = texts.get_columns()
        strings = [_holds_strings_of_polars(polars, each) for each in columns]
        return _of_columns("the data frame", texts.columns, columns, strings)
    if isinstance(texts, Mapping):
        for name, each in texts.items():
            if isinstance(each, str | bytes | Mapping) or not isinstance(each, Iterable):
                raise TypeError(
                    "expected a mapping of columns, each a list with a value for each row, found "
                    f"{type(each).__name__} under {str(name)!r}"
                )
        columns = [list(each) for each in texts.values()]
        strings = [any(isinstance(value, str) for value in each) for each in columns]
        return _of_columns("the columns", list(texts), columns, strings)
    if isinstance(texts, str | bytes | Path) or not isinstance(texts, Iterable):
        raise TypeError(
            "expected texts, such as a list of strings or a data frame of pandas or polars, found "
            f"{type(texts).__name__}"
        )
    n_dimensions = getattr(texts, "ndim", 1)
    if n_dimensions != 1:
        raise TypeError(f"expected one text a row, found an array of {n_dimensions} dimensions")
    return _of_iterable(texts)


def _of_iterable(texts: Iterable[Any]) -> Rows:
    if isinstance(texts, Sequence) and texts and isinstance(texts[0], Mapping):
        for i, row in enumerate(texts, 1):
            if not isinstance(row, Mapping):
                kind = type(row).__name__
                raise CorpusFormatError(
                    f"the rows, row {i}: expected a mapping of columns as in row 1, found {kind}"
                )
        columns = dict.fromkeys(str(name) for row in texts for name in row)
        strings = dict.fromkeys(n for row in texts for n, v in row.items() if isinstance(v, str))
        return Rows("the rows", tuple(columns), tuple(strings), texts)
    return Rows("the texts", (TEXT,), (TEXT,), ({TEXT: text} for text in texts))


def _of_columns(
    source: str, names: Sequence[object], columns: Sequence[Any], strings: Sequence[bool]
) -> Rows:
    called = [str(name) for name in names]
    twice = next((name for i, name in enumerate(called) if name in called[:i]), None)
    if twice is not None:
        raise CorpusFormatError(f"{source}: two columns are called {twice!r}; rename one")
    lengths = sorted({len(each) for each in columns})
    if len(lengths) > 1:
        raise CorpusFormatError(
            f"{source} differ in length: {lengths[0]:,} and {lengths[-1]:,} rows"
        )
    rows = (dict(zip(called, row, strict=True)) for row in zip(*columns, strict=True))
    are_strings = (name for name, holds in zip(called, strings, strict=True) if holds)
    return Rows(source, tuple(called), tuple(are_strings), rows)


def _holds_strings_of_pandas(column: Any) -> bool:
    """Whether a series holds strings: by its type or, for objects and categories, by its first."""
    if isinstance(column.dtype, sys.modules["pandas"].CategoricalDtype):
        column = column.cat.categories.to_series()
    if column.dtype.kind != "O":
        return False
    return isinstance(next(iter(column.dropna()), None), str)


def _holds_strings_of_polars(polars: Any, column: Any) -> bool:
    return column.dtype in (polars.String, polars.Categorical, polars.Enum)
