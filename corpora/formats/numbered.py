"""Counts of bare numbers: a vocabulary in a file beside them, documents without ids."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING

from corpora.corpus import Corpus
from corpora.formats.compression import write_bytes
from corpora.formats.vocabulary_file import (
    check_writable,
    fits_a_line,
    vocabulary_beside,
    write_vocabulary,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from corpora.formats.triplets import Counts


def numbered_corpus(counts: Counts, words: tuple[str, ...] | None, first_word: int) -> Corpus:
    """A corpus whose documents are called "1", "2", …; its words too if `words` is None.

    `first_word` is the number that the format gives the first word.
    """
    n_docs, n_words = counts.shape
    if words is None:
        words = tuple(str(number) for number in range(first_word, first_word + n_words))
    return Corpus(counts, words, tuple(str(number) for number in range(1, n_docs + 1)))


@contextmanager
def beside_vocabulary(corpus: Corpus, path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open the file of the counts; the vocabulary is written beside it. Both appear, or neither.

    Raises
    ------
    CorpusFormatError
        If a word is empty or holds a line break.
    OSError
        If a file cannot be written.
    """
    check_writable(corpus.vocabulary, path, fits_a_line)
    with ExitStack() as files:  # both are complete before the first takes its name
        words = files.enter_context(write_bytes(vocabulary_beside(path)))
        counts = files.enter_context(write_bytes(path))
        write_vocabulary(words, corpus.vocabulary)
        yield counts
