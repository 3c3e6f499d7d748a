"""Collocations: pairs of neighbours that are so often neighbours that they make one word.

Words a and b that stand side by side in one run n_ab times are scored, as in gensim's `Phrases`, by

    classic   (n_ab - min_count) · N / (n_a n_b), N the number of different words and pairs
              (Mikolov et al. 2013, eq. 6, times N)
    npmi      ln(p_ab / (p_a p_b)) / -ln p_ab, p = n / tokens (Bouma 2009)

and joined as `a_b` where the score is above the threshold.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from corpora.errors import CorpusFormatError
from corpora.files import atomic_write_text
from corpora.tokens.block import BREAK, TokenBlock

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

DELIMITER = "_"
SCORINGS = ("classic", "npmi")


@dataclass(frozen=True)
class Bigrams:
    """The pairs of words to join, with their scores."""

    scores: Mapping[tuple[str, str], float]

    @classmethod
    def learn(
        cls,
        blocks: Iterable[TokenBlock],
        keep: Callable[[str], bool],
        min_count: int = 5,
        threshold: float = 100.0,
        scoring: str = "classic",
    ) -> Bigrams:
        """The pairs of the documents whose ids `keep` approves, in one pass over `blocks`.

        Memory: some 50 bytes for each different pair that occurs.

        Parameters
        ----------
        min_count
            Pairs that occur less often are not joined.
        threshold
            Scores must be above it: positive for "classic", from -1 to 1 for "npmi".
        scoring
            "classic" or "npmi".

        Raises
        ------
        ValueError
            If a setting is out of range.
        """
        # Here, as gensim takes most of a second to import and nothing else here needs it.
        from gensim.models.phrases import npmi_scorer, original_scorer  # noqa: PLC0415

        _check(min_count, threshold, scoring)
        index: dict[str, int] = {}
        n_word = np.zeros(0, dtype=np.int64)
        pairs = _PairCounts()
        for block in blocks:
            word_of = _in_common_index(block, keep, index)
            counts = np.bincount(word_of[word_of != BREAK], minlength=len(index))
            counts[: len(n_word)] += n_word
            n_word = counts
            pairs.add(_pair_keys(word_of))
        keys, n_pair = pairs.total()

        words = list(index)
        n_tokens, n_entries = int(n_word.sum()), np.count_nonzero(n_word) + len(keys)
        score_of = original_scorer if scoring == "classic" else npmi_scorer
        scores: dict[tuple[str, str], float] = {}
        frequent = n_pair >= min_count
        for key, n_ab in zip(keys[frequent].tolist(), n_pair[frequent].tolist(), strict=True):
            a, b = key >> 32, key & 0xFFFFFFFF
            score = score_of(int(n_word[a]), int(n_word[b]), n_ab, n_entries, min_count, n_tokens)
            if score > threshold:
                scores[words[a], words[b]] = float(score)
        return cls(dict(sorted(scores.items())))

    def join(self, block: TokenBlock) -> TokenBlock:
        """The block with the pairs joined, from left to right, each word in one pair at most."""
        word_index, pair_keys = self._lookup
        local = np.array([word_index.get(word, -1) for word in block.words] + [-1], dtype=np.int64)
        known = local[block.word_of]  # BREAK, the last, is -1 as well
        keys = np.where((known[:-1] >= 0) & (known[1:] >= 0), known[:-1] << 32 | known[1:], -1)
        candidates = np.flatnonzero(np.isin(keys, pair_keys))
        taken, after = [], -1
        for i in candidates.tolist():
            if i > after:
                taken.append(i)
                after = i + 1
        first = np.array(taken, dtype=np.int64)

        pairs, pair_of = np.unique(
            np.stack([block.word_of[first], block.word_of[first + 1]]), axis=1, return_inverse=True
        )
        strings = list(block.words)
        strings += [strings[a] + DELIMITER + strings[b] for a, b in pairs.T.tolist()]
        joined = block.word_of.copy()
        joined[first] = len(block.words) + pair_of.ravel()
        joined = np.delete(joined, first + 1)
        used = np.unique(joined[joined != BREAK])
        words = sorted({strings[w] for w in used.tolist()})
        new_index = {word: w for w, word in enumerate(words)}
        renumbered = np.full(len(strings) + 1, BREAK, dtype=np.int32)
        renumbered[used] = [new_index[strings[w]] for w in used.tolist()]
        return TokenBlock(
            tuple(words),
            renumbered[joined],
            block.doc_start - np.searchsorted(first, block.doc_start),
            block.doc_ids,
            block.titles,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write lines of word, word and score, parted by tabs, whole or not at all."""
        lines = (f"{a}\t{b}\t{score!r}\n" for (a, b), score in sorted(self.scores.items()))
        atomic_write_text(path, "".join(lines))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Bigrams:
        """What `save` wrote.

        Raises
        ------
        CorpusFormatError
            With the number of the line that is not two words and a score.
        """
        scores: dict[tuple[str, str], float] = {}
        for number, line in enumerate(io.BytesIO(Path(path).read_bytes()), start=1):
            try:
                a, b, score = line.decode().split("\t")
                scores[a, b] = float(score[: score.index("\n")])
            except ValueError as error:
                raise CorpusFormatError(
                    f"{path}, line {number}: expected two words and a score parted by tabs"
                ) from error
        return cls(scores)

    @cached_property
    def _lookup(self) -> tuple[dict[str, int], NDArray[np.int64]]:
        """Numbers for the words of the pairs, and the pairs as a << 32 | b."""
        index: dict[str, int] = {}
        for pair in self.scores:
            for word in pair:
                index.setdefault(word, len(index))
        return index, np.array([index[a] << 32 | index[b] for a, b in self.scores], dtype=np.int64)


