"""Matrix Market coordinate files: a sparse matrix as text, documents in rows, words in columns.

    %%MatrixMarket matrix coordinate integer general
    % comments
    3430 6906 353160
    1 61 2            ROW COLUMN VALUE, both numbered from 1

The words are in a vocabulary file beside it; there are no document ids, titles and unknown words.
Paper: Boisvert, Pozo & Remington, "The Matrix Market Exchange Formats" (1996).
"""

from corpora.corpus import Corpus
from corpora.corpus_writer import MAX_INT32
from corpora.files import PathLike
from corpora.formats.lines import LineReader, shown
from corpora.formats.number_table import Column, checked
from corpora.formats.numbered import beside_vocabulary
from corpora.formats.triplets import read_triplets, size_columns, write_triplets
from corpora.formats.vocabulary_file import words_of

BANNER = b"%%MatrixMarket matrix coordinate integer general"
SIZES = size_columns("rows", "columns")


def read_matrix_market(path: PathLike, vocabulary: PathLike | None = None) -> Corpus:
    """Read a Matrix Market file, plain or compressed, documents in rows, which are called "1", "2",
    …. Values may be written as reals, but must be whole; zeros are left out. `vocabulary` is its
    file, by default that beside it; with "numbers" words are called "1", "2", …. Raises OSError if
    a file cannot be read; CorpusFormatError, naming file and line, if a file has another form, row
    and column appear twice, or a value is no count from 0 to 2³¹ − 1.
    """
    words = words_of(path, vocabulary)
    reader = LineReader(path)
    is_real = _field(reader) != "integer"
    line = reader.line()
    while line is not None and (not line.strip() or line.startswith(b"%")):
        line = reader.line()
    fields = (line or b"").split()
    if len(fields) != len(SIZES):
        raise reader.error(f"expected ROWS COLUMNS ENTRIES, found {shown(line or b'')}")
    n_rows, n_columns, n_entries = (
        checked(field, column, reader, reader.number)
        for field, column in zip(fields, SIZES, strict=True)
    )
    sizes, lines = (n_rows, n_columns, n_entries), (reader.number,) * 3
    return read_triplets(reader, sizes, lines, Column("value", 0, MAX_INT32, is_real), words)


def write_matrix_market(corpus: Corpus, path: PathLike) -> None:
    """Write `path`, compressed as it ends, and the vocabulary beside; see `beside_vocabulary`."""
    with beside_vocabulary(corpus, path) as stream:
        sizes = f"{corpus.n_docs} {corpus.n_words} {corpus.counts.nnz}"
        stream.write(BANNER + f"\n{sizes}\n".encode())
        write_triplets(stream, corpus.counts)


def _field(reader: LineReader) -> str:
    """Kind of the values, integer or real, by the first line."""
    banner = reader.line() or b""
    words = banner.decode("utf-8", "replace").split()
    if len(words) != 5 or words[0].lower() != "%%matrixmarket":
        raise reader.error(f"expected '{BANNER.decode()}', found {shown(banner)}", 1)
    kind = [word.lower() for word in words[1:]]
    if kind[:2] != ["matrix", "coordinate"] or kind[3] != "general":
        raise reader.error(
            f"expected 'matrix coordinate … general', found {' '.join(kind)!r}; write the matrix "
            "sparse and without symmetry",
            1,
        )
    if kind[2] not in ("integer", "real"):
        raise reader.error(f"expected values that are integer or real, found {kind[2]!r}", 1)
    return kind[2]
