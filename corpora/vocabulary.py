"""Which words are worth a column: not too rare, not in nearly every document."""

from __future__ import annotations

import heapq
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from corpora.errors import EmptyVocabularyError
from corpora.spilled_run import objects
from corpora.tokens.block import BREAK
from corpora.tokens.block_pairs import narrow
from corpora.word_counts import MAX_WORDS, WordCounts

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from corpora.tokens.block import TokenBlock

SHOWN = 20
"""Words that are too common of which `Removed` says which they are."""


@dataclass(frozen=True, slots=True)
class Pruning:
    """Thresholds on document frequency, the number of documents that a word occurs in.

    Raises
    ------
    ValueError
        If a threshold is out of range.
    """

    no_below: int = 5
    """Documents that a word occurs in at least."""
    no_above: float = 0.5
    """Share of the documents that a word occurs in at most."""
    keep_n: int | None = 100_000
    """How many words are kept at most, those in most documents; None for all."""

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
    directory: str | os.PathLike[str] | None = None,
    on_pruned: Callable[[Removed], None] | None = None,
) -> tuple[str, ...]:
    """The words of the training documents that `pruning` leaves, in alphabetical order.

    Takes one pass over `blocks`, and memory for a block, `most_words` words and those kept.

    Parameters
    ----------
    learn_from
        Whether a document, by its id, is one to learn from.
    most_words
        Different words that are held in memory; the result does not depend on it.
    directory
        Where temporary files go, with room for the different words of every so many documents.
    on_pruned
        Is told what was removed.

    Raises
    ------
    EmptyVocabularyError
        If there is no training document, or no word is left.
    """
    return vocabulary_from(
        map(FrequenciesOfBlock(learn_from), blocks),
        pruning,
        most_words=most_words,
        directory=directory,
        on_pruned=on_pruned,
    )


class Frequencies(NamedTuple):
    """In how many training documents of a block each word occurs."""

    n_docs: int
    """Documents of the block."""
    n_training: int
    """Those to learn from."""
    words: tuple[str, ...]
    """The different words in these."""
    counts: NDArray[np.unsignedinteger]
    """(n_words,) how many of them hold each; as narrow as can be, as it is sent about."""


@dataclass(frozen=True)
class FrequenciesOfBlock:
    """Counts the training documents of a block, word by word; pickles if `learn_from` does."""

    learn_from: Callable[[str], bool]
    """Whether a document, by its id, is one to learn from."""

    def __call__(self, block: TokenBlock) -> Frequencies:
        """What `vocabulary_from` takes."""
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
    directory: str | os.PathLike[str] | None = None,
    on_pruned: Callable[[Removed], None] | None = None,
) -> tuple[str, ...]:
    """What `learn_vocabulary` gives, of what was counted block by block, wherever that was.

    Parameters
    ----------
    counted
        What `FrequenciesOfBlock` gave of each block, in any order.

    Raises
    ------
    EmptyVocabularyError
        If there is no training document, or no word is left.
    """
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
        words, removed = prune_noting(counts.chunks(), n_training, pruning)
    if on_pruned is not None:
        on_pruned(removed)
    return words


def prune(
    chunks: Iterable[tuple[Sequence[str] | NDArray[np.object_], NDArray[np.integer]]],
    n_docs: int,
    pruning: Pruning,
) -> tuple[str, ...]:
    """The words to keep, in alphabetical order; see `prune_noting`."""
    return prune_noting(chunks, n_docs, pruning)[0]


def prune_noting(
    chunks: Iterable[tuple[Sequence[str] | NDArray[np.object_], NDArray[np.integer]]],
    n_docs: int,
    pruning: Pruning,
) -> tuple[tuple[str, ...], Removed]:
    """The words to keep, in alphabetical order, and what was removed.

    Only the words to keep are held in memory, and a few of those that are too common.

    Parameters
    ----------
    chunks
        (n,) words and (n,) in how many documents each occurs; all different and in alphabetical
        order, from one chunk to the next too.
    n_docs
        Documents altogether; `pruning.no_above` is a share of these.
    pruning
        The thresholds. Among words in equally many documents the alphabetically first stay.

    Raises
    ------
    EmptyVocabularyError
        If no word is left.
    """
    # The small number undoes rounding: 0.29 · 100 is a little less than 29.
    most = pruning.no_above * n_docs + 1e-9
    removed = Removed(n_docs, pruning)
    commonest: list[tuple[int, int, str]] = []
    # The word that goes first stands first: in the fewest documents, and of those the last.
    kept: list[tuple[int, int, str]] = []
    negated_place = count(0, -1)
    for words, frequency in chunks:
        too_rare, too_common = frequency < pruning.no_below, frequency > most
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
    """(len(block.words),) how many of the training documents of `block` hold each word."""
    doc_of = block.doc_of
    counted = (block.word_of != BREAK) & training[doc_of]
    n_words = max(1, len(block.words))
    # With the counts np.unique sorts, and without them it hashes, which takes ten times as long.
    keys, _ = np.unique(doc_of[counted] * n_words + block.word_of[counted], return_counts=True)
    return np.bincount(keys % n_words, minlength=len(block.words))


def _keep_greatest(
    kept: list[tuple[int, int, str]], entry: tuple[int, int, str], most: int | None
) -> None:
    """Put `entry` on the heap, which holds the greatest `most`; None is all."""
    if most is None or len(kept) < most:
        heapq.heappush(kept, entry)
    elif entry[0] > kept[0][0]:
        heapq.heapreplace(kept, entry)


@dataclass
class Removed:
    """What the thresholds took away: different words of the training documents."""

    n_docs: int
    """Training documents."""
    pruning: Pruning
    n_words: int = 0
    """Before pruning."""
    n_rare: int = 0
    """In fewer than `no_below` documents."""
    n_common: int = 0
    """In more than the share `no_above` of them."""
    n_beyond: int = 0
    """Of the rest those beyond `keep_n`."""
    commonest: tuple[str, ...] = ()
    """Some of those that are too common, the commonest first."""

    def message(self) -> str:
        """Why nothing is left, and which threshold to change."""
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