def _check(min_count: int, threshold: float, scoring: str) -> None:
    if scoring not in SCORINGS:
        raise ValueError(f'scoring must be "classic" or "npmi", not {scoring!r}')
    if min_count < 1:
        raise ValueError(f"min_count must be at least 1, not {min_count}")
    if scoring == "classic" and not threshold > 0:
        raise ValueError(f"the threshold of classic scores must be positive, not {threshold}")
    if scoring == "npmi" and not -1 <= threshold <= 1:
        raise ValueError(f"the threshold of npmi scores must be from -1 to 1, not {threshold}")


def _in_common_index(
    block: TokenBlock, keep: Callable[[str], bool], index: dict[str, int]
) -> NDArray[np.int64]:
    """`block.word_of` in the numbers of `index`, which grows; documents not kept are all BREAK."""
    kept = np.array([keep(doc_id) for doc_id in block.doc_ids], dtype=bool)
    word_of = np.where(kept[block.doc_of], block.word_of, BREAK)
    common = np.full(len(block.words) + 1, BREAK, dtype=np.int64)
    for w in np.unique(word_of[word_of != BREAK]).tolist():
        common[w] = index.setdefault(block.words[w], len(index))
    return common[word_of]


def _pair_keys(word_of: NDArray[np.int64]) -> NDArray[np.int64]:
    """Every two neighbours a, b as a << 32 | b; a BREAK stands between all that are not."""
    a, b = word_of[:-1], word_of[1:]
    neighbours = (a != BREAK) & (b != BREAK)
    keys: NDArray[np.int64] = a[neighbours] << 32 | b[neighbours]
    return keys


class _PairCounts:
    """How often each key was added; small batches gather until merging them is worth it."""

    def __init__(self) -> None:
        self._keys = [np.zeros(0, dtype=np.int64)]
        self._counts = [np.zeros(0, dtype=np.int64)]
        self._n_waiting = 0

    def add(self, keys: NDArray[np.int64]) -> None:
        keys, counts = np.unique(keys, return_counts=True)
        self._keys.append(keys)
        self._counts.append(counts)
        self._n_waiting += len(keys)
        if self._n_waiting > max(1_000_000, len(self._keys[0])):
            self.total()

    def total(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The keys added so far, sorted, and their counts."""
        keys, counts = np.concatenate(self._keys), np.concatenate(self._counts)
        order = np.argsort(keys, kind="stable")
        keys, counts = keys[order], counts[order]
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        self._keys = [keys[first]]
        self._counts = [np.add.reduceat(counts, first) if len(first) else counts]
        self._n_waiting = 0
        return self._keys[0], self._counts[0]
