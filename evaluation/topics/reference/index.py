"""Index of a reference corpus: where each word is, so that windows of any size can be counted.

It holds no counts of pairs. Those of 100,000 words in windows would be far larger than the
positions of all tokens, and would fix the windows; positions give the counts of any pair in windows
of any size, in each document, so that standard errors can be over documents.

A query reads the postings of the words asked for, a stretch of documents at a time, and counts as
in a text in memory: the counts are equal.
"""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from corpora.array_file import release
from corpora.errors import CorpusFormatError
from corpora.files import PathLike
from corpora.tokens.running_words import UNKNOWN
from evaluation.arrays import Ints, Ints32
from evaluation.topics.cooccurrence import BlockCounts, WindowCounter, check_windows, parts_of
from evaluation.topics.reference.build import CHECK_BYTES, check_of
from evaluation.topics.reference.index_file import Sections, changed
from evaluation.topics.reference.postings import Bytes, decode_numbers, fill_stretch, take_words
from models.kernel import read_only

NO_POSITION: Final = np.iinfo(np.int64).max
"""Position after the last one of a word."""


@dataclass(frozen=True, eq=False)
class ReferenceIndex:
    """An opened index; its file stays mapped."""

    path: Path
    sha256: str  #: Checksum of the content.
    vocabulary: tuple[str, ...]
    n_tokens: int  #: Tokens of words in the vocabulary.
    about: dict[str, Any]  #: Source, settings and licence, as they were stored.
    doc_start: Ints  #: (n_docs + 1,), position of the first token of each document, and the end.
    article_of: Ints  #: (n_docs,), number of the article of each document, ascending.
    word_tokens: Ints  #: (V,), tokens of each word.
    _word_start: Ints  # (V + 1,), offsets in the postings
    _checks: Bytes  # (V · CHECK_BYTES,)
    _postings: Bytes

    @classmethod
    def open(cls, path: PathLike, *, checked: bool = False) -> "ReferenceIndex":
        """Open a file that `build_index` wrote.

        The postings of a word are checked when they are read; if `checked`, all at once.

        Raises FileNotFoundError if there is no file; CorpusFormatError, which names it, if it is
        not an index, or was damaged; UnsupportedVersionError if a newer version wrote it.
        """
        file = Sections.open(path)
        try:
            return _read(cls, file, checked=checked)
        except CorpusFormatError:
            raise
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise CorpusFormatError(f"{path} is not an index: {error}") from error

    @property
    def n_docs(self) -> int:
        """Number of documents, including empty ones."""
        return len(self.article_of)

    @property
    def n_articles(self) -> int:
        """Number of articles."""
        return int(self.article_of[-1]) + 1 if self.n_docs else 0

    @property
    def n_positions(self) -> int:
        """Number of tokens, with those of words outside the vocabulary."""
        return int(self.doc_start[-1])

    @property
    def identity(self) -> dict[str, str]:
        """Resolved path and checksum, by which results tell it from another file of its name."""
        return {"path": str(self.path.resolve()), "sha256": self.sha256}

    @cached_property
    def number_of(self) -> dict[str, int]:
        """Number of each word."""
        return {word: w for w, word in enumerate(self.vocabulary)}

    def count_windows(self, topics: Ints, size: int | None) -> BlockCounts:
        """Count co-occurrences in windows of `size` tokens that slide by one; None: in documents.

        `topics` (K, n) are indices into `vocabulary`, all different in a topic, or UNKNOWN. Memory
        holds a part of the documents, and what is counted.

        Raises ValueError if `topics` or `size` is none of these; CorpusFormatError if the postings
        of a word were changed.
        """
        check_windows(topics, len(self.vocabulary), size)
        counter = WindowCounter(topics, size)
        words = counter.words.words
        known = np.flatnonzero(words != UNKNOWN)
        stretches = _Stretches(self, words[known])
        for part in parts_of(self.doc_start, size):
            position, which = stretches.read(part.first, part.stop)
            words_of_part = known.astype(np.int32)[which]
            counter.add(position, words_of_part, part.doc_start, self.article_of[part.docs])
        stretches.check_end()
        release(self._postings)
        return counter.counts

    def postings(self, w: int) -> Bytes:
        """Return the checked postings of word `w`; CorpusFormatError if they were changed."""
        data = self._postings[self._word_start[w] : self._word_start[w + 1]]
        expected = self._checks[CHECK_BYTES * w : CHECK_BYTES * (w + 1)].tobytes()
        if check_of(data) != expected:
            word = self.vocabulary[w]
            raise changed(self.path, f"the SHA-256 of the positions of {word!r} does not fit")
        return data

    def check(self) -> None:
        """Check the postings of all words; CorpusFormatError if some were changed."""
        for w in range(len(self.vocabulary)):
            self.postings(w)
        release(self._postings)


