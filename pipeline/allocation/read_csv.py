"""CSV files of `allocate`: a table of records, or a matrix of counts.

Records: a header; then a line for each observation with its values. An empty field is a value that
was not observed. A last column called `count` is the number of observations of a line.

    colour,size,count
    red,small,3
    red,,1

A matrix: numbers, with or without a line of names of the columns and a first field that names the
row. `_layout_of` tells the two apart; `--layout` decides where it cannot.
"""

import csv
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from corpora.formats.lines import LineReader, shown
from models.allocation.cell_counts import MISSING, CellCounts
from pipeline.allocation.count_table import CountTable, axis_names, in_order, is_number
from pipeline.errors import UsageError

COUNT = "count"
MAX_COUNT = 2**53
Row = tuple[int, list[str]]  # Number of a line, and its fields


def read_csv(path: str, layout: str = "auto") -> CountTable:
    """Read the counts in a CSV file.

    Raises OSError if the file is missing or cannot be read; CorpusFormatError if a line has too few
    or too many fields, or a field is no count; the message names the line; UsageError if the file
    can be a table of records as well as a matrix.
    """
    reader = LineReader(path)
    rows = list(_rows(reader))
    if not rows:
        raise reader.error("there is nothing in the file", 1)
    width = len(rows[0][1])
    for line, fields in rows:
        if len(fields) != width:
            raise reader.error(
                f"expected {width} fields as in the first line, found {len(fields)}", line
            )
    if layout == "auto":
        layout = _layout_of(path, rows)
    return _records(reader, rows) if layout == "records" else _matrix(reader, rows)


def _rows(reader: LineReader) -> Iterator[Row]:
    """Lines that are not empty, split at commas, semicolons or tabs."""
    lines = reader.text_lines()
    first = next(lines, None)
    if first is None:
        return
    delimiter = next((each for each in ",\t;" if each in first[1]), ",")

    def text() -> Iterator[str]:
        for _, line in (first, *lines):
            yield line + "\n"

    parsed: Any = csv.reader(text(), delimiter=delimiter, strict=True)
    try:
        for fields in parsed:
            stripped = [" ".join(field.split()) for field in fields]
            if any(stripped) or len(stripped) > 1:
                yield parsed.line_num, stripped
    except csv.Error as error:
        raise reader.error(f"not a line of CSV: {error}", parsed.line_num) from error


def _layout_of(path: str, rows: Sequence[Row]) -> str:
    """Layout of a file, by the first of these rules that fits.

    1. The first line ends in `count`: records.
    2. The first line is all numbers: a matrix without names.
    3. The first field of the file is empty: a matrix with names of rows and columns.
    4. A field outside the first line and the first column is no number, or there is one column
       only: records.
    5. There are three columns or more, none empty, and the first holds a different name in each
       line: a matrix with names of rows.
    6. A name is repeated in the first column: records.
    """
    header, body = rows[0][1], [fields for _, fields in rows[1:]]
    if header[-1].lower() == COUNT:
        return "records"
    if all(map(is_number, header)) or (not header[0] and len(header) > 1):
        return "matrix"
    rest = [field for fields in body for field in fields[1:]]
    if any(field and not is_number(field) for field in rest):
        return "records"
    names = [fields[0] for fields in body]
    if not any(map(is_number, names)):
        if len(header) == 1 or len(set(names)) < len(names):
            return "records"
        if len(header) > 2 and all(rest) and all(names):
            return "matrix"
    raise UsageError(
        f"{path} can be a table of records, whose values are numbers, or a matrix of counts: say "
        "--layout records or --layout matrix"
    )


def _records(reader: LineReader, rows: Sequence[Row]) -> CountTable:
    (line, header), lines = rows[0], rows[1:]
    has_count = header[-1].lower() == COUNT
    axes = tuple(header[:-1] if has_count else header)
    if not axes:
        raise reader.error("expected columns beside 'count', found none", line)
    for n, name in enumerate(axes):
        if not name or not name.isprintable():
            raise reader.error(f"column {n + 1} needs a name, found {shown(name)}", line)
        if name in axes[:n]:
            raise reader.error(f"two columns are called {name!r}: rename one", line)
    if not lines:
        raise reader.error("expected records after the header, found none", line)
    counts = np.ones(len(lines), dtype=np.int64)
    if has_count:
        counts[:] = [_count(reader, at, COUNT, fields[-1]) for at, fields in lines]
    labels, columns = [], []
    for n, name in enumerate(axes):
        column = [fields[n] for _, fields in lines]
        values = in_order(set(column) - {""})
        if not values:
            raise reader.error(f"column {name!r} is empty in every record: leave it out", line)
        number = {label: value for value, label in enumerate(values)} | {"": MISSING}
        labels.append(values)
        columns.append([number[label] for label in column])
    cells = np.array(columns, dtype=np.int64).T
    told = (cells != MISSING).any(axis=1)
    shape = tuple(map(len, labels))
    table = CellCounts(cells[told], counts[told], shape)
    return CountTable(str(reader.path), "records", axes, tuple(labels), table)


def _matrix(reader: LineReader, rows: Sequence[Row]) -> CountTable:
    """Parse a matrix with or without names.

    Rows have names if a first field below the first line is no number. Columns have names if a
    field of the first line after the first is no number, if the first field is empty, or if no row
    has a name and the first field is no number.
    """
    first = rows[0][1]
    has_corner = not first[0] and len(first) > 1
    names_rows = has_corner or any(not is_number(fields[0]) for _, fields in rows[1:])
    names_columns = has_corner or not all(map(is_number, first[1 if names_rows else 0 :]))
    body = rows[1:] if names_columns else rows
    start = 1 if names_rows else 0
    if not body or len(first) == start:
        raise reader.error("expected a matrix of counts, found names only", rows[0][0])
    column_names = (
        first[start:] if names_columns else [str(n + 1) for n in range(len(first) - start)]
    )
    row_names = [fields[0] if names_rows else str(n + 1) for n, (_, fields) in enumerate(body)]
    for what, names in (("columns", column_names), ("rows", row_names)):
        twice = next((name for n, name in enumerate(names) if name in set(names[:n])), None)
        if twice is not None:
            raise reader.error(f"two {what} are called {twice!r}: rename one", rows[0][0])
    values = np.array(
        [
            [
                _count(reader, line, f"column {name!r}", field)
                for name, field in zip(column_names, fields[start:], strict=True)
            ]
            for line, fields in body
        ],
        dtype=np.int64,
    )
    cells = np.argwhere(values)
    counts = CellCounts(cells, values[tuple(cells.T)], values.shape)
    labels = (tuple(row_names), tuple(column_names))
    return CountTable(str(reader.path), "matrix", axis_names(2), labels, counts)


def _count(reader: LineReader, line: int, what: str, field: str) -> int:
    if not field:
        raise reader.error(f"{what} is empty: write 0 where nothing was counted", line)
    value = float(field) if is_number(field) else -1.0
    if value < 0 or not value.is_integer() or value >= MAX_COUNT:
        raise reader.error(
            f"{what} must be a whole number, not negative and below 2⁵³, found {shown(field)}", line
        )
    return int(value)
