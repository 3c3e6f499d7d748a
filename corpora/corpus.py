"""Documents as bags of words: counts, the words they count, and the names of the documents.

    DIR/header.json           format, version, sizes, and name, size and SHA-256 of the other files
    DIR/<hash>-<field>.npy    the arrays of the counts; strings as the bytes of a JSON list

The header names the other files, and these are named by what they hold, so replacing the header is
what makes a new corpus take the place of a former one: at once or not at all.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from corpora.errors import CorpusFormatError, EmptyVocabularyError, UnsupportedVersionError
from corpora.files import atomic_write, atomic_write_text, remove_partial_files, sha256_of
from corpora.tokens.block import BREAK
from corpora.vocabulary import Pruning, prune

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from corpora.tokens.block import TokenBlock

FORMAT = "wikitopics corpus"
FORMAT_VERSION = 1
ARRAYS = ("data", "indices", "indptr", "n_unknown")
STRINGS = ("vocabulary", "doc_ids", "titles")
MOST = np.iinfo(np.int32).max


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
    doc_ids: tuple[str, ...]
    titles: tuple[str, ...] = ()
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
            "doc_ids": tuple(self.doc_ids),
            "titles": tuple(self.titles) or tuple(self.doc_ids),
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
        column_of = {word: column for column, word in enumerate(vocabulary)}
        counted = _Counted()
        for block in blocks:
            counted.add(block, [column_of.get(word, -1) for word in block.words], len(vocabulary))
        return counted.corpus(np.arange(len(vocabulary)), vocabulary)

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
        return sha256_of(_packed(self.vocabulary).data)

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of all that the corpus holds; the same after `save` and `load`."""
        digest = hashlib.sha256()
        for name, array in self._arrays():
            digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
            digest.update(array.data)
        return digest.hexdigest()

    def rows(self, which: ArrayLike) -> Corpus:
        """The documents that `which`, a mask (n_docs,) or indices, names, in that order."""
        chosen = np.asarray(which)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
        return Corpus(
            self.counts[chosen],
            self.vocabulary,
            tuple(self.doc_ids[d] for d in chosen.tolist()),
            tuple(self.titles[d] for d in chosen.tolist()),
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
        directory = Path(path)
        directory.mkdir(parents=True, exist_ok=True)
        files: dict[str, dict[str, str | int]] = {}
        for name, array in self._arrays():
            file = directory / f"{self.content_hash[:16]}-{name}.npy"
            with atomic_write(file) as stream:
                # Given a real file np.save writes to it by itself, and loses errno on a full disk.
                np.save(SimpleNamespace(write=stream.write), array, allow_pickle=False)
            files[name] = {
                "name": file.name,
                "bytes": file.stat().st_size,
                "sha256": _sha256_of_file(file),
            }
        header = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "n_docs": self.n_docs,
            "n_words": self.n_words,
            "n_tokens": self.n_tokens,
            "content_hash": self.content_hash,
            "files": files,
        }
        header["check"] = _check_of(header)
        atomic_write_text(directory / "header.json", json.dumps(header, indent=2) + "\n")

        remove_partial_files(directory)
        named = {entry["name"] for entry in files.values()}
        for file in directory.iterdir():
            if re.fullmatch(r"[0-9a-f]{16}-[a-z_]+\.npy", file.name) and file.name not in named:
                file.unlink()

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, mmap: bool = False) -> Corpus:
        """The corpus that `save` wrote.

        With `mmap` the counts stay on disk until they are used, and of them only the files' sizes
        are checked: every other check would read them all.

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
        header = _read_header(directory / "header.json")
        arrays = {
            name: _read_array(directory, header["files"][name], mmap=mmap and name in ARRAYS)
            for name in (*ARRAYS, *STRINGS)
        }
        try:
            vocabulary, doc_ids, titles = (tuple(json.loads(arrays[n].tobytes())) for n in STRINGS)
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
        except ValueError as error:
            raise CorpusFormatError(f"{directory} does not hold a corpus: {error}") from error

    def _arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        for name in ("data", "indices", "indptr"):
            yield name, getattr(self.counts, name)
        yield "n_unknown", self.n_unknown
        for name in STRINGS:
            yield name, _packed(getattr(self, name))


def build_corpus(
    blocks: Iterable[TokenBlock], learn_from: Callable[[str], bool], pruning: Pruning
) -> Corpus:
    """Count the tokens of `blocks`, in one pass, against a vocabulary of the training documents.

    Every document keeps its place, also if no word of it is left.

    Parameters
    ----------
    blocks
        Tokens, for instance a `TokenStore`, its bigrams joined or not.
    learn_from
        Whether a document, by its id, is one to take the vocabulary from.
    pruning
        Which words of these documents make the vocabulary; it is in alphabetical order.

    Raises
    ------
    EmptyVocabularyError
        If no word is left.
    """
    index: dict[str, int] = {}
    counted = _Counted()
    for block in blocks:
        columns = [index.setdefault(word, len(index)) for word in block.words]
        counted.add(block, columns, len(index))
    training = np.array([learn_from(doc_id) for doc_id in counted.doc_ids], dtype=bool)
    if counted.doc_ids and not training.any():
        raise EmptyVocabularyError(
            f"none of the {len(training)} documents is one to train on: add articles, or make the "
            "validation and test shares smaller"
        )
    frequency = counted.document_frequency(training, len(index))
    seen = np.flatnonzero(frequency)
    words = list(index)
    kept = seen[
        prune([words[w] for w in seen], frequency[seen], int(np.count_nonzero(training)), pruning)
    ]
    new_column = np.full(len(index), -1)
    new_column[kept] = np.arange(len(kept))
    return counted.corpus(new_column, [words[w] for w in kept.tolist()])


class _Counted:
    """Counts as they gather, block by block; columns are numbered as they come."""

    def __init__(self) -> None:
        self.doc_ids: list[str] = []
        self._titles: list[str] = []
        self._columns = [np.zeros(0, dtype=np.int32)]
        self._counts = [np.zeros(0, dtype=np.int32)]
        self._n_distinct = [np.zeros(0, dtype=np.int64)]
        self._n_unknown = [np.zeros(0, dtype=np.int64)]

    def add(self, block: TokenBlock, column_of: Sequence[int], n_columns: int) -> None:
        """Count `block`, whose word w belongs in column `column_of[w]`; -1 is for the unknown."""
        words = block.word_of != BREAK
        doc_of = block.doc_of[words]
        column = np.array(column_of, dtype=np.int64)[block.word_of[words]]
        known = column >= 0
        keys, counts = np.unique(doc_of[known] * n_columns + column[known], return_counts=True)
        doc_of_key, columns = np.divmod(keys, max(n_columns, 1))
        self._columns.append(columns.astype(np.int32))
        self._counts.append(counts.astype(np.int32))
        self._n_distinct.append(np.bincount(doc_of_key, minlength=block.n_docs))
        self._n_unknown.append(np.bincount(doc_of[~known], minlength=block.n_docs))
        self.doc_ids += block.doc_ids
        self._titles += block.titles

    def document_frequency(self, training: NDArray[np.bool_], n_columns: int) -> NDArray[np.int64]:
        """(n_columns,) how many of the training documents have a count in each column."""
        in_training = np.repeat(training, np.concatenate(self._n_distinct))
        return np.bincount(np.concatenate(self._columns)[in_training], minlength=n_columns)

    def corpus(self, new_column: NDArray[np.int64], vocabulary: Sequence[str]) -> Corpus:
        """The counts with column c moved to `new_column[c]`, or to the unknown if that is -1."""
        n_docs = len(self.doc_ids)
        column = new_column[np.concatenate(self._columns)]
        counts = np.concatenate(self._counts)
        doc_of = np.repeat(np.arange(n_docs), np.concatenate(self._n_distinct))
        known = column >= 0
        n_unknown = np.concatenate(self._n_unknown)
        np.add.at(n_unknown, doc_of[~known], counts[~known])
        start = np.concatenate(([0], np.cumsum(np.bincount(doc_of[known], minlength=n_docs))))
        return Corpus(
            sparse.csr_array(
                (counts[known], column[known], start), shape=(n_docs, len(vocabulary))
            ),
            tuple(vocabulary),
            tuple(self.doc_ids),
            tuple(self._titles),
            n_unknown,
        )


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
    index_type = np.int32 if max(csr.nnz, *csr.shape) <= MOST else np.int64
    csr.indices = csr.indices.astype(index_type, copy=False)
    csr.indptr = csr.indptr.astype(index_type, copy=False)
    return csr.astype(np.int32, copy=False)


def _unchecked(counts: sparse.csr_array[np.int32], *fields: Any) -> Corpus:
    """A corpus of arrays that are not to be read yet."""
    corpus = object.__new__(Corpus)
    names = ("counts", "vocabulary", "doc_ids", "titles", "n_unknown")
    for name, value in zip(names, (counts, *fields), strict=True):
        object.__setattr__(corpus, name, value)
    return corpus


def _packed(strings: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(strings).encode(), dtype=np.uint8)


def _sha256_of_file(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _check_of(header: dict[str, Any]) -> str:
    rest = {key: value for key, value in header.items() if key != "check"}
    return sha256_of(json.dumps(rest, sort_keys=True).encode())


def _read_header(path: Path) -> dict[str, Any]:
    try:
        header: dict[str, Any] = json.loads(path.read_bytes())
        if header["format"] != FORMAT:
            raise CorpusFormatError(f"{path} is not the header of a corpus")
        if header["version"] > FORMAT_VERSION:
            raise UnsupportedVersionError(
                f"{path} is of format version {header['version']}, and this software reads up to "
                f"{FORMAT_VERSION}; upgrade it"
            )
        if header["check"] != _check_of(header):
            raise CorpusFormatError(f"{path} was changed: its check does not fit")
    except CorpusFormatError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CorpusFormatError(f"{path} is not the header of a corpus: {error}") from error
    return header


def _read_array(directory: Path, entry: dict[str, Any], *, mmap: bool) -> NDArray[Any]:
    path = directory / entry["name"]
    if not path.is_file():
        raise CorpusFormatError(f"{path} is missing")
    if path.stat().st_size != entry["bytes"]:
        raise CorpusFormatError(
            f"{path} was changed: expected {entry['bytes']} bytes, found {path.stat().st_size}"
        )
    if not mmap and _sha256_of_file(path) != entry["sha256"]:
        raise CorpusFormatError(f"{path} was changed: its SHA-256 is not the one in header.json")
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r" if mmap else None, allow_pickle=False)
    except ValueError as error:
        raise CorpusFormatError(f"{path} is not an array: {error}") from error
    return array
