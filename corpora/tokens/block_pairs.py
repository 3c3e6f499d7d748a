"""Counts of words and adjacent pairs in one block; small, and computed by any process."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpora.spilled_run import objects
from corpora.tokens.block import TokenBlock


class BlockPairs(NamedTuple):
    """Counts of one block; the integers are as narrow as they can be, as these are sent about."""

    n_docs: int
    words: tuple[str, ...]  # Different words that were counted, sorted
    n_word: NDArray[np.unsignedinteger]  # (n_words,) counts
    first: NDArray[np.unsignedinteger]
    """(n_pairs,) indices into `words` of the first words of the different pairs."""
    second: NDArray[np.unsignedinteger]  # (n_pairs,) of their second words
    n_pair: NDArray[np.unsignedinteger]  # (n_pairs,) counts
    has_parts_of_speech: bool  # Whether any word of the block has one


def count_pairs(
    block: TokenBlock, counted: NDArray[np.bool_], first: NDArray[np.integer]
) -> BlockPairs:
    """Count the words at `counted`, a mask (len(block.word_of),) with no BREAK in it, and the pairs
    whose first words stand at the indices `first`.
    """
    n_word = np.bincount(block.word_of[counted], minlength=len(block.words))
    used = np.flatnonzero(n_word)
    number = np.cumsum(n_word > 0) - 1
    word_of = block.word_of
    keys = number[word_of[first]] << 32 | number[word_of[first + 1]]
    keys, n_pair = np.unique(keys, return_counts=True)
    return BlockPairs(
        block.n_docs,
        tuple(objects(block.words)[used].tolist()),
        narrow(n_word[used]),
        narrow(keys >> 32),
        narrow(keys & 0xFFFFFFFF),
        narrow(n_pair),
        bool(block.pos_of.any()),
    )


def narrow(array: NDArray[Any]) -> NDArray[np.unsignedinteger]:
    """The array in the narrowest unsigned type that holds it."""
    return array.astype(np.min_scalar_type(int(array.max(initial=0))))
