"""Documents as bags of words: counts, the words they count, and the names of the documents.

    DIR/header.json            format, version, sizes, and name, size and SHA-256 of the other files
    DIR/<hash>-data.npy        the arrays of the counts: data, indices, indptr; and n_unknown
    DIR/<hash>-vocabulary.npy  a JSON list, as bytes
    DIR/<hash>-doc_ids.npy     UTF-8, one id after the other; where each begins is in doc_ids_start
    DIR/<hash>-titles.npy      the same with titles_start

The header names the other files, and these are named by what they hold, so replacing the header is
what makes a new corpus take the place of a former one: at once or not at all. In version 1 of the
format, which is still read, all strings were JSON lists.

A corpus larger than memory is written by `build_corpus_on_disk`, and mapped by `Corpus.load`: what
is taken from it, `rows` or `batches`, is read from disk, and the rest is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from corpora.content_hash import content_hash, json_array, json_bytes, of_array, of_strings
from corpora.corpus_files import read_array, read_header, read_strings
from corpora.corpus_writer import MOST, Bags, CorpusWriter, index_type
from corpora.counting import count_blocks
from corpora.errors import CorpusFormatError
from corpora.files import sha256_of
from corpora.string_column import CHUNK, StringColumn
from corpora.vocabulary import Pruning, learn_vocabulary

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from corpora.tokens.block import TokenBlock

ARRAYS = ("data", "indices", "indptr", "n_unknown")


@dataclass(frozen=True, eq=False)
class Corpus:
    """Counts of words in documents. Two corpora are the same if their `content_hash` is.

    Raises
    ------
    ValueError
        If the counts are not whole numbers from 0 to 2³¹ − 1, or the shapes do not fit together.
    """

    counts: sparse.csr_array[np.int32]
    """(n_docs, n_words), sorted, without explicit zeros; any other matrix is converted to that."""
    vocabulary: tuple[str, ...]
    """The words of the columns, all different."""
    doc_ids: Sequence[str]
    """A `StringColumn`, which compares, slices and iterates as a tuple; so are the titles."""
    titles: Sequence[str] = ()
    """The document ids if not given."""
    n_unknown: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """(n_docs,) tokens of each document that are not in the vocabulary; zeros if not given."""

    def __post_init__(self) -> None:
        counts = _checked_counts(self.counts)
        n_docs, n_words = counts.shape
        n_unknown = np.asarray(self.n_unknown if len(self.n_unknown) else np.zeros(n_docs))
        fields: dict[str, Any] = {
            "counts": counts,
            "vocabulary": tuple(self.vocabulary),
            "doc_ids": StringColumn.of(self.doc_ids),
            "titles": StringColumn.of(self.titles if len(self.titles) else self.doc_ids),
            "n_unknown": n_unknown.astype(np.int64),
        }
        for name, expected in (
            ("vocabulary", n_words),
            ("doc_ids", n_docs),
            ("titles", n_docs),
            ("n_unknown", n_docs),
        ):
            if len(fields[name]) != expected:
                raise ValueError(
                    f"counts are {n_docs} × {n_words}, so {name} must have {expected} entries, "
                    f"not {len(fields[name])}"
                )
        if len(set(fields["vocabulary"])) != n_words:
            raise ValueError("a word is in the vocabulary twice")
        if np.any(n_unknown < 0):
            raise ValueError("n_unknown must not be negative")
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_blocks(cls, blocks: Iterable[TokenBlock], vocabulary: Sequence[str]) -> Corpus:
        """Count the tokens of `blocks` against a vocabulary that is given; the rest are unknown."""
        bags = list(count_blocks(blocks, vocabulary))
        no_rows = sparse.csr_array((0, len(vocabulary)), dtype=np.int32)
        return cls(
            sparse.vstack([no_rows, *(each.counts for each in bags)], format="csr"),
            tuple(vocabulary),
            StringColumn.of(doc_id for each in bags for doc_id in each.doc_ids),
            StringColumn.of(title for each in bags for title in each.titles),
            np.concatenate([np.zeros(0, dtype=np.int64), *(each.n_unknown for each in bags)]),
        )

    @property
    def n_docs(self) -> int:
        """Documents, empty ones too."""
        return len(self.doc_ids)

    @property
    def n_words(self) -> int:
        """Different words: the columns."""
        return len(self.vocabulary)

    @property
    def n_tokens(self) -> int:
        """Words in running text, those in the vocabulary."""
        return int(self.counts.data.sum(dtype=np.int64))

    @cached_property
    def vocabulary_hash(self) -> str:
        """SHA-256 of the vocabulary in its order."""
        return sha256_of(json_array(self.vocabulary).data)

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of all that the corpus holds; the same after `save` and `load`."""
        counts = self.counts
        strings = [
            of_strings(
                name,
                column.chunks(),
                sum(json_bytes(c, is_first=not i) for i, c in enumerate(column.chunks())),
            )
            for name, column in (("doc_ids", self._doc_ids), ("titles", self._titles))
        ]
        return content_hash(
            [
                of_array("data", counts.data),
                of_array("indices", counts.indices),
                of_array("indptr", counts.indptr),
                of_array("n_unknown", self.n_unknown),
                of_array("vocabulary", json_array(self.vocabulary)),
                *strings,
            ]
        )

    def rows(self, which: ArrayLike) -> Corpus:
        """The documents that `which`, a mask (n_docs,) or indices, names, in that order."""
        chosen = np.asarray(which)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
        return Corpus(
            self.counts[chosen],
            self.vocabulary,
            self._doc_ids.take(chosen),
            self._titles.take(chosen),
            self.n_unknown[chosen],
        )

    def batches(self, batch_size: int) -> Iterator[sparse.csr_array[np.int32]]:
        """The counts, `batch_size` documents at a time; of a mapped corpus only these are read."""
        for start in range(0, self.n_docs, batch_size):
            yield self.counts[start : start + batch_size]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the directory `path`; a corpus that is there is replaced, at once or not at all.

        One process at a time may save to a directory; any number may read meanwhile.
        """
        with CorpusWriter(path, self.vocabulary) as writer:
            for i in range(0, self.n_docs, CHUNK):
                some = slice(i, i + CHUNK)
                writer.append(
                    Bags(
                        self.counts[some],
                        self._doc_ids[some],
                        self._titles[some],
                        self.n_unknown[some],
                    )
                )

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, mmap: bool = False) -> Corpus:
        """The corpus that `save` wrote.

        With `mmap` all but the vocabulary stays on disk until it is used, and of the files only the
        sizes are checked: every other check would read them. Arrays are then read-only.

        Raises
        ------
        FileNotFoundError
            If there is no corpus.
        CorpusFormatError
            If a file is missing, was changed, or holds what no corpus holds; the message names it.
        UnsupportedVersionError
            If a newer version of this software wrote it.
        """
        directory = Path(path)
        header = read_header(directory)
        arrays = {name: read_array(directory, header, name, mmap=mmap) for name in ARRAYS}
        try:
            vocabulary = tuple(read_strings(directory, header, "vocabulary"))
            doc_ids, titles = (
                read_strings(directory, header, name, mmap=mmap) for name in ("doc_ids", "titles")
            )
            counts = sparse.csr_array(
                (arrays["data"], arrays["indices"], arrays["indptr"]),
                shape=(len(doc_ids), len(vocabulary)),
                copy=False,
            )
            if mmap:
                return _unchecked(counts, vocabulary, doc_ids, titles, arrays["n_unknown"])
            if arrays["data"].dtype != np.int32 or not counts.has_canonical_format:
                raise ValueError("counts must be int32 with sorted indices")
            return cls(counts, vocabulary, doc_ids, titles, arrays["n_unknown"])
        except CorpusFormatError:
            raise
        except ValueError as error:
            raise CorpusFormatError(f"{directory} does not hold a corpus: {error}") from error

    @property
    def _doc_ids(self) -> StringColumn:
        return StringColumn.of(self.doc_ids)

    @property
    def _titles(self) -> StringColumn:
        return StringColumn.of(self.titles)


def build_corpus(
    blocks: Iterable[TokenBlock], learn_from: Callable[[str], bool], pruning: Pruning
) -> Corpus:
    """Count the tokens of `blocks`, in memory, against a vocabulary of the training documents.

    Every document keeps its place, also if no word of it is left.

    Parameters
    ----------
    blocks
        Tokens, for instance a `TokenStore`, its bigrams joined or not. They are gone through twice;
        an iterator, which cannot be, is read into memory.
    learn_from
        Whether a document, by its id, is one to take the vocabulary from.
    pruning
        Which words of these documents make the vocabulary; it is in alphabetical order.

    Raises
    ------
    EmptyVocabularyError
        If no word is left.
    """
    if isinstance(blocks, Iterator):
        blocks = list(blocks)
    return Corpus.from_blocks(blocks, learn_vocabulary(blocks, learn_from, pruning))


def build_corpus_on_disk(
    path: str | os.PathLike[str], blocks: Iterable[TokenBlock], vocabulary: Sequence[str]
) -> Corpus:
    """Count the tokens of `blocks` against `vocabulary`, into the directory `path`; mapped.

    The same files, to the bit, as `Corpus.from_blocks(blocks, vocabulary).save(path)`, in one pass
    and the memory that a block takes. If it is interrupted a corpus that was there stays.

    Raises
    ------
    OSError
        If a file cannot be written.
    """
    with CorpusWriter(path, vocabulary) as writer:
        for bags in count_blocks(blocks, vocabulary):
            writer.append(bags)
    return Corpus.load(path, mmap=True)


def _checked_counts(counts: Any) -> sparse.csr_array[np.int32]:
    """`counts` as they are kept in a `Corpus`; arrays that are so already are not copied."""
    csr = sparse.csr_array(counts)
    if csr.ndim != 2:
        raise ValueError(f"counts must have two dimensions, not {csr.ndim}")
    if csr.dtype.kind not in "biuf":
        raise ValueError(f"counts must be numbers, not {csr.dtype}")
    csr.check_format(full_check=True)
    in_range = (csr.data >= 0) & (csr.data <= MOST)  # NaN is not
    if not np.all(in_range) or np.any(csr.data % 1):
        raise ValueError("counts must be whole numbers, none negative or above 2³¹ − 1")
    if not csr.has_canonical_format or not np.all(csr.data):
        csr = csr.copy()
        csr.sum_duplicates()
        csr.eliminate_zeros()
    kind = index_type(csr.nnz, *csr.shape)
    csr.indices = csr.indices.astype(kind, copy=False)
    csr.indptr = csr.indptr.astype(kind, copy=False)
    return csr.astype(np.int32, copy=False)


def _unchecked(
    counts: sparse.csr_array[np.int32],
    vocabulary: tuple[str, ...],
    doc_ids: StringColumn,
    titles: StringColumn,
    n_unknown: NDArray[np.int64],
) -> Corpus:
    """A corpus of arrays that are not to be read yet."""
    if counts.dtype != np.int32 or not len(doc_ids) == len(titles) == len(n_unknown):
        raise ValueError("its files do not fit together")
    corpus = object.__new__(Corpus)
    fields = {"counts": counts, "vocabulary": vocabulary, "doc_ids": doc_ids, "titles": titles}
    for name, value in (fields | {"n_unknown": n_unknown}).items():
        object.__setattr__(corpus, name, value)
    return corpus
