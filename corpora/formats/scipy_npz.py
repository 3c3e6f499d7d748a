"""SciPy's .npz: counts (D, V) as `scipy.sparse.save_npz` writes them, the words beside them.

There are no document ids, titles and unknown words. Nothing in the file is unpickled.
"""

import lzma
import zipfile
import zlib
from pathlib import Path

import numpy as np
from scipy import sparse

from corpora.corpus import Corpus
from corpora.corpus_writer import MAX_INT32
from corpora.errors import CorpusFormatError
from corpora.files import PathLike
from corpora.formats.numbered import Counts, beside_vocabulary, numbered_corpus
from corpora.formats.vocabulary_file import words_of

DAMAGE = (
    *(ValueError, LookupError, TypeError, AttributeError, OSError, EOFError, MemoryError),
    *(OverflowError, RuntimeError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)
"""Errors that a damaged or hostile archive raises."""


def read_npz(path: PathLike, vocabulary: PathLike | None = None) -> Corpus:
    """Read a sparse matrix, documents in rows, which are called "1", "2", ….

    Values may be reals, but must be whole; zeros are left out, and values of one place are added,
    as in SciPy. `vocabulary` is the file of the words, by default that beside the matrix; with
    "numbers" words are called "0", "1", ….

    Raises OSError if a file cannot be read; CorpusFormatError, naming the file, if it has another
    form, a value is no count from 0 to 2³¹ − 1, or the vocabulary has another number of words.
    """
    words, counts = words_of(path, vocabulary), _matrix(path)
    if words is not None and len(words) != counts.shape[1]:
        raise CorpusFormatError(
            f"{path}: has counts of {counts.shape[1]:,} words, but the vocabulary "
            f"{vocabulary or 'beside it'} has {len(words):,}: give the words of its columns, a "
            "line each"
        )
    return numbered_corpus(counts, words, 0)


def write_npz(corpus: Corpus, path: PathLike) -> None:
    """Write `path`, and the vocabulary beside; see `beside_vocabulary`."""
    with beside_vocabulary(corpus, path) as stream:
        sparse.save_npz(stream, sparse.csr_array(corpus.counts))


def _matrix(path: PathLike) -> Counts:
    with Path(path).open("rb") as stream:
        try:
            found = sparse.csr_array(sparse.load_npz(stream))
            found.check_format(full_check=True)
        except DAMAGE as error:
            why = str(error).replace(repr(stream), Path(path).name)
            raise CorpusFormatError(
                f"{path}: no sparse matrix as scipy.sparse.save_npz writes it, or damaged: {why}"
            ) from error
    if found.ndim != 2 or found.data.dtype.kind not in "biuf":
        raise CorpusFormatError(f"{path}: counts must be numbers (documents, words)")
    _check_counts(path, found.data)
    counts = sparse.csr_array(found.astype(np.int64))
    counts.sum_duplicates()
    counts.eliminate_zeros()
    _check_counts(path, counts.data)
    return counts.astype(np.int32)


def _check_counts(path: PathLike, data: np.ndarray) -> None:
    """Raise CorpusFormatError unless all are whole numbers from 0 to 2³¹ − 1."""
    if len(data) and not ((data >= 0) & (data <= MAX_INT32) & (data % 1 == 0)).all():
        raise CorpusFormatError(
            f"{path}: counts must be whole numbers, none negative or above {MAX_INT32:,}"
        )
