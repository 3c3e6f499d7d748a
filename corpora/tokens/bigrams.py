"""Collocations: pairs of neighbours that are so often neighbours that they make one word.

Neighbours in one run are scored (see `corpora.tokens.collocation_scores`) and joined as `a_b` where
the score is above the threshold. `a a a` are two pairs `a a`, as in gensim's `Phrases`.
"""

from __future__ import annotations

import io
import json
import warnings
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from corpora.errors import CorpusFormatError, UnsuitableModelError
from corpora.files import PathLike, atomic_write_text
from corpora.tokens.annotation import PARTS_OF_SPEECH
from corpora.tokens.block import BREAK, TokenBlock
from corpora.tokens.block_pairs import BlockPairs, count_pairs
from corpora.tokens.collocation_scores import check_settings, scores_above
from corpora.tokens.pair_counts import MAX_PAIRS, PairCounts
from corpora.word_counts import MAX_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

Result = TypeVar("Result")

DELIMITER = "_"
RULE = "#rule"
"""Begins the first line of a file of pairs that a rule limits; of a pair, a line has two tabs."""


@dataclass(frozen=True)
class Bigrams:
    """Pairs of words to join, with their scores, and which of their occurrences count. Raises
    ValueError for an unknown part of speech.
    """

    scores: Mapping[tuple[str, str], float]
    patterns: frozenset[tuple[str, str]] | None = None
    """Allowed pairs of `annotation.PARTS_OF_SPEECH` of two neighbours; None for any."""
    within_chunks: bool = False  #: Whether two neighbours must be in one noun chunk.

    def __post_init__(self) -> None:
        known = set(PARTS_OF_SPEECH) - {""}
        for pattern in sorted(self.patterns) if self.patterns is not None else []:
            if not known.issuperset(pattern):
                raise ValueError(
                    f"a pattern is two parts of speech, of {', '.join(sorted(known))}; "
                    f"found {' '.join(pattern)!r}"
                )

    def count_pairs(self, block: TokenBlock, keep: Callable[[str], bool]) -> BlockPairs:
        """Words and neighbours that may be joined, in the documents whose ids `keep` approves."""
        kept = np.fromiter(map(keep, block.doc_ids), dtype=bool, count=block.n_docs)
        counted = np.repeat(kept, np.diff(block.doc_start)) & (block.word_of != BREAK)
        first = np.flatnonzero(counted[:-1] & counted[1:] & self._admitted(block))
        return count_pairs(block, counted, first)

    def from_counts(
        self,
        counts: Iterable[BlockPairs],
        min_count: int = 5,
        threshold: float = 100.0,
        scoring: str = "classic",
        *,
        max_words: int = MAX_WORDS,
        max_pairs: int = MAX_PAIRS,
        directory: PathLike | None = None,
    ) -> Bigrams:
        """Bigrams of this rule, learned from `count_pairs` of all blocks, in any order.

        Pairs below `min_count` are left out; classic scores are discounted by it, as in gensim.
        Scores must be above `threshold`: positive for "classic", from -1 to 1 for "npmi". Memory
        holds `max_words` words, `max_pairs` pairs and the result, which does not depend on them;
        `directory` takes temporary files of some 40 bytes for each different pair.

        Raises ValueError if a setting is out of range; UnsuitableModelError if there are patterns,
        and no word has a part of speech.
        """
        check_settings(min_count, threshold, scoring)
        has_words, has_parts_of_speech = False, False
        with closing(PairCounts(max_words, max_pairs, directory)) as pairs:
            for each in counts:
                pairs.add(each)
                has_words = has_words or bool(each.words)
                has_parts_of_speech = has_parts_of_speech or each.has_parts_of_speech
            if self.patterns is not None and has_words and not has_parts_of_speech:
                raise UnsuitableModelError(
                    "bigrams are to have certain parts of speech, and the tokens have none: choose "
                    "a spaCy model with a tagger, or leave the patterns out"
                )
            scores = scores_above(threshold, pairs, min_count, scoring)
        return Bigrams(scores, self.patterns, self.within_chunks)

    @classmethod
    def learn(
        cls,
        blocks: Iterable[TokenBlock],
        keep: Callable[[str], bool],
        min_count: int = 5,
        threshold: float = 100.0,
        scoring: str = "classic",
        patterns: frozenset[tuple[str, str]] | None = None,
        *,
        within_chunks: bool = False,
        **more: Any,
    ) -> Bigrams:
        """Deprecated: `count_pairs` of each block, then `from_counts`."""
        message = "Bigrams.learn is now count_pairs of each block, then from_counts"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        rule = cls({}, patterns, within_chunks)
        more = {name.replace("most_", "max_"): value for name, value in more.items()}
        counts = (rule.count_pairs(block, keep) for block in blocks)
        return rule.from_counts(counts, min_count, threshold, scoring, **more)

    def join(self, block: TokenBlock) -> TokenBlock:
        """The block with the pairs joined, from left to right, each word in one pair at most. A
        joined word has the part of speech of its second word, and continues the noun chunk of its
        first.
        """
        first = self.first_of_pairs(block)
        if not len(first):
            return block
        word_of = block.word_of.astype(np.int64)
        keys, pair_of = np.unique(word_of[first] << 32 | word_of[first + 1], return_inverse=True)
        strings = list(block.words)
        strings += [strings[k >> 32] + DELIMITER + strings[k & 0xFFFFFFFF] for k in keys.tolist()]
        joined = block.word_of.copy()
        joined[first] = len(block.words) + pair_of
        pos_of = block.pos_of.copy()
        pos_of[first] = pos_of[first + 1]
        left = np.ones(len(joined), dtype=bool)
        left[first + 1] = False
        joined = joined[left]

        used = np.flatnonzero(np.bincount(joined[joined != BREAK], minlength=len(strings)))
        # A joined word may be the same as one that had the delimiter in it before.
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
            pos_of[left],
            block.continues_chunk[left],
        )

    def first_of_pairs(self, block: TokenBlock) -> NDArray[np.int64]:
        """Ascending indices into `block.word_of` of the first words of joined pairs."""
        if not self.scores:
            return np.zeros(0, dtype=np.int64)
        index, is_first, is_second, pair_keys = self._lookup
        # Numbers of the words that are in pairs; BREAK, the last, and all others are -1.
        known = np.array([index.get(word, -1) for word in block.words] + [-1], dtype=np.int64)
        word_of = known[block.word_of]
        at = np.flatnonzero(is_first[word_of[:-1]] & is_second[word_of[1:]] & self._admitted(block))
        keys = word_of[at] << 32 | word_of[at + 1]
        place = np.searchsorted(pair_keys, keys)
        at = at[pair_keys[np.minimum(place, len(pair_keys) - 1)] == keys]
        taken, after = [], -1
        for i in at.tolist():
            if i > after:
                taken.append(i)
                after = i + 1
        return np.array(taken, dtype=np.int64)

    def save(self, path: PathLike) -> None:
        """Write the rule, if there is one, and tab-separated lines of word, word and score, whole
        or not at all. Raises ValueError if a word holds a tab or the end of a line.
        """
        lines = []
        if self.patterns is not None or self.within_chunks:
            patterns = None if self.patterns is None else sorted(self.patterns)
            rule = {"patterns": patterns, "within_chunks": self.within_chunks}
            lines.append(f"{RULE}\t{json.dumps(rule)}\n")
        for (a, b), score in sorted(self.scores.items()):
            if any(mark in word for word in (a, b) for mark in "\t\n"):
                raise ValueError(f"{a!r} and {b!r}: a word with a tab or line end cannot be saved")
            lines.append(f"{a}\t{b}\t{score!r}\n")
        atomic_write_text(path, "".join(lines))

    @classmethod
    def load(cls, path: PathLike) -> Bigrams:
        """Load a file that `save` wrote. CorpusFormatError has the number of a malformed line."""
        scores: dict[tuple[str, str], float] = {}
        rule: dict[str, Any] = {}
        for number, line in enumerate(io.BytesIO(Path(path).read_bytes()), start=1):
            try:
                if number == 1 and line.startswith(f"{RULE}\t".encode()) and line.count(b"\t") == 1:
                    rule = _parsed_rule(line)
                    continue
                a, b, score = line.decode().split("\t")
                scores[a, b] = float(score[: score.index("\n")])
            except ValueError as error:
                raise CorpusFormatError(
                    f"{path}, line {number}: expected two words and a score, tab-separated, or in "
                    f"the first line {RULE}, a tab and a rule"
                ) from error
        return cls(scores, **rule)

    def _admitted(self, block: TokenBlock) -> NDArray[np.bool_]:
        """(len(block.word_of) - 1,) which neighbours may be a pair, learned or joined."""
        admitted = np.ones(max(0, len(block.word_of) - 1), dtype=bool)
        if self.patterns is not None:
            allowed = np.zeros((len(PARTS_OF_SPEECH), len(PARTS_OF_SPEECH)), dtype=bool)
            for a, b in self.patterns:
                allowed[PARTS_OF_SPEECH.index(a), PARTS_OF_SPEECH.index(b)] = True
            admitted &= allowed[block.pos_of[:-1], block.pos_of[1:]]
        if self.within_chunks:
            admitted &= block.continues_chunk[1:]
        return admitted

    @cached_property
    def _lookup(
        self,
    ) -> tuple[dict[str, int], NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int64]]:
        """Numbers of the words of the pairs, -1 for other words; which are first ones, which
        second; the sorted pairs as first << 32 | second.
        """
        index: dict[str, int] = {}
        for pair in self.scores:
            for word in pair:
                index.setdefault(word, len(index))
        is_first, is_second = np.zeros((2, len(index) + 1), dtype=bool)
        a = np.array([index[a] for a, _ in self.scores], dtype=np.int64)
        b = np.array([index[b] for _, b in self.scores], dtype=np.int64)
        is_first[a] = True
        is_second[b] = True
        return index, is_first, is_second, np.sort(a << 32 | b)


