"""Counts as lines of DOCUMENT WORD COUNT, numbered from 1: what UCI and Matrix Market share."""

from typing import IO

import numpy as np

from corpora.corpus import Corpus
from corpora.corpus_writer import MAX_INT32
from corpora.formats.lines import LineReader
from corpora.formats.number_table import Column, number_table
from corpora.formats.numbered import Counts, DuplicateEntryError, csr_of, numbered_corpus

LINES_AT_ONCE = 1 << 15


def size_columns(docs: str, words: str) -> tuple[Column, Column, Column]:
    """The sizes in a header: numbers of documents, words, as the format calls them, and entries."""
    highest = {docs: MAX_INT32, words: MAX_INT32, "entries": 10**18 - 1}
    a, b, c = (Column(f"the number of {name}", 0, most) for name, most in highest.items())
    return a, b, c


def read_triplets(
    reader: LineReader,
    sizes: tuple[int, int, int],
    lines: tuple[int, int, int],
    count: Column,
    words: tuple[str, ...] | None,
) -> Corpus:
    """The corpus of the lines that are left of a file after its header, in memory of 12 bytes an
    entry. `sizes` are the documents, words and entries that the header promises, `lines` the lines
    of these numbers. Raises CorpusFormatError if a line is not three numbers in their ranges, a
    document and word appear twice, the numbers of lines or of `words` are not as promised, or sizes
    are promised that no file of this size has.
    """
    n_docs, n_words, n_entries = sizes
    if words is not None and len(words) != n_words:
        raise reader.error(
            f"promises {n_words} words, but the vocabulary has {len(words)}", lines[1]
        )
    columns = (Column("document", 1, n_docs), Column("word", 1, n_words), count)
    first_entry = reader.number + 1
    tables = [
        number_table(reader, first, block, columns).astype(np.int32)
        for first, block in reader.blocks()
    ]
    n_found = sum(len(table) for table in tables)
    if n_found != n_entries:
        raise reader.error(
            f"promises {n_entries} entries, found {n_found} in the lines after it; "
            "the file may be incomplete",
            lines[2],
        )
    reader.check_plausible("documents", n_docs, lines[0])
    reader.check_plausible("words", n_words, lines[1])
    docs, word_of, counts = (
        np.concatenate([np.zeros(0, dtype=np.int32), *(table[:, j] for table in tables)])
        for j in range(3)
    )
    del tables
    docs -= 1
    word_of -= 1
    try:
        return numbered_corpus(csr_of(docs, word_of, counts, (n_docs, n_words)), words, 1)
    except DuplicateEntryError as error:
        raise reader.error(
            f"word {word_of[error.index] + 1} of document {docs[error.index] + 1} appears a second "
            "time; give each its whole count in one line",
            _line_of_entry(reader, first_entry, error.index),
        ) from None


def write_triplets(stream: IO[bytes], counts: Counts) -> None:
    """A line of DOCUMENT WORD COUNT for each entry, documents and words in ascending order."""
    for start in range(0, counts.nnz, LINES_AT_ONCE):
        part = slice(start, min(start + LINES_AT_ONCE, counts.nnz))
        docs = np.searchsorted(counts.indptr, np.arange(part.start, part.stop), side="right")
        table = np.column_stack((docs, counts.indices[part] + np.int64(1), counts.data[part]))
        # One format for many lines: ten times as fast as a format for each.
        stream.write((b"%d %d %d\n" * len(table)) % tuple(table.ravel().tolist()))


def _line_of_entry(reader: LineReader, first_entry: int, index: int) -> int:
    """The number of the line that holds entry `index`: the file is read a second time."""
    if reader.path.is_file():  # a pipe cannot be read again: the last line has to do
        for number, line in LineReader(reader.path).lines():
            if number >= first_entry and line.strip():
                if index == 0:
                    return number
                index -= 1
    return reader.number
