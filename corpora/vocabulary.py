"""Vocabulary by document frequency: words that are neither too rare nor in nearly all documents."""

import heapq
from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpora.errors import EmptyVocabularyError
from corpora.files import PathLike
from corpora.spilled_run import objects
from corpora.tokens.block import BREAK, TokenBlock
from corpora.tokens.block_pairs import narrow
from corpora.word_counts import MAX_WORDS, WordCounts

SHOWN = 20  # Number of too common words that `Removed` lists


@dataclass(frozen=True, slots=True)
class Pruning:
    """Thresholds on numbers of documents with a word. Raises ValueError if one is out of range."""

    no_below: int = 5  #: Smallest number of documents that contain a word.
    no_above: float = 0.5  #: Largest share of the documents that contain a word.
    keep_n: int | None = 100_000  #: Largest number of words, those in most documents; None for all.

    def __post_init__(self) -> None:
        if self.no_below < 1:
            raise ValueError(f"no_below must be at least 1 document, not {self.no_below}")
        if not 0 < self.no_above <= 1:
            raise ValueError(
                f"no_above is a share of the documents, above 0 and at most 1, not {self.no_above}"
            )
        if self.keep_n is not None and self.keep_n < 1:
            raise ValueError(f"keep_n must be at least 1 word or None, not {self.keep_n}")


def learn_vocabulary(
    blocks: Iterable[TokenBlock],
    learn_from: Callable[[str], bool],
    pruning: Pruning,
    *,
    most_words: int = MAX_WORDS,
    directory: PathLike | None = None,
    on_pruned: "Callable[[Removed], None] | None" = None,
) -> tuple[str, ...]:
    """Return the words of the training documents that `pruning` keeps, in alphabetical order.

    `learn_from`, called with a document's id, says whether it is a training document. One pass over
    `blocks`, with `most_words` different words and the kept ones in memory, others in temporary
    files in `directory`; the result does not depend on these. `on_pruned` is called with the counts
    of removed words. Raises EmptyVocabularyError if there is no training document, or no word is
    kept.
    """
    return vocabulary_from(
        map(FrequenciesOfBlock(learn_from), blocks),
        pruning,
        most_words=most_words,
        directory=directory,
        on_pruned=on_pruned,
    )


class Frequencies(NamedTuple):
    """Document frequencies of the words in the training documents of a block."""

    n_docs: int
    n_training: int
    words: tuple[str, ...]  # Different words of the training documents
    counts: NDArray[np.unsignedinteger]
    """(n_words,) training documents with each word, in the narrowest type."""

    def without(self, known: Container[str]) -> "Frequencies":
        """Return the frequencies of the words that are not in `known`."""
        rest = np.array([word not in known for word in self.words], dtype=bool)
        words = tuple(word for word in self.words if word not in known)
        return self._replace(words=words, counts=self.counts[rest])


@dataclass(frozen=True)
class FrequenciesOfBlock:
    """Counts the training documents of a block by word; can be pickled if `learn_from` can."""

    learn_from: Callable[[str], bool]  # Whether a document, by its id, is a training document

    def __call__(self, block: TokenBlock) -> Frequencies:
        """Count one block, for `vocabulary_from`."""
        training = np.fromiter(map(self.learn_from, block.doc_ids), dtype=bool, count=block.n_docs)
        n_training = int(np.count_nonzero(training))
        counts = _document_frequency(block, training)
        used = np.flatnonzero(counts)
        words = tuple(objects(block.words)[used].tolist())
        return Frequencies(block.n_docs, n_training, words, narrow(counts[used]))


def vocabulary_from(
    counted: Iterable[Frequencies],
    pruning: Pruning,
    *,
    most_words: int = MAX_WORDS,
    directory: PathLike | None = None,
    on_pruned: "Callable[[Removed], None] | None" = None,
) -> tuple[str, ...]:
    """Return the same as `learn_vocabulary` from `FrequenciesOfBlock` of blocks in any order."""
    n_docs = n_training = 0
    with closing(WordCounts(most_words, directory)) as counts:
        for block in counted:
            n_docs += block.n_docs
            n_training += block.n_training
            counts.add(block.words, block.counts)
        if n_docs and not n_training:
            raise EmptyVocabularyError(
                f"none of the {n_docs} documents is one to train on: add articles, or make the "
                "validation and test shares smaller"
            )
        words, removed = prune(counts.chunks(), n_training, pruning)
    if on_pruned is not None:
        on_pruned(removed)
    return words


