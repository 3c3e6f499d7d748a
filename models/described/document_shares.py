"""Weights of topics in documents, from tables of other programs.

id, topic_0, topic_1, …      a row a document: pandas, R, topica, `topics --documents`
document, topic, gamma       a row for each document and topic: tidytext
document, topic              the one topic of each document: clusters
0  file:/a.txt  0.25  0.75   MALLET's `--output-doc-topics`
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from corpora.errors import CorpusFormatError
from corpora.formats.lines import LineReader, shown
from corpora.formats.mallet_doc_topics import read_doc_topics
from corpora.formats.number_table import is_number
from models.described.tables import TOPIC_NAME, Table, place_of, read_matrix
from models.described.word_lists import OUTLIERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from corpora.files import PathLike
    from models.arrays import Floats

Shares = tuple["Floats", "tuple[str, ...] | None"]
DOCUMENT = ("id", "document", "doc_id", "doc", "document_id", "docname", "name")
TOPIC = ("topic", "topic_id", "cluster")
WEIGHT = ("gamma", "theta", "probability", "prob", "share", "weight", "proportion", "value")


def read_document_shares(path: PathLike, n_topics: int) -> Shares:
    """Read weights (D, K) and ids of documents; None for ids that only number the rows.

    Raises OSError if the file cannot be read; CorpusFormatError, with file and line, if it is no
    such table, or is of another number of topics.
    """
    first = LineReader(path).line() or b""
    if first.startswith((b"#doc", b"0\t")):
        found = read_doc_topics(path)
        if found.doc_topic.shape[1] > n_topics:
            raise _other_number(path, found.doc_topic.shape[1], n_topics)
        missing = n_topics - found.doc_topic.shape[1]  # pairs may leave the last topics out
        sources = tuple(found.sources)
        are_ids = len(set(sources)) == len(sources)
        return np.pad(found.doc_topic, ((0, 0), (0, missing))), sources if are_ids else None
    table = Table.at(path)
    header = table.peek()[0].fields
    document, topic, weight = (place_of(header, names) for names in (DOCUMENT, TOPIC, WEIGHT))
    if topic is not None:
        return _long(table, document, topic, weight, n_topics)
    return _wide(table, header, document, n_topics)


def _long(
    table: Table, document: int | None, topic: int, weight: int | None, n_topics: int
) -> Shares:
    """Read a row for each document and topic, or for each document."""
    rows: list[tuple[str, str, float]] = []
    lines: list[int] = []
    needed = max(topic, document or 0, weight or 0)
    for number, row in enumerate(islice(table.rows(), 1, None)):
        if len(row.fields) <= needed:
            raise table.error(row.line, f"expected {needed + 1} fields, found {len(row.fields)}")
        value = "1" if weight is None else row.fields[weight]
        if not is_number(value) or not np.isfinite(float(value)):
            raise table.error(row.line, f"expected a weight, found {shown(value)}")
        name = str(number) if document is None else row.fields[document]
        rows.append((name, row.fields[topic], float(value)))
        lines.append(row.line)
    if weight is not None and document is not None and len({d for d, _, _ in rows}) == len(rows):
        rows = [(d, k, 1.0) for d, k, _ in rows]  # the weight is that of the one topic
    first = 1 if _begins_with_one({k for _, k, _ in rows} - {OUTLIERS}, n_topics) else 0
    place: dict[str, int] = {}
    for name, _, _ in rows:
        place.setdefault(name, len(place))
    shares = np.zeros((len(place), n_topics))
    for line, (name, k, share) in zip(lines, rows, strict=True):
        if k == OUTLIERS:
            continue
        number = _number_of(k) - first
        if not 0 <= number < n_topics:
            raise table.error(line, f"expected a topic of the {n_topics}, found {shown(k)}")
        shares[place[name], number] += share
    ids = None if document is None else _real_ids(table.path, list(place))
    return shares, ids


def _wide(table: Table, header: Sequence[str], document: int | None, n_topics: int) -> Shares:
    """Read a row a document; columns other than id and topics are skipped."""
    if all(map(is_number, header)):
        matrix = read_matrix(table)
        shares, ids = matrix.values, matrix.rows
        if shares.shape[1] == n_topics + 1 and ids is None:  # the first column may number documents
            shares, ids = shares[:, 1:], [f"{name:g}" for name in shares[:, 0]]
        if shares.shape[1] != n_topics:
            raise _other_number(table.path, shares.shape[1], n_topics)
        return shares, None if ids is None else _real_ids(table.path, ids)
    columns = [i for i, name in enumerate(header) if TOPIC_NAME.fullmatch(name)]
    if len(columns) != n_topics:
        raise _other_number(table.path, len(columns), n_topics)
    names: list[str] = []
    values: list[list[float]] = []
    is_short = 0
    for row in islice(table.rows(), 1, None):
        is_short = len(row.fields) - len(header)  # R leaves the corner above names of rows out
        if is_short not in (0, 1):
            raise table.error(
                row.line,
                f"expected {len(header)} fields as in the first line, found {len(row.fields)}",
            )
        found = [row.fields[i + is_short] for i in columns]
        wrong = next((each for each in found if not is_number(each)), None)
        if wrong is not None or not np.isfinite([float(each) for each in found]).all():
            raise table.error(row.line, f"expected finite weights, found {shown(wrong or 'nan')}")
        values.append([float(each) for each in found])
        names.append(row.fields[(document or 0) if not is_short else 0])
    if not values:
        raise table.error(1, "expected rows of documents, found none")
    has_ids = document is not None or is_short or 0 not in columns
    return np.array(values), _real_ids(table.path, names) if has_ids else None


def _real_ids(path: PathLike, ids: Sequence[str]) -> tuple[str, ...] | None:
    """Return ids; None if R wrote NA for each. Raises CorpusFormatError if one is there twice."""
    if set(ids) == {"NA"}:
        return None
    if len(set(ids)) < len(ids):
        twice = next(each for d, each in enumerate(ids) if each in ids[:d])
        raise CorpusFormatError(f"{path}: document {twice!r} is there twice: leave one out")
    return tuple(ids)


def only_number_rows(ids: Sequence[str]) -> bool:
    """Whether ids only number the documents, from 0 or 1, with or without a prefix."""
    return any(
        all(each == f"{prefix}{d}" for d, each in enumerate(ids, first))
        for first in (0, 1)
        for prefix in ("", "doc_", "text")
    )


def _begins_with_one(topics: set[str], n_topics: int) -> bool:
    numbers = {_number_of(each) for each in topics}
    return 0 not in numbers and n_topics in numbers


def _number_of(topic: str) -> int:
    """Return the number at the end of a topic's name; -1 if it has none."""
    digits = re.search(r"\d+$", topic)
    return int(digits[0]) if digits is not None else -1


def _other_number(path: PathLike, found: int, n_topics: int) -> CorpusFormatError:
    return CorpusFormatError(
        f"{path}: expected the weights of {n_topics} topics, a column each, found {found} columns "
        "of topics: is it of this model?"
    )
