"""The tokens of one shard of articles, as integers, and the file they are kept in."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from corpora.errors import CorpusFormatError, UnsupportedVersionError
from corpora.files import atomic_write

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

BREAK: Final = -1
"""Stands in `TokenBlock.word_of` after each run of words that were side by side in the text."""

FORMAT_VERSION = 1


@dataclass(frozen=True, eq=False)
class TokenBlock:
    """Documents as runs of words: the words of a run stood side by side in the text.

    Raises
    ------
    ValueError
        If the arrays contradict each other.
    """

    words: tuple[str, ...]
    """The vocabulary of this block alone, sorted."""
    word_of: NDArray[np.int32]
    """(n_tokens + n_runs,) indices into `words`, and BREAK as the end of each run."""
    doc_start: NDArray[np.int64]
    """(n_docs + 1,) document d is `word_of[doc_start[d]:doc_start[d + 1]]`, which may be empty."""
    doc_ids: tuple[str, ...]
    titles: tuple[str, ...]

    def __post_init__(self) -> None:
        ends = self.doc_start[1:][np.diff(self.doc_start) != 0]
        if (
            len(self.doc_start) != len(self.doc_ids) + 1
            or len(self.titles) != len(self.doc_ids)
            or self.doc_start[0] != 0
            or self.doc_start[-1] != len(self.word_of)
            or np.any(np.diff(self.doc_start) < 0)
            or np.any(self.word_of[ends - 1] != BREAK)
            or np.any((self.word_of < BREAK) | (self.word_of >= len(self.words)))
        ):
            raise ValueError("the arrays of the token block contradict each other")

    @classmethod
    def from_runs(
        cls,
        documents: Iterable[Iterable[Sequence[str]]],
        doc_ids: Iterable[str],
        titles: Iterable[str],
    ) -> TokenBlock:
        """The block of `documents`, each a sequence of runs, each a sequence of words."""
        runs = [[list(run) for run in document if run] for document in documents]
        words = sorted({word for document in runs for run in document for word in run})
        index = {word: w for w, word in enumerate(words)}
        lengths = [sum(len(run) + 1 for run in document) for document in runs]
        word_of = [
            w
            for document in runs
            for run in document
            for w in (*(index[word] for word in run), BREAK)
        ]
        return cls(
            tuple(words),
            np.array(word_of, dtype=np.int32),
            np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))),
            tuple(doc_ids),
            tuple(titles),
        )

    @property
    def n_docs(self) -> int:
        """Documents, empty ones too."""
        return len(self.doc_ids)

    @property
    def n_tokens(self) -> int:
        """Words in running text."""
        return int(np.count_nonzero(self.word_of != BREAK))

    @property
    def doc_of(self) -> NDArray[np.int64]:
        """The document of each entry of `word_of`."""
        return np.repeat(np.arange(self.n_docs), np.diff(self.doc_start))

    def runs(self, d: int) -> list[list[str]]:
        """The runs of document `d`."""
        runs: list[list[str]] = []
        run: list[str] = []
        for w in self.word_of[self.doc_start[d] : self.doc_start[d + 1]]:
            if w != BREAK:
                run.append(self.words[w])
            else:
                runs.append(run)
                run = []
        return runs

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a .npz file, whole or not at all; equal blocks make equal files.

        Its last 32 bytes, to a zip reader the archive's comment, are the SHA-256 of the rest.
        """
        packed = io.BytesIO()
        np.savez_compressed(
            packed,
            allow_pickle=False,
            version=np.int64(FORMAT_VERSION),
            words=_packed(self.words),
            word_of=self.word_of,
            doc_start=self.doc_start,
            doc_ids=_packed(self.doc_ids),
            titles=_packed(self.titles),
        )
        # A zip file without a comment ends in the comment's length, two bytes of zero.
        content = packed.getvalue()[:-2] + (32).to_bytes(2, "little")
        with atomic_write(path) as stream:
            stream.write(content + hashlib.sha256(content).digest())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> TokenBlock:
        """The block that `save` wrote.

        Raises
        ------
        CorpusFormatError
            If the file is not a token block or was changed.
        UnsupportedVersionError
            If a newer version of this software wrote it.
        """
        stored = Path(path).read_bytes()
        content, digest = stored[:-32], stored[-32:]
        if hashlib.sha256(content).digest() != digest:
            raise CorpusFormatError(f"{path}: the tokens are damaged; delete the file to redo it")
        with np.load(io.BytesIO(stored), allow_pickle=False) as arrays:
            try:
                if arrays["version"] > FORMAT_VERSION:
                    raise UnsupportedVersionError(f"{path} was written by a newer wikitopics")
                return cls(
                    _unpacked(arrays["words"]),
                    arrays["word_of"],
                    arrays["doc_start"],
                    _unpacked(arrays["doc_ids"]),
                    _unpacked(arrays["titles"]),
                )
            except KeyError as error:
                raise CorpusFormatError(f"{path} is not a token block: {error}") from error


def _packed(strings: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(strings).encode(), dtype=np.uint8)


def _unpacked(array: NDArray[np.uint8]) -> tuple[str, ...]:
    return tuple(json.loads(array.tobytes()))
