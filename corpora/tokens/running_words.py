"""Words of documents in their order, as numbers of a vocabulary."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from corpora.hash_split import article_of
from corpora.tokens.block import BREAK, TokenBlock

UNKNOWN: Final = -1
"""Number of a word outside the vocabulary: it has a position in the text all the same."""


@dataclass(frozen=True, eq=False)
class RunningWords:
    """Words of some documents, one document after the other."""

    word_of: NDArray[np.int32]  #: (n_tokens,) indices into a vocabulary, or UNKNOWN.
    lengths: NDArray[np.int64]  #: (n_docs,) tokens of each document, which may be 0.
    starts_article: NDArray[np.bool_]
    """(n_docs,) whether a document belongs to another article than the one before it here."""

    @property
    def n_docs(self) -> int:
        """Number of documents, including empty ones."""
        return len(self.lengths)


@dataclass(frozen=True)
class RunningWordsOfBlock:
    """Numbers the words of a block's documents; can be pickled."""

    vocabulary: Sequence[str]  # All other words are UNKNOWN

    @cached_property
    def _number_of(self) -> dict[str, int]:
        return {word: w for w, word in enumerate(self.vocabulary)}

    def __call__(self, block: TokenBlock, is_kept: NDArray[np.bool_] | None = None) -> RunningWords:
        """Return the documents of a block in their order; `is_kept` (n_docs,) leaves out others."""
        number_of = self._number_of
        number = np.array([number_of.get(word, UNKNOWN) for word in block.words], dtype=np.int32)
        is_word = block.word_of != BREAK
        doc_of = block.doc_of
        articles = [article_of(doc_id) for doc_id in block.doc_ids]
        if is_kept is not None:
            is_word &= is_kept[doc_of]
            articles = [each for each, kept in zip(articles, is_kept, strict=True) if kept]
        lengths = np.bincount(doc_of[is_word], minlength=block.n_docs).astype(np.int64)
        starts = [i == 0 or articles[i] != articles[i - 1] for i in range(len(articles))]
        return RunningWords(
            number[block.word_of[is_word]],
            lengths if is_kept is None else lengths[is_kept],
            np.array(starts, dtype=bool),
        )
