"""Exact counts of words, of any number."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from corpora.files import PathLike
from corpora.spilled_run import Chunk, SpilledRun, SpillFile, merge, objects

MAX_WORDS = 500_000  # Different words that are held in memory, at some 200 bytes each


class WordCounts:
    """Adds up counts of words in a dictionary; at `max_words` different ones it becomes a sorted
    run in a temporary file in `directory`.
    """

    def __init__(self, max_words: int = MAX_WORDS, directory: PathLike | None = None) -> None:
        self._most_words, self._directory = max_words, directory
        self._count_of: dict[str, int] = {}
        self._spill: SpillFile | None = None
        self._runs: list[SpilledRun] = []

    def add(self, words: Sequence[str], counts: NDArray[np.integer]) -> None:
        """Count `words[w]` another `counts[w]` times; words counted 0 times do not get in."""
        count_of = self._count_of
        for word, n in zip(words, counts.tolist(), strict=True):
            if n:
                count_of[word] = count_of.get(word, 0) + n
        if len(count_of) > self._most_words:
            if self._spill is None:
                self._spill = SpillFile(self._directory)
            run = SpilledRun(self._spill, of_strings=True)
            run.append(*self._in_memory())
            self._runs.append(run)
            count_of.clear()

    def chunks(self) -> Iterator[Chunk]:
        """The words, as chunks, in alphabetical order, each once."""
        rest = self._in_memory()
        if not self._runs:
            yield rest
            return
        last = [rest] if len(rest.keys) else []
        for merged in merge([*self._runs, last]):
            yield Chunk(merged.keys, merged.counts)

    def close(self) -> None:
        """Delete the temporary file, if there was need of one."""
        if self._spill is not None:
            self._spill.close()

    def _in_memory(self) -> Chunk:
        words = sorted(self._count_of)
        counts = np.array([self._count_of[word] for word in words], dtype=np.int64)
        return Chunk(objects(words), counts)