@dataclass(frozen=True)
class PairsOfBlock:
    """Counts the neighbours in a block that may be joined; can be pickled if `keep` can."""

    rule: Bigrams  # Says which neighbours count; its pairs are of no account
    keep: Callable[[str], bool]  # Whether a document, by its id, is one to learn from

    def __call__(self, block: TokenBlock) -> BlockPairs:
        """Count the pairs of a block."""
        return self.rule.count_pairs(block, self.keep)


@dataclass(frozen=True)
class Joined(Generic[Result]):
    """Makes something of a block with its pairs joined; can be pickled if `then` can."""

    bigrams: Bigrams
    then: Callable[[TokenBlock], Result]

    def __call__(self, block: TokenBlock) -> Result:
        """Apply `then` to the block with joined bigrams."""
        return self.then(self.bigrams.join(block))


def _parsed_rule(line: bytes) -> dict[str, Any]:
    """The arguments that `Bigrams.save` wrote into the first line."""
    rule = json.loads(line[line.index(b"\t") : line.index(b"\n")])
    match rule:
        case {"patterns": list() | None as listed, "within_chunks": bool(within_chunks)}:
            patterns = None if listed is None else frozenset((str(a), str(b)) for a, b in listed)
            Bigrams({}, patterns)  # looks at them
            return {"patterns": patterns, "within_chunks": within_chunks}
        case _:
            raise ValueError(f"not a rule: {rule}")