def prune(
    chunks: Iterable[tuple[Sequence[str] | NDArray[np.object_], NDArray[np.integer]]],
    n_docs: int,
    pruning: Pruning,
) -> "tuple[tuple[str, ...], Removed]":
    """Return the words to keep, in alphabetical order, and the counts of removed words. `chunks`
    are (n,) words, all different and in alphabetical order across chunks, and (n,) their document
    frequencies; `pruning.no_above` is a share of `n_docs`. Among words of equal frequency the
    alphabetically first stay. Raises EmptyVocabularyError if no word is kept.
    """
    # The small number corrects rounding: 0.29 · 100 is a little less than 29.
    highest = pruning.no_above * n_docs + 1e-9
    removed = Removed(n_docs, pruning)
    commonest: list[tuple[int, int, str]] = []
    # A heap: first is the word to remove next, in the fewest documents, and of those the last.
    kept: list[tuple[int, int, str]] = []
    negated_place = count(0, -1)
    for words, frequency in chunks:
        too_rare, too_common = frequency < pruning.no_below, frequency > highest
        removed.n_words += len(words)
        removed.n_rare += int(np.count_nonzero(too_rare))
        removed.n_common += int(np.count_nonzero(too_common))
        left = np.flatnonzero(~too_rare & ~too_common).tolist()
        removed.n_beyond += len(left)
        for w in left:
            _keep_greatest(kept, (int(frequency[w]), next(negated_place), words[w]), pruning.keep_n)
        for w in np.flatnonzero(too_common & ~too_rare).tolist():
            _keep_greatest(commonest, (int(frequency[w]), next(negated_place), words[w]), SHOWN)
    if not kept:
        raise EmptyVocabularyError(removed.message())
    removed.n_beyond -= len(kept)
    removed.commonest = tuple(word for _, _, word in sorted(commonest, reverse=True))
    return tuple(sorted(word for _, _, word in kept)), removed


def _document_frequency(block: TokenBlock, training: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(len(block.words),) number of training documents of `block` that contain each word."""
    doc_of = block.doc_of
    counted = (block.word_of != BREAK) & training[doc_of]
    n_words = max(1, len(block.words))
    # With return_counts np.unique sorts; without it it hashes, which takes ten times as long.
    keys, _ = np.unique(doc_of[counted] * n_words + block.word_of[counted], return_counts=True)
    return np.bincount(keys % n_words, minlength=len(block.words))


def _keep_greatest(
    kept: list[tuple[int, int, str]], entry: tuple[int, int, str], n_kept: int | None
) -> None:
    """Put `entry` on the heap of the `n_kept` greatest; None for all."""
    if n_kept is None or len(kept) < n_kept:
        heapq.heappush(kept, entry)
    elif entry[0] > kept[0][0]:
        heapq.heapreplace(kept, entry)


@dataclass
class Removed:
    """Numbers of different words of the training documents that the thresholds removed."""

    n_docs: int
    pruning: Pruning
    n_words: int = 0  # All words before pruning
    n_rare: int = 0  # Words in fewer than `no_below` documents
    n_common: int = 0  # Words in more than the share `no_above` of the documents
    n_beyond: int = 0  # Further words beyond `keep_n`
    commonest: tuple[str, ...] = ()  # Some of the too common words, the commonest first

    def message(self) -> str:
        """Reason why no word is kept, and the threshold to change."""
        if not self.n_words:
            return f"the {self.n_docs} training documents have no words; check the text settings"
        lower = "lower no_below" if self.n_rare >= self.n_common else ""
        higher = "raise no_above" if self.n_common else ""
        return (
            f"no word is left of {self.n_words}: {self.n_rare} occur in fewer than "
            f"no_below = {self.pruning.no_below} documents, {self.n_common} in more than "
            f"no_above = {self.pruning.no_above:g} of the {self.n_docs} documents; "
            + (" or ".join(filter(None, [lower, higher])) or "change a threshold")
        )
