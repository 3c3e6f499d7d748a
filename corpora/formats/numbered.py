"""Corpora whose documents and words are numbers: what UCI, Matrix Market and lda-c share."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from corpora.corpus import Corpus
from corpora.files import PathLike
from corpora.formats.compression import write_bytes
from corpora.formats.vocabulary_file import (
    check_writable,
    fits_a_line,
    vocabulary_beside,
    write_vocabulary,
)

Counts = sparse.csr_array[np.int32]


class DuplicateEntryError(ValueError):
    """Two entries are of the same document and word; `index` is the place of the second."""

    def __init__(self, index: int) -> None:
        super().__init__(f"entry {index} repeats an earlier one")
        self.index = index


def csr_of(
    docs: NDArray[np.int32],
    words: NDArray[np.int32],
    counts: NDArray[np.int32],
    shape: tuple[int, int],
) -> Counts:
    """Counts (n_docs, n_words) of entries in any order, indices from 0. Raises DuplicateEntryError,
    with the first entry that repeats another.
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


def numbered_corpus(counts: Counts, words: tuple[str, ...] | None, first_word: int) -> Corpus:
    """A corpus with documents called "1", "2", …, and, if `words` is None, words called by their
    numbers from `first_word` on.
    """
    n_docs, n_words = counts.shape
    if words is None:
        words = tuple(str(number) for number in range(first_word, first_word + n_words))
    return Corpus(counts, words, tuple(str(number) for number in range(1, n_docs + 1)))


@contextmanager
def beside_vocabulary(corpus: Corpus, path: PathLike) -> Iterator[IO[bytes]]:
    """Open the file of the counts; the vocabulary is written beside it. Both appear, or neither.
    Raises CorpusFormatError if a word is empty or holds a line break; OSError if a file cannot be
    written.
    """
    check_writable(corpus.vocabulary, path, fits_a_line)
    with ExitStack() as files:  # both are complete before the first takes its name
        words = files.enter_context(write_bytes(vocabulary_beside(path)))
        counts = files.enter_context(write_bytes(path))
        write_vocabulary(words, corpus.vocabulary)
        yield counts