class _Stretches:
    """Tokens of some words, read in order, some documents at a time."""

    def __init__(self, index: ReferenceIndex, words: Ints) -> None:
        self._index, self._words = index, words
        parts = [index.postings(w) for w in words.tolist()]
        self._data = read_only(index._postings)  # noqa: SLF001 - a part of the index
        start = index._word_start  # noqa: SLF001
        self._offset, self._end = start[words], start[words + 1]
        self._position = np.full(len(words), NO_POSITION)
        for r, part in enumerate(parts):
            if len(part):
                n_bytes = int(np.argmax(part < 128)) + 1
                try:
                    self._position[r] = int(decode_numbers(part[:n_bytes], 1)[0]) - 1
                except ValueError:
                    self._refuse(r)
                self._offset[r] += n_bytes
        self._word_at = np.full(1, -1, dtype=np.int32)
        self._found = np.empty(1, dtype=np.int64), np.empty(1, dtype=np.int32)
        self._before = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
        self._stop = 0

    def read(self, first: int, stop: int) -> tuple[Ints, Ints32]:
        """Return positions (n,), counted from `first`, and words (n,) of the tokens up to `stop`.

        `first` and `stop` do not fall from one reading to the next; tokens may be read twice.
        """
        begin = max(first, self._stop)
        position, word_of = self._read_new(begin, stop)
        is_again = self._before[0] >= first
        position = np.concatenate((self._before[0][is_again], position + begin))
        word_of = np.concatenate((self._before[1][is_again], word_of))
        self._before, self._stop = (position, word_of), stop
        return position - first, word_of

    def _read_new(self, first: int, stop: int) -> tuple[Ints, Ints32]:
        """Return positions and words of tokens that were not read before."""
        n = stop - first
        if n > len(self._word_at):
            self._word_at = np.full(n, -1, dtype=np.int32)
            self._found = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int32)
        bad = fill_stretch(
            self._data, self._offset, self._end, self._position, first, stop, self._word_at
        )
        if bad >= 0:
            self._refuse(bad)
        position, word_of = self._found
        n_tokens = take_words(self._word_at, n, position, word_of)
        return position[:n_tokens], word_of[:n_tokens]

    def check_end(self) -> None:
        """Check that no word has positions after the last document."""
        for r in np.flatnonzero(self._position != NO_POSITION).tolist():
            self._refuse(r)

    def _refuse(self, r: int) -> None:
        word = self._index.vocabulary[self._words[r]]
        raise CorpusFormatError(f"{self._index.path}: the positions of {word!r} are malformed")


def _read(kind: type[ReferenceIndex], file: Sections, *, checked: bool) -> ReferenceIndex:
    """Read all sections but the postings; ValueError if they do not fit each other."""
    header = file.header
    n_words, n_docs = int(header["n_words"]), int(header["n_docs"])
    vocabulary = json.loads(file.section("words").tobytes())
    word_bytes = decode_numbers(file.section("word_bytes"), n_words)
    lengths = decode_numbers(file.section("doc_lengths"), n_docs)
    starts = np.unpackbits(file.section("article_starts"), count=n_docs).astype(bool)
    checks, postings = file.section("checks"), file.section("postings")
    word_start = np.concatenate(([0], np.cumsum(word_bytes)))
    doc_start = np.concatenate(([0], np.cumsum(lengths)))
    if (
        len(vocabulary) != n_words
        or not all(isinstance(word, str) for word in vocabulary)
        or len(checks) != CHECK_BYTES * n_words
        or len(file.section("article_starts")) != (n_docs + 7) // 8
        or (np.diff(word_start) < 0).any()
        or (np.diff(doc_start) < 0).any()
        or word_start[-1] != len(postings)
        or doc_start[-1] != header["n_positions"]
        or (n_docs and not starts[0])
    ):
        raise ValueError("its parts contradict each other")
    found = kind(
        file.path,
        file.sha256,
        tuple(vocabulary),
        int(header["n_tokens"]),
        dict(header["about"]),
        doc_start,
        np.cumsum(starts) - 1,
        decode_numbers(file.section("word_tokens"), n_words),
        word_start,
        checks,
        postings,
    )
    if checked:
        found.check()
    return found
