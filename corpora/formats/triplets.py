"""Counts as lines of DOCUMENT WORD COUNT, numbered from 1: what UCI and Matrix Market share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import numpy as np
from scipy import sparse

from corpora.formats.lines import LineReader
from corpora.formats.number_table import Column, number_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Counts = sparse.csr_array[np.int32]

MOST = np.iinfo(np.int32).max
"""The largest count, and the largest number of documents or words."""
LINES_AT_ONCE = 1 << 15


class DuplicateEntryError(ValueError):
    """Two entries are of the same document and word; `index` is the place of the second."""

    def __init__(self, index: int) -> None:
        super().__init__(f"entry {index} repeats an earlier one")
        self.index = index


@dataclass(frozen=True)
class Header:
    """What a file promises, and in which lines: (number, line) each."""

    n_docs: tuple[int, int]
    n_words: tuple[int, int]
    n_entries: tuple[int, int]


def read_triplets(
    reader: LineReader, header: Header, count: Column, words: tuple[str, ...] | None
) -> Counts:
    """The counts (n_docs, n_words) of the lines that are left of a file after its header.

    Memory: 12 bytes an entry while reading, 8 in the end.

    Raises
    ------
    CorpusFormatError
        If a line is not three numbers in their ranges, a document and word appear twice, there are
        more or fewer lines than promised, another number of `words`, if given, or sizes are
        promised that no file of this size has.
    """
    if words is not None and len(words) != header.n_words[0]:
        raise reader.error(
            f"promises {header.n_words[0]} words, but the vocabulary has {len(words)}",
            header.n_words[1],
        )
    columns = (
        Column("document", 1, header.n_docs[0]),
        Column("word", 1, header.n_words[0]),
        count,
    )
    begins = reader.number
    tables = [
        number_table(reader, first, block, columns).astype(np.int32)
        for first, block in reader.blocks()
    ]
    n_entries = sum(len(table) for table in tables)
    if n_entries != header.n_entries[0]:
        raise reader.error(
            f"promises {header.n_entries[0]} entries, found {n_entries} in the lines after it; "
            "the file may be incomplete",
            header.n_entries[1],
        )
    reader.check_plausible("documents", *header.n_docs)
    reader.check_plausible("words", *header.n_words)
    docs, word_of, counts = (
        np.concatenate([np.zeros(0, dtype=np.int32), *(table[:, j] for table in tables)])
        for j in range(3)
    )
    del tables
    docs -= 1
    word_of -= 1
    try:
        return csr_of(docs, word_of, counts, (header.n_docs[0], header.n_words[0]))
    except DuplicateEntryError as error:
        raise reader.error(
            f"word {word_of[error.index] + 1} of document {docs[error.index] + 1} appears a second "
            "time; give each its whole count in one line",
            _line_of_entry(reader, begins, error.index),
        ) from None


def write_triplets(stream: IO[bytes], counts: Counts) -> None:
    """A line of DOCUMENT WORD COUNT for each entry, documents and words in ascending order."""
    for start in range(0, counts.nnz, LINES_AT_ONCE):
        part = slice(start, min(start + LINES_AT_ONCE, counts.nnz))
        docs = np.searchsorted(counts.indptr, np.arange(part.start, part.stop), side="right")
        table = np.column_stack((docs, counts.indices[part] + np.int64(1), counts.data[part]))
        # One format for many lines: ten times as fast as a format for each.
        stream.write((b"%d %d %d\n" * len(table)) % tuple(table.ravel().tolist()))


def csr_of(
    docs: NDArray[np.int32],
    words: NDArray[np.int32],
    counts: NDArray[np.int32],
    shape: tuple[int, int],
) -> Counts:
    """Counts (n_docs, n_words) of entries in any order, indices from 0.

    Raises
    ------
    DuplicateEntryError
        If a document and word appear twice: the first entry that repeats another.
    """
    ascending = (docs[1:] > docs[:-1]) | ((docs[1:] == docs[:-1]) & (words[1:] > words[:-1]))
    if not ascending.all():
        order = np.lexsort((words, docs))  # stable, so that of two the later entry is second
        docs, words, counts = docs[order], words[order], counts[order]
        repeated = (docs[1:] == docs[:-1]) & (words[1:] == words[:-1])
        if repeated.any():
            raise DuplicateEntryError(int(order[1:][repeated].min()))
    start = np.concatenate(([0], np.cumsum(np.bincount(docs, minlength=shape[0]))))
    return sparse.csr_array((counts, words, start), shape=shape)


def _line_of_entry(reader: LineReader, begins: int, index: int) -> int:
    """The number of the line that holds entry `index`: the file is read a second time."""
    seen = -1
    if not reader.path.is_file():
        return reader.number  # a pipe cannot be read again: the last line will have to do
    for number, line in LineReader(reader.path).lines():
        seen += number > begins and bool(line.strip())
        if seen == index:
            return number
    return reader.number  # the file has become another one meanwhile
