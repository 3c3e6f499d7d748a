"""Counting of tokens as bags of words, block by block."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from corpora.corpus_writer import Bags
from corpora.tokens.block import TokenBlock


@dataclass(frozen=True)
class BagsOfBlock:
    """Counts the documents of a block as bags of words; can be pickled."""

    vocabulary: Sequence[str]  # Words of the columns; all others are unknown

    @cached_property
    def _column_of(self) -> dict[str, int]:
        return {word: column for column, word in enumerate(self.vocabulary)}

    def __call__(self, block: TokenBlock) -> Bags:
        """Return the bags of words of the documents, in their order."""
        column_of, n_words = self._column_of, len(self.vocabulary)
        # The last entry stands for BREAK.
        columns = [*(column_of.get(word, n_words) for word in block.words), n_words + 1]
        column = np.array(columns, dtype=np.int64)[block.word_of]
        known, unknown = column < n_words, column == n_words
        doc_of = block.doc_of
        keys, counts = np.unique(doc_of[known] * n_words + column[known], return_counts=True)
        doc_of_key, column_of_key = np.divmod(keys, max(n_words, 1))
        start = np.searchsorted(doc_of_key, np.arange(block.n_docs + 1))
        return Bags(
            sparse.csr_array(
                (counts.astype(np.int32), column_of_key.astype(np.int32), start.astype(np.int32)),
                shape=(block.n_docs, n_words),
            ),
            block.doc_ids,
            block.titles,
            np.bincount(doc_of[unknown], minlength=block.n_docs),
        )


def count_blocks(blocks: Iterable[TokenBlock], vocabulary: Sequence[str]) -> Iterator[Bags]:
    """Yield the bags of words of each block; words that are not in `vocabulary` are unknown."""
    return map(BagsOfBlock(vocabulary), blocks)
