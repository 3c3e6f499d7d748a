"""Tables that Python gets: a data frame where pandas is installed, else a structured array."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from models.html_table import html_table

SHOWN_ROWS, SHOWN_COLUMNS = 20, 20  # Most that a notebook shows of an array


def as_table(columns: Mapping[str, Any], index: Any = None) -> Any:
    """Return columns of equal length as a data frame with that index, or as a `Table`."""
    try:
        import pandas as pd  # type: ignore[import-untyped] # noqa: PLC0415 - optional
    except ImportError:
        return Table.of(columns)
    return pd.DataFrame(dict(columns), index=index)


class Table(np.ndarray):
    """Structured array (n_rows,), which a notebook shows as a table."""

    @classmethod
    def of(cls, columns: Mapping[str, Sequence[Any]]) -> "Table":
        """Make a table of columns; strings, and numbers with gaps, become objects."""
        arrays = {name: _column(values) for name, values in columns.items()}
        n_rows = len(next(iter(arrays.values()), ()))
        table = np.empty(n_rows, dtype=[(name, each.dtype) for name, each in arrays.items()])
        for name, each in arrays.items():
            table[name] = each
        return table.view(cls)

    def _repr_html_(self) -> str:
        names = list(self.dtype.names or ())[:SHOWN_COLUMNS]
        rows = np.atleast_1d(self)
        shown = [[_shown(row[name]) for name in names] for row in rows[:SHOWN_ROWS]]
        n_hidden = len(self.dtype.names or ()) - len(names)
        caption = f"{rows.size:,} rows"
        if n_hidden > 0:
            caption += f"; {n_hidden:,} more columns"
        return html_table(names, shown, caption)


def _column(values: Any) -> np.ndarray[Any, Any]:
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return values
    values = list(values)
    kinds = {type(value) for value in values}
    for kind in (bool, int, float):
        if kinds == {kind}:
            return np.asarray(values)
    column = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):  # tuples of the same length would become a matrix
        column[i] = value
    return column


def _shown(value: Any) -> object:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return f"{value:.4g}" if isinstance(value, float) else value
