"""Documents as bags of words: counts, vocabulary, document ids and titles.

    DIR/header.json            format, version, sizes, and name, size and SHA-256 of the other files
    DIR/<hash>-data.npy        the arrays of the counts: data, indices, indptr; and n_unknown
    DIR/<hash>-vocabulary.npy  a JSON list, as bytes
    DIR/<hash>-doc_ids.npy     UTF-8, one id after the other; doc_ids_start has the offsets
    DIR/<hash>-titles.npy      the same with titles_start

File names contain the hash of the content: replacing the header replaces the corpus atomically. In
version 1 of the format, which is still read, all strings were JSON lists.

`build_corpus_on_disk` writes a corpus larger than memory, and `Corpus.load` maps it: `rows` and
`batches` read only their documents from disk. See also `corpora.mapped_split`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from corpora.array_file import release
from corpora.content_hash import Content, content_hash, json_array, json_bytes, of_strings
from corpora.corpus_files import read_array, read_header, read_strings
from corpora.corpus_writer import Bags, CorpusWriter
from corpora.count_checks import check_mapped_counts, checked_counts
from corpora.counting import count_blocks
from corpora.errors import CorpusFormatError
from corpora.files import sha256_of
from corpora.row_blocks import row_blocks
from corpora.string_column import CHUNK, StringColumn
from corpora.vocabulary import Pruning, learn_vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from corpora.files import PathLike
    from corpora.tokens.block import TokenBlock

ARRAYS = ("data", "indices", "indptr", "n_unknown")
PIECE = 1 << 22  # Elements of a mapped array to hash at a time


class MappedFrom(NamedTuple):
    """Source of a mapped corpus."""

    directory: Path
    content_hash: str
    """Hash in the header; empty in version 1 of the format, where it is not reliable."""
    is_checked: bool


@dataclass(frozen=True, eq=False)
class Corpus:
    """Counts of words in documents. Two corpora are the same if their `content_hash` is. Raises
    ValueError if the counts are not whole numbers from 0 to 2³¹ − 1, or shapes do not fit together.
    """

    counts: sparse.csr_array[np.int32]
    """(n_docs, n_words) sorted, without explicit zeros; other matrices are converted."""
    vocabulary: tuple[str, ...]  #: Words of the columns, all different.
    doc_ids: Sequence[str]  #: Stored as a `StringColumn`, which behaves like a tuple; titles too.
    titles: Sequence[str] = ()  #: Titles of documents; by default their ids.
    n_unknown: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """(n_docs,) tokens of each document that are not in the vocabulary; by default zeros."""
    mapped_from: MappedFrom | None = field(default=None, init=False, repr=False)
    """None for a corpus in memory."""

    def __post_init__(self) -> None:
        counts = checked_counts(self.counts)
        n_docs, n_words = counts.shape
        n_unknown = np.asarray(self.n_unknown if len(self.n_unknown) else np.zeros(n_docs))
        fields: dict[str, Any] = {
            "counts": counts,
            "vocabulary": tuple(self.vocabulary),
            "doc_ids": StringColumn.of(self.doc_ids),
            "titles": StringColumn.of(self.titles if len(self.titles) else self.doc_ids),
            "n_unknown": n_unknown.astype(np.int64),
        }
        for name, value in fields.items():
            expected = n_words if name == "vocabulary" else n_docs
            if name != "counts" and len(value) != expected:
                raise ValueError(
                    f"counts are {n_docs} × {n_words}, so {name} must have {expected} entries, "
                    f"not {len(value)}"
                )
        if len(set(fields["vocabulary"])) != n_words:
            raise ValueError("a word is in the vocabulary twice")
        if np.any(n_unknown < 0):
            raise ValueError("n_unknown must not be negative")
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_blocks(cls, blocks: Iterable[TokenBlock], vocabulary: Sequence[str]) -> Corpus:
        """Count the tokens of `blocks`; words that are not in `vocabulary` are unknown."""
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
        """Number of documents, including empty ones."""
        return len(self.doc_ids)

    @property
    def n_words(self) -> int:
        """Number of words in the vocabulary."""
        return len(self.vocabulary)

    @property
    def n_tokens(self) -> int:
        """Number of tokens that are in the vocabulary."""
        return sum(int(block.data.sum(dtype=np.int64)) for _, block in row_blocks(self.counts))

    @cached_property
    def vocabulary_hash(self) -> str:
        """SHA-256 of the vocabulary in its order."""
        return sha256_of(json_array(self.vocabulary).data)

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of the content, the same after `save` and `load`. A checked mapped corpus takes
        it from the header; otherwise all arrays are read.
        """
        source = self.mapped_from
        if source is not None and source.is_checked and source.content_hash:
            return source.content_hash
        counts = self.counts
        arrays: tuple[NDArray[Any], ...] = (counts.data, counts.indices, counts.indptr)
        arrays += self.n_unknown, json_array(self.vocabulary)
        contents = [
            Content(name, array.dtype, len(array), _pieces(array))
            for name, array in zip((*ARRAYS, "vocabulary"), arrays, strict=True)
        ]
        for name, column in (("doc_ids", self._doc_ids), ("titles", self._titles)):
            sizes = (json_bytes(c, is_first=not i) for i, c in enumerate(_chunks(column)))
            contents.append(of_strings(name, _chunks(column), sum(sizes)))
        return content_hash(contents)

    def rows(self, which: ArrayLike) -> Corpus:
        """Return the documents that `which` selects, a mask (n_docs,) or indices, in that order."""
        chosen = np.asarray(which)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
        found = Corpus(
            self.counts[chosen],
            self.vocabulary,
            self._doc_ids.take(chosen),
            self._titles.take(chosen),
            self.n_unknown[chosen],
        )
        _release(self)
        return found

    def batches(self, batch_size: int) -> Iterator[sparse.csr_array[np.int32]]:
        """Yield the counts, `batch_size` documents at a time; only these are read from disk."""
        for start in range(0, self.n_docs, batch_size):
            yield self.counts[start : start + batch_size]
            release(self.counts.data, self.counts.indices)

    def save(self, path: PathLike) -> None:
        """Write the directory `path`; an existing corpus is replaced atomically. One process at a
        time may save to a directory; any number may read it.
        """
        with CorpusWriter(path, self.vocabulary) as writer:
            for i in range(0, self.n_docs, CHUNK):
                some = slice(i, i + CHUNK)
                strings = self._doc_ids[some], self._titles[some]
                writer.append(Bags(self.counts[some], *strings, self.n_unknown[some]))

    @classmethod
    def load(cls, path: PathLike, *, mmap: bool = False, checked: bool = False) -> Corpus:
        """Load the corpus that `save` wrote. With `mmap` all but the vocabulary stays on disk until
        it is used, and only the sizes of the files are checked; `checked` also verifies their
        content, which reads every file once. Raises FileNotFoundError if there is no corpus;
        CorpusFormatError, naming the file, if one is missing or was changed;
        UnsupportedVersionError if a newer version of this software wrote it.
        """
        directory = Path(path)
        header = read_header(directory)
        how = {"mmap": mmap, "checked": checked}
        arrays = {name: read_array(directory, header, name, **how) for name in ARRAYS}
        try:
            vocabulary = tuple(read_strings(directory, header, "vocabulary"))
            doc_ids = read_strings(directory, header, "doc_ids", **how)
            titles = read_strings(directory, header, "titles", **how)
            counts = sparse.csr_array(
                (arrays["data"], arrays["indices"], arrays["indptr"]),
                shape=(len(doc_ids), len(vocabulary)),
                copy=False,
            )
            if mmap:
                stated = header["content_hash"] if header["version"] > 1 else ""
                source = MappedFrom(directory, stated, checked)
                return _mapped(counts, vocabulary, doc_ids, titles, arrays["n_unknown"], source)
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

    Every document keeps its row, even if none of its words is in the vocabulary. `blocks`, for
    instance a `TokenStore`, are read twice; an iterator is read into memory. `learn_from`, called
    with a document's id, says whether it is a training document; `pruning` holds the thresholds of
    the vocabulary, which is in alphabetical order. Raises EmptyVocabularyError if no word is kept.
    """
    if isinstance(blocks, Iterator):
        blocks = list(blocks)
    return Corpus.from_blocks(blocks, learn_vocabulary(blocks, learn_from, pruning))


def build_corpus_on_disk(
    path: PathLike, blocks: Iterable[TokenBlock], vocabulary: Sequence[str]
) -> Corpus:
    """Count the tokens of `blocks` into a corpus in the directory `path`, and map it. The files
    equal those of `Corpus.from_blocks(blocks, vocabulary).save(path)`, in the memory of a block.
    After an interruption or an OSError an existing corpus is unchanged.
    """
    return build_corpus_of_bags(path, count_blocks(blocks, vocabulary), vocabulary)


def build_corpus_of_bags(path: PathLike, bags: Iterable[Bags], vocabulary: Sequence[str]) -> Corpus:
    """Write the same as `build_corpus_on_disk`, from `counting.BagsOfBlock` of all blocks."""
    with CorpusWriter(path, vocabulary) as writer:
        for each in bags:
            writer.append(each)
    return Corpus.load(path, mmap=True)


def _mapped(
    counts: sparse.csr_array[np.int32],
    vocabulary: tuple[str, ...],
    doc_ids: StringColumn,
    titles: StringColumn,
    n_unknown: NDArray[np.int64],
    source: MappedFrom,
) -> Corpus:
    """A corpus of mapped arrays; if the source is checked, verify that they fit together."""
    if counts.dtype != np.int32 or not len(doc_ids) == len(titles) == len(n_unknown):
        raise ValueError("its files do not fit together")
    corpus = object.__new__(Corpus)
    fields = {"counts": counts, "vocabulary": vocabulary, "doc_ids": doc_ids, "titles": titles}
    for name, value in (fields | {"n_unknown": n_unknown, "mapped_from": source}).items():
        object.__setattr__(corpus, name, value)
    if source.is_checked:
        check_mapped_counts(counts)
        if len(set(vocabulary)) != len(vocabulary):
            raise ValueError("a word is in the vocabulary twice")
        if np.any(n_unknown < 0):
            raise ValueError("n_unknown must not be negative")
        _release(corpus)
    return corpus


def _release(corpus: Corpus) -> None:
    """Free the memory that reading a mapped corpus has taken."""
    columns = StringColumn.of(corpus.doc_ids), StringColumn.of(corpus.titles)
    counts = corpus.counts
    release(counts.data, counts.indices, counts.indptr, corpus.n_unknown)
    release(*(array for column in columns for array in (column.data, column.start)))


def _pieces(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield the elements of an array in parts, and free mapped memory after each."""
    for i in range(0, len(array), PIECE):
        yield array[i : i + PIECE]
        release(array)


def _chunks(column: StringColumn) -> Iterator[StringColumn]:
    """Yield the strings in chunks, and free mapped memory after each."""
    for chunk in column.chunks():
        yield chunk
        release(column.data, column.start)
