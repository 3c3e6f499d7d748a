"""Blei's lda-c: a line a document, how many different words and WORD:COUNT of each.

    3 0:2 7:1 41:1        words are numbered from 0

The words are in a vocabulary file beside it. Document ids, titles and the number of unknown words
are not held.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from corpora.formats.lines import PLAUSIBLE, LineReader, shown
from corpora.formats.number_table import Column, checked, digits, token_edges
from corpora.formats.numbered import beside_vocabulary, numbered_corpus
from corpora.formats.triplets import MOST, DuplicateEntryError, csr_of
from corpora.formats.vocabulary_file import words_of

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from corpora.corpus import Corpus

    Block = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]
    """Of a block of lines: different words (n_docs,), then words and counts (n_entries,) of all."""

COUNT = Column("count", 1, MOST)
_BLANK = np.isin(np.arange(256), list(b" \t\r\n:"))
_PAIR = re.compile(rb"([^:]+):([^:]+)")


def read_ldac(
    path: str | os.PathLike[str], vocabulary: str | os.PathLike[str] | None = None
) -> Corpus:
    """The corpus in an lda-c file, plain or compressed; documents are called "1", "2", ….

    Parameters
    ----------
    path
        The counts.
    vocabulary
        The vocabulary file; by default that beside it; "numbers": words are called "0", "1", …,
        up to the largest number that appears.

    Raises
    ------
    OSError
        If a file is missing or cannot be read.
    CorpusFormatError
        If a line is not what the format says, holds a word twice, or a count is 0 or above
        2³¹ − 1; the message names file and line.
    """
    words = words_of(path, vocabulary)
    reader = LineReader(path)
    column = Column("word", 0, MOST - 1 if words is None else len(words) - 1)
    nothing = np.zeros(0, dtype=np.int32)
    blocks: list[Block] = [(nothing, nothing, nothing)]
    for first, block in reader.blocks():
        fast = fast_block(block, column)
        blocks.append(slow_block(reader, first, block, column) if fast is None else fast)
    n_distinct, word_of, count_of = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    n_words = int(word_of.max(initial=-1)) + 1 if words is None else len(words)
    if words is None and n_words > PLAUSIBLE:
        reader.check_plausible("words", n_words, reader.number)
    docs = np.repeat(np.arange(len(n_distinct), dtype=np.int32), n_distinct)
    try:
        counts = csr_of(docs, word_of, count_of, (len(n_distinct), n_words))
    except DuplicateEntryError as error:
        raise reader.error(
            f"word {word_of[error.index]} appears twice; give it its whole count once",
            int(docs[error.index]) + 1,  # each line is a document
        ) from None
    return numbered_corpus(counts, words, 0)


def write_ldac(corpus: Corpus, path: str | os.PathLike[str]) -> None:
    """Write the counts to `path`, compressed as it ends, and the vocabulary beside it.

    Raises
    ------
    CorpusFormatError
        If a word is empty or holds a line break.
    OSError
        If a file cannot be written; nothing is left then.
    """
    counts = corpus.counts
    with beside_vocabulary(corpus, path) as stream:
        for d in range(corpus.n_docs):
            row = slice(counts.indptr[d], counts.indptr[d + 1])
            pairs = np.column_stack((counts.indices[row], counts.data[row]))
            n_distinct = len(pairs)
            line = b"%d" + b" %d:%d" * n_distinct + b"\n"
            stream.write(line % (n_distinct, *pairs.ravel().tolist()))


def fast_block(block: bytes, word: Column) -> Block | None:
    """The documents of a block of whole lines; None if any line is out of the ordinary."""
    data = np.frombuffer(block, dtype=np.uint8)
    starts, ends = token_edges(_BLANK[data])
    values = digits(data, starts, ends)
    feeds = np.flatnonzero(data == ord("\n"))
    n_before = np.searchsorted(starts, feeds)  # numbers before the end of each line
    n_numbers = np.diff(n_before, prepend=0)
    if values is None or not np.all(n_numbers % 2):
        return None
    leads = n_before - n_numbers
    n_distinct = n_numbers // 2
    if np.any(values[leads] != n_distinct):
        return None
    in_pair = np.ones(len(values), dtype=bool)
    in_pair[leads] = False
    pairs = np.flatnonzero(in_pair)
    words, counts = pairs[::2], pairs[1::2]
    colons = np.flatnonzero(data == ord(":"))
    # As many colons as pairs, and each right behind its word and before its count.
    if not np.array_equal(colons, ends[words]) or np.any(starts[counts] != colons + 1):
        return None
    word_of, count_of = values[words], values[counts]
    if np.any(word_of > word.highest) or np.any((count_of < 1) | (count_of > MOST)):
        return None
    return n_distinct.astype(np.int32), word_of.astype(np.int32), count_of.astype(np.int32)


def slow_block(reader: LineReader, first: int, block: bytes, word: Column) -> Block:
    """The same, one line after the other: what is accepted, and in which line the error is."""
    n_distinct, word_of, count_of = [], [], []
    for number, line in enumerate(block[:-1].split(b"\n"), first):
        fields = line.split()
        if not fields:
            raise reader.error("expected a document, found an empty line (none: 0)", number)
        n = checked(fields[0], Column("the number of different words", 0, MOST), reader, number)
        if n != len(fields) - 1:
            raise reader.error(f"promises {n} different words, found {len(fields) - 1}", number)
        for field in fields[1:]:
            pair = _PAIR.fullmatch(field)
            if pair is None:
                raise reader.error(f"expected WORD:COUNT, found {shown(field)}", number)
            word_of.append(checked(pair[1], word, reader, number))
            count_of.append(checked(pair[2], COUNT, reader, number))
        n_distinct.append(n)
    parts = (np.array(part, dtype=np.int32) for part in (n_distinct, word_of, count_of))
    return tuple(parts)  # type: ignore[return-value]
