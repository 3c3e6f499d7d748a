"""Index of the positions of words, built from a text of any length.

Parts of the text are turned into postings by word in memory, and spilled to a temporary file. As
the parts follow each other, the postings of a word are those of all parts, one after the other:
they are gathered for some words at a time.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corpora.content_hash import json_array
from corpora.files import PathLike, atomic_write
from corpora.spilled_run import SpillFile
from corpora.tokens.running_words import RunningWords
from evaluation.arrays import Ints32
from evaluation.topics.reference.index_file import SectionWriter
from evaluation.topics.reference.postings import Bytes, encode, encode_numbers, gather_pieces

MAX_TOKENS = 1 << 23
"""Tokens in memory: with their postings they take some 12 bytes each."""
MAX_BYTES = 1 << 25
"""Bytes of postings that are gathered at a time."""
CHECK_BYTES = 8
"""First bytes of the SHA-256 of each word's postings that are stored."""


def build_index(
    path: PathLike,
    words: Iterable[RunningWords],
    vocabulary: Sequence[str],
    about: dict[str, Any] | None = None,
    *,
    max_tokens: int = MAX_TOKENS,
    max_bytes: int = MAX_BYTES,
) -> None:
    """Write the index of texts, given as documents in order, to a file that appears whole.

    `words` are numbers of `vocabulary`. `about` is stored: source, settings, licence. Memory holds
    `max_tokens` tokens and `max_bytes` of postings, and some bytes for each word and document;
    temporary files beside `path` take about as much as the index. The file does not depend on
    `max_tokens` and `max_bytes`.

    Raises ValueError if a word is in the vocabulary twice; OSError if a file cannot be written.
    """
    if len(set(vocabulary)) != len(vocabulary):
        raise ValueError("a word is in the vocabulary twice")
    with SpillFile(Path(path).parent) as spill:
        parts = _Parts(spill, len(vocabulary), max_tokens)
        lengths, starts = [np.zeros(0, np.uint8)], [np.zeros(0, bool)]
        n_docs = 0
        for each in words:
            _check_words(each, len(vocabulary))
            parts.add(each.word_of)
            lengths.append(encode_numbers(each.lengths))
            starts.append(each.starts_article)
            n_docs += each.n_docs
        parts.spill()
        with atomic_write(path) as stream:
            file = SectionWriter(stream)
            checks: list[bytes] = []
            file.write("postings", parts.gathered(max_bytes, checks), checked=False)
            file.write("checks", [b"".join(checks)])
            file.write("word_bytes", [encode_numbers(parts.n_bytes).data])
            file.write("word_tokens", [encode_numbers(parts.n_tokens).data])
            file.write("words", [json_array(vocabulary).data])
            file.write("doc_lengths", [np.concatenate(lengths).data])
            is_start = np.concatenate(starts)
            file.write("article_starts", [np.packbits(is_start).data])
            numbers = {
                "n_words": len(vocabulary),
                "n_docs": n_docs,
                "n_articles": int(is_start.sum()),
                "n_tokens": int(parts.n_tokens.sum()),
                "n_positions": parts.n_positions,
            }
            file.finish({**numbers, "about": about or {}})


def _check_words(words: RunningWords, n_words: int) -> None:
    """Raise ValueError if a word has no number below `n_words`, or lengths do not add up."""
    if words.lengths.sum() != len(words.word_of):
        raise ValueError(
            f"lengths of documents add up to {words.lengths.sum():,}, and there are "
            f"{len(words.word_of):,} tokens"
        )
    if len(words.word_of) and not -1 <= words.word_of.min() <= words.word_of.max() < n_words:
        raise ValueError(f"words must be numbers below {n_words:,}, or -1 if they are not counted")


class _Parts:
    """Postings of the parts of a text, spilled."""

    def __init__(self, spill: SpillFile, n_words: int, max_tokens: int) -> None:
        self._spill, self._max_tokens = spill, max_tokens
        self._waiting: list[Ints32] = []
        self._n_waiting = 0
        self._last = np.full(n_words, -1, dtype=np.int64)
        self._places: list[tuple[int, int]] = []  # Of each part: n_bytes (V,) and postings
        self.n_bytes = np.zeros(n_words, dtype=np.int64)
        self.n_tokens = np.zeros(n_words, dtype=np.int64)
        self.n_positions = 0

    def add(self, word_of: Ints32) -> None:
        """Add tokens, which may be many."""
        for i in range(0, len(word_of), self._max_tokens):
            part = word_of[i : i + self._max_tokens]
            self._waiting.append(part)
            self._n_waiting += len(part)
            if self._n_waiting >= self._max_tokens:
                self.spill()

    def spill(self) -> None:
        """Write the postings of what waits."""
        if not self._n_waiting:
            return
        word_of = np.concatenate(self._waiting)
        self._waiting, self._n_waiting = [], 0
        data, n_bytes = encode(word_of, self.n_positions, self._last)
        at = self._spill.append(n_bytes.astype(np.uint32).data)
        self._places.append((at, self._spill.append(data.data)))
        self.n_bytes += n_bytes
        self.n_tokens += np.bincount(word_of[word_of >= 0], minlength=len(self._last))
        self.n_positions += len(word_of)

    def gathered(self, max_bytes: int, checks: list[bytes]) -> Iterator[memoryview]:
        """Yield the postings of all words in order; the check of each is appended to `checks`."""
        end = np.cumsum(self.n_bytes)
        read = [0] * len(self._places)  # Bytes of each part that were gathered
        w = 0
        while w < len(end):
            before = int(end[w] - self.n_bytes[w])
            stop = max(w + 1, int(np.searchsorted(end, before + max_bytes, side="right")))
            n_bytes = self.n_bytes[w:stop]
            start = np.cumsum(n_bytes) - n_bytes
            cursor, data = start.copy(), np.empty(int(n_bytes.sum()), dtype=np.uint8)
            for p, (sizes_at, data_at) in enumerate(self._places):
                raw = self._spill.read(sizes_at + 4 * w, 4 * (stop - w))
                sizes = np.frombuffer(raw, dtype=np.uint32).astype(np.int64)
                total = int(sizes.sum())
                piece = np.frombuffer(self._spill.read(data_at + read[p], total), dtype=np.uint8)
                gather_pieces(piece, sizes, cursor, data)
                read[p] += total
            checks += [
                check_of(data[i:j]) for i, j in zip(start.tolist(), cursor.tolist(), strict=True)
            ]
            yield data.data
            w = stop


def check_of(postings: Bytes) -> bytes:
    """Return the stored bytes of the SHA-256 of a word's postings."""
    return hashlib.sha256(postings.data).digest()[:CHECK_BYTES]
