"""Blei's lda-c: a line a document, the number of its different words and WORD:COUNT of each.

    3 0:2 7:1 41:1        words are numbered from 0

The words are in a vocabulary file beside it; there are no document ids, titles and unknown words.
`sklearn.datasets.load_svmlight_file` names no line in its errors, takes the first number as a
label, and refuses words that are not in ascending order.
"""

import re
from array import array

import numpy as np
from numpy.typing import NDArray

from corpora.corpus import Corpus
from corpora.corpus_writer import MAX_INT32
from corpora.files import PathLike
from corpora.formats.lines import LineReader, shown
from corpora.formats.number_table import Column, checked
from corpora.formats.numbered import DuplicateEntryError, beside_vocabulary, csr_of, numbered_corpus
from corpora.formats.vocabulary_file import words_of

N_DISTINCT = Column("the number of different words", 0, MAX_INT32)
COUNT = Column("count", 1, MAX_INT32)
_DOCUMENT = re.compile(rb"\s*+\d{1,18}+(?:\s++\d{1,18}+:\d{1,18}+)*+\s*+")
_PAIR = re.compile(rb"([^:]+):([^:]+)")


def read_ldac(path: PathLike, vocabulary: PathLike | None = None) -> Corpus:
    """Read an lda-c file, plain or compressed, in memory of 16 bytes an entry; documents are called
    "1", "2", …. `vocabulary` is its file, by default that beside it; with "numbers" words are
    called "0", "1", …, up to the largest number. Raises OSError if a file cannot be read;
    CorpusFormatError, naming file and line, if a line has another form, holds a word twice, or a
    count is 0 or above 2³¹ − 1.
    """
    words = words_of(path, vocabulary)
    reader = LineReader(path)
    column = Column("word", 0, MAX_INT32 - 1 if words is None else len(words) - 1)
    n_distinct, word_of, count_of = array("i"), array("i"), array("i")
    for number, line in reader.lines():
        pairs = _pairs(line, number, reader, column).astype(np.int32)
        n_distinct.append(len(pairs))
        word_of.frombytes(pairs[:, 0].tobytes())
        count_of.frombytes(pairs[:, 1].tobytes())
    words_array = np.frombuffer(word_of, dtype=np.int32)
    n_words = int(words_array.max(initial=-1)) + 1 if words is None else len(words)
    if words is None:
        reader.check_plausible("words", n_words, reader.number)
    docs = np.repeat(np.arange(len(n_distinct), dtype=np.int32), n_distinct)
    shape = (len(n_distinct), n_words)
    try:
        counts = csr_of(docs, words_array, np.frombuffer(count_of, dtype=np.int32), shape)
    except DuplicateEntryError as error:
        raise reader.error(
            f"word {words_array[error.index]} appears twice; give it its whole count once",
            int(docs[error.index]) + 1,  # each line is a document
        ) from None
    return numbered_corpus(counts, words, 0)


def write_ldac(corpus: Corpus, path: PathLike) -> None:
    """Write `path`, compressed as it ends, and the vocabulary beside; see `beside_vocabulary`."""
    counts = corpus.counts
    with beside_vocabulary(corpus, path) as stream:
        for d in range(corpus.n_docs):
            row = slice(counts.indptr[d], counts.indptr[d + 1])
            pairs = np.column_stack((counts.indices[row], counts.data[row]))
            line = b"%d" + b" %d:%d" * len(pairs) + b"\n"
            stream.write(line % (len(pairs), *pairs.ravel().tolist()))


def _pairs(line: bytes, number: int, reader: LineReader, word: Column) -> NDArray[np.int64]:
    """(n, 2) the words and counts of the document on line `number`."""
    if _DOCUMENT.fullmatch(line):
        numbers = np.fromstring(line.replace(b":", b" "), dtype=np.int64, sep=" ")
        pairs = numbers[1:].reshape(-1, 2)
        is_in_range = (pairs[:, 0] <= word.highest).all() and (pairs[:, 1] <= MAX_INT32).all()
        if numbers[0] == len(pairs) and is_in_range and pairs[:, 1].all():
            return pairs
    # Field by field, which finds the error.
    fields = line.split()
    if not fields:
        raise reader.error("expected a document, found an empty line (none: 0)", number)
    n = checked(fields[0], N_DISTINCT, reader, number)
    if n != len(fields) - 1:
        raise reader.error(f"promises {n} different words, found {len(fields) - 1}", number)
    rows = []
    for field in fields[1:]:
        pair = _PAIR.fullmatch(field)
        if pair is None:
            raise reader.error(f"expected WORD:COUNT, found {shown(field)}", number)
        columns = zip(pair.groups(), (word, COUNT), strict=True)
        rows.append([checked(*each, reader, number) for each in columns])
    return np.array(rows, dtype=np.int64).reshape(-1, 2)
