"""UCI bag of words: docword.NAME.txt and vocab.NAME.txt, without ids, titles and unknown words.

3430          documents
6906          words
353160        entries, the lines that follow
1 61 2        DOCUMENT WORD COUNT, both numbered from 1
"""

from corpora.corpus import Corpus
from corpora.corpus_writer import MAX_INT32
from corpora.files import PathLike
from corpora.formats.lines import LineReader
from corpora.formats.number_table import Column, checked
from corpora.formats.numbered import beside_vocabulary
from corpora.formats.triplets import read_triplets, size_columns, write_triplets
from corpora.formats.vocabulary_file import words_of

HEADER = size_columns("documents", "words")


def read_uci(path: PathLike, vocabulary: PathLike | None = None) -> Corpus:
    """Read a docword file, plain or compressed; documents are called "1", "2", …. `vocabulary` is
    its file, by default that beside it; with "numbers" words are called "1", "2", …. Raises OSError
    if a file cannot be read; CorpusFormatError, naming file and line, if a file has another form,
    word and document appear twice, or a count is 0 or above 2³¹ − 1.
    """
    words = words_of(path, vocabulary)
    reader = LineReader(path)
    n_docs, n_words, n_entries = (_size(reader, column) for column in HEADER)
    count = Column("count", 1, MAX_INT32)
    return read_triplets(reader, (n_docs, n_words, n_entries), (1, 2, 3), count, words)


def write_uci(corpus: Corpus, path: PathLike) -> None:
    """Write `path`, compressed as it ends, and the vocabulary beside; see `beside_vocabulary`."""
    with beside_vocabulary(corpus, path) as stream:
        stream.write(f"{corpus.n_docs}\n{corpus.n_words}\n{corpus.counts.nnz}\n".encode())
        write_triplets(stream, corpus.counts)


def _size(reader: LineReader, column: Column) -> int:
    line = reader.line()
    if line is None:
        raise reader.error(f"expected {column.name}, found the end of the file", reader.number + 1)
    return checked(line.strip(), column, reader, reader.number)
