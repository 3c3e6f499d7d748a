"""Exact counts of words and adjacent pairs, of any number.

Words are numbered as they come, and a pair is one integer, first word << 32 | second word. When
memory is full, words and pairs become sorted runs on disk. In a run, and in the merge of all runs,
words are numbered in alphabetical order, so that sorted pairs stay sorted when numbers change.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpora.files import PathLike
from corpora.spilled_run import SpilledRun, SpillFile, merge, objects, ranks
from corpora.tokens.block_pairs import BlockPairs
from corpora.word_counts import MAX_WORDS

MAX_PAIRS = 4_000_000
"""Different pairs held in memory, at 16 bytes each; some more while they gather."""

MAX_WAITING = 8192  # Numbers of a run's words that are held in memory while runs are merged
SECOND = 0xFFFFFFFF


class Pairs(NamedTuple):
    """Some pairs and the counts that scores need."""

    a: NDArray[np.int64]  # (n,) first words, as numbers in the alphabetical order of all words
    b: NDArray[np.int64]  # (n,) second words
    n_a: NDArray[np.int64]  # (n,) counts of first words, beside whatever word
    n_b: NDArray[np.int64]
    n_ab: NDArray[np.int64]


class PairTotals:
    """All counts together, on disk; made by `PairCounts.totals`."""

    def __init__(
        self,
        words: SpilledRun,
        n_word: NDArray[np.int64],
        frequent: SpilledRun,
        n_tokens: int,
        n_entries: int,
    ) -> None:
        self._words, self._n_word, self._frequent = words, n_word, frequent
        self.n_tokens = n_tokens  # Words in running text
        self.n_entries = n_entries  # Different words and different pairs

    def __iter__(self) -> Iterator[Pairs]:
        """The frequent pairs in alphabetical order of first and then second words, in chunks."""
        for keys, n_ab in self._frequent:
            a, b = keys >> 32, keys & SECOND
            yield Pairs(a, b, self._n_word[a], self._n_word[b], n_ab)

    def words(self, numbers: NDArray[np.int64]) -> list[str]:
        """The words with these numbers, which are ascending."""
        return self._words.keys_at(numbers)


class PairCounts:
    """Adds up words and pairs of neighbours, block by block; `max_words` and `max_pairs` different
    ones are in memory, the rest in temporary files in `directory`.
    """

    def __init__(
        self,
        max_words: int = MAX_WORDS,
        max_pairs: int = MAX_PAIRS,
        directory: PathLike | None = None,
    ) -> None:
        self._most_words, self._most_pairs = max_words, max_pairs
        self._spill = SpillFile(directory)
        self._index: dict[str, int] = {}
        self._n_word = np.zeros(1024, dtype=np.int64)
        self._pairs = _KeyCounts(max(1, max_pairs // 2))
        self._runs: list[tuple[SpilledRun, SpilledRun]] = []

    def add(self, block: BlockPairs) -> None:
        """Add the counts of a block."""
        index = self._index
        number = np.array(
            [index.setdefault(word, len(index)) for word in block.words], dtype=np.int64
        )
        if len(index) > len(self._n_word):
            self._n_word = np.concatenate(
                [self._n_word, np.zeros(2 * len(index) - len(self._n_word), dtype=np.int64)]
            )
        self._n_word[number] += block.n_word
        self._pairs.add(number[block.first] << 32 | number[block.second], block.n_pair)
        if len(index) > self._most_words or self._pairs.n > self._most_pairs:
            self._write_run()

    def totals(self, min_count: int) -> PairTotals:
        """All counts, of pairs those that occur at least `min_count` times, on disk until `close`.
        Nothing can be added afterwards.
        """
        self._write_run()
        words = SpilledRun(self._spill, of_strings=True)
        numbers = [_Numbers(self._spill) for _ in self._runs]
        for merged in merge([run for run, _ in self._runs]):
            words.append(merged.keys, merged.counts)
            for number, places in zip(numbers, merged.places, strict=True):
                number.append(places)
        n_word = self._in_one_piece(counts for _, counts in words)

        n_pairs = 0
        frequent = SpilledRun(self._spill, of_strings=False)
        pair_runs = [pairs for _, pairs in self._runs]
        if len(pair_runs) > 1:
            pair_runs = list(map(self._renumbered, pair_runs, numbers))
        for keys, counts, _ in merge(pair_runs):
            n_pairs += len(keys)
            is_frequent = counts >= min_count
            frequent.append(keys[is_frequent], counts[is_frequent])
        return PairTotals(words, n_word, frequent, int(n_word.sum()), len(words) + n_pairs)

    def close(self) -> None:
        """Delete the temporary file."""
        self._spill.close()

    def _write_run(self) -> None:
        words = list(self._index)
        order, rank = ranks(words)
        word_run = SpilledRun(self._spill, of_strings=True)
        word_run.append(objects(words)[order], self._n_word[order])
        keys, counts = self._pairs.total()
        keys = rank[keys >> 32] << 32 | rank[keys & SECOND]
        by_key = np.argsort(keys)
        pair_run = SpilledRun(self._spill, of_strings=False)
        pair_run.append(keys[by_key], counts[by_key])
        self._runs.append((word_run, pair_run))
        self._index.clear()
        self._n_word[:] = 0
        self._pairs.clear()

    def _renumbered(self, pairs: SpilledRun, numbers: "_Numbers") -> SpilledRun:
        """A run of pairs, on disk again, in the numbers that its words have in the merge."""
        number = numbers.all()
        renumbered = SpilledRun(self._spill, of_strings=False)
        for keys, counts in pairs:
            renumbered.append(number[keys >> 32] << 32 | number[keys & SECOND], counts)
        return renumbered

    def _in_one_piece(self, parts: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
        """The arrays as one, which stays on disk."""
        offset, n = self._spill.append(), 0
        for part in parts:
            self._spill.append(part)
            n += len(part)
        return self._spill.array(offset, n, np.int64)


class _Numbers:
    """Number of each word of a run in the merge, in order; on disk except the last."""

    def __init__(self, spill: SpillFile) -> None:
        self._spill = spill
        self._stored: list[tuple[int, int]] = []
        self._waiting: list[NDArray[np.int64]] = []
        self._n_waiting = 0

    def append(self, numbers: NDArray[np.int64]) -> None:
        if len(numbers):
            # A copy, as the array is part of a larger one, which this would keep.
            self._waiting.append(numbers.copy())
            self._n_waiting += len(numbers)
        if self._n_waiting > MAX_WAITING or len(self._waiting) > MAX_WAITING // 100:
            together = np.concatenate(self._waiting)
            self._stored.append((self._spill.append(together), len(together)))
            self._waiting.clear()
            self._n_waiting = 0

    def all(self) -> NDArray[np.int64]:
        """(n,) the numbers, in memory."""
        stored = [np.array(self._spill.array(*each, np.int64)) for each in self._stored]
        return np.concatenate([np.zeros(0, dtype=np.int64), *stored, *self._waiting])


class _KeyCounts:
    """Count of each integer; new ones are buffered until it is worth sorting them in."""

    def __init__(self, max_waiting: int) -> None:
        self._most_waiting = max_waiting
        self.clear()

    def clear(self) -> None:
        """Begin again."""
        self._keys = np.zeros(0, dtype=np.int64)
        self._counts = np.zeros(0, dtype=np.int64)
        self._waiting: list[tuple[NDArray[np.int64], NDArray[np.integer]]] = []
        self._n_waiting = 0

    @property
    def n(self) -> int:
        """Different keys, those that wait not counted."""
        return len(self._keys)

    def add(self, keys: NDArray[np.int64], counts: NDArray[np.integer]) -> None:
        """Count each of `keys` so many times more."""
        self._waiting.append((keys, counts))
        self._n_waiting += len(keys)
        if self._n_waiting > self._most_waiting:
            self.total()

    def total(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The keys added so far, sorted, and their counts."""
        if self._n_waiting:
            added = np.concatenate([keys for keys, _ in self._waiting])
            n_added = np.concatenate([counts for _, counts in self._waiting])
            order = np.argsort(added)
            added = added[order]
            first = np.flatnonzero(np.concatenate(([True], added[1:] != added[:-1])))
            new = added[first]
            n_new = np.add.reduceat(n_added[order], first, dtype=np.int64)
            place = np.searchsorted(self._keys, new)
            known = np.zeros(len(new), dtype=bool)
            inside = place < len(self._keys)
            known[inside] = self._keys[place[inside]] == new[inside]
            self._counts[place[known]] += n_new[known]
            self._keys = np.insert(self._keys, place[~known], new[~known])
            self._counts = np.insert(self._counts, place[~known], n_new[~known])
        self._waiting, self._n_waiting = [], 0
        return self._keys, self._counts
