"""Corpora larger than memory: documents are appended to files as they are counted."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from corpora.array_file import ArrayFile
from corpora.content_hash import Content, content_hash, json_array, json_bytes, of_strings
from corpora.corpus_files import build_corpus_on_disk_files
from corpora.files import PathLike, remove_partial_files
from corpora.string_column import CHUNK, StringColumn

MAX_INT32 = np.iinfo(np.int32).max
"""Largest count, and largest number of documents or words in a file format."""


class Bags(NamedTuple):
    """Some documents of a corpus."""

    counts: sparse.csr_array[np.int32]
    """(n_docs, n_words) sorted, without duplicates or explicit zeros."""
    doc_ids: Sequence[str]
    titles: Sequence[str]
    n_unknown: NDArray[np.int64]  # (n_docs,) tokens of each document that are not in the vocabulary


class CorpusWriter:
    """Writes the directory `path`; the corpus appears, complete, at the end of the `with` block.
    After an error or a kill an existing corpus is unchanged; the next writer deletes partial files.
    One process at a time may write to a directory. Raises ValueError if a word is in the vocabulary
    twice; OSError if a file cannot be written.
    """

    def __init__(self, path: PathLike, vocabulary: Sequence[str]) -> None:
        if len(set(vocabulary)) != len(vocabulary):
            raise ValueError("a word is in the vocabulary twice")
        self._directory = Path(path)
        self._vocabulary = tuple(vocabulary)
        self._files: dict[str, ArrayFile] = {}
        self._n_tokens = 0

    def __enter__(self) -> Self:
        self._directory.mkdir(parents=True, exist_ok=True)
        remove_partial_files(self._directory)
        self._data = self._new("data", np.int32)
        self._indices = self._new("indices", np.int32)
        self._indptr = self._new("indptr", np.int64)
        self._n_unknown = self._new("n_unknown", np.int64)
        self._doc_ids = _StringFile(self._new("doc_ids_start", np.int64), self._new("doc_ids"))
        self._titles = _StringFile(self._new("titles_start", np.int64), self._new("titles"))
        self._indptr.append(np.zeros(1, dtype=np.int64))
        return self

    def append(self, bags: Bags) -> None:
        """Append documents. Raises ValueError if counts are not sorted, or shapes do not fit."""
        counts = bags.counts
        n_docs, n_words = counts.shape
        if n_words != len(self._vocabulary) or not counts.has_canonical_format:
            raise ValueError(f"counts must be sorted, with {len(self._vocabulary)} columns")
        if counts.dtype != np.int32 or np.any(counts.data < 1):
            raise ValueError("counts must be int32, and those that are stored positive")
        if not len(bags.doc_ids) == len(bags.titles) == len(bags.n_unknown) == n_docs:
            raise ValueError(f"{n_docs} rows need as many doc_ids, titles and n_unknown")
        self._indptr.append(self._data.size + counts.indptr[1:].astype(np.int64))
        self._data.append(counts.data)
        self._indices.append(counts.indices)
        self._n_unknown.append(bags.n_unknown)
        self._doc_ids.append(StringColumn.of(bags.doc_ids))
        self._titles.append(StringColumn.of(bags.titles))
        self._n_tokens += int(counts.data.sum(dtype=np.int64))

    def __exit__(self, exception_type: type[BaseException] | None, *rest: object) -> None:
        try:
            if exception_type is None:
                self._finish()
        finally:
            for file in self._files.values():
                file.discard()

    def _new(self, name: str, dtype: type[np.integer] = np.uint8) -> ArrayFile:
        self._files[name] = ArrayFile(self._directory, name, dtype)
        return self._files[name]

    def _finish(self) -> None:
        files = self._files
        n_docs, n_words = self._n_unknown.size, len(self._vocabulary)
        kind = index_type(self._data.size, n_docs, n_words)
        for name in ("indices", "indptr"):
            files[name] = files[name].converted(kind)
        self._new("vocabulary").append(json_array(self._vocabulary))
        hashed = content_hash(
            [
                *(_content(name, files[name]) for name in ("data", "indices", "indptr")),
                _content("n_unknown", files["n_unknown"]),
                _content("vocabulary", files["vocabulary"]),
                of_strings("doc_ids", self._doc_ids.chunks(), self._doc_ids.n_json_bytes),
                of_strings("titles", self._titles.chunks(), self._titles.n_json_bytes),
            ]
        )
        about = {"n_docs": n_docs, "n_words": n_words, "n_tokens": self._n_tokens}
        build_corpus_on_disk_files(self._directory, files, about, hashed)


class _StringFile:
    """A growing column of strings."""

    def __init__(self, start: ArrayFile, data: ArrayFile) -> None:
        self._start, self._data = start, data
        self._start.append(np.zeros(1, dtype=np.int64))
        self.n_json_bytes = 0  # Bytes of the strings as a JSON list, without the brackets

    def append(self, strings: StringColumn) -> None:
        self.n_json_bytes += json_bytes(strings, is_first=self._start.size == 1)
        start, data = strings.packed
        self._start.append(self._data.size + start[1:])
        self._data.append(data)

    def chunks(self) -> Iterator[StringColumn]:
        n = self._start.size - 1
        for i in range(0, n, CHUNK):
            start = self._start.read(i, min(i + CHUNK, n) + 1)
            yield StringColumn(start - start[0], self._data.read(int(start[0]), int(start[-1])))


def index_type(n_counts: int, n_docs: int, n_words: int) -> type[np.integer]:
    """Type of the indices of a matrix: 32 bits if all fit, otherwise 64."""
    return np.int32 if max(n_counts, n_docs, n_words) <= MAX_INT32 else np.int64


def _content(name: str, file: ArrayFile) -> Content:
    return Content(name, file.dtype, file.size, file.chunks())
