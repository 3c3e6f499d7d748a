"""Documents as sequences of vocabulary indices, for sliding windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corpora.tokens.running_words import UNKNOWN, RunningWordsOfBlock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from corpora import TokenBlock
    from evaluation.arrays import Ints, Ints32


@dataclass(frozen=True, eq=False)
class RunningText:
    """The kept words of documents in their order; ValueError if the arrays are inconsistent."""

    word_of: Ints32
    """(n_tokens,) indices into `vocabulary`, or -1 for others, which have a position in windows."""
    doc_start: Ints
    """(n_docs + 1,) document d is `word_of[doc_start[d]:doc_start[d + 1]]`, which may be empty."""
    vocabulary: tuple[str, ...]
    article_of: Ints | None = None
    """(n_docs,) number of the article of each document, which standard errors are over; None: each
    document is one."""

    def __post_init__(self) -> None:
        start = self.doc_start
        if (
            not len(start)
            or start[0] != 0
            or start[-1] != len(self.word_of)
            or np.any(np.diff(start) < 0)
            or np.any((self.word_of < UNKNOWN) | (self.word_of >= len(self.vocabulary)))
            or (self.article_of is not None and len(self.article_of) != self.n_docs)
        ):
            raise ValueError("the arrays of the running text contradict each other")

    @property
    def n_docs(self) -> int:
        """Number of documents, including empty ones."""
        return len(self.doc_start) - 1

    @classmethod
    def from_blocks(
        cls,
        blocks: Iterable[TokenBlock],
        vocabulary: Sequence[str],
        keep: Callable[[str], bool] | None = None,
    ) -> RunningText:
        """Return the documents of `blocks` whose ids `keep` accepts; all by default.

        It takes 4 bytes for each token, and twice that during construction.
        """
        numbered = RunningWordsOfBlock(vocabulary)
        words = [np.zeros(0, dtype=np.int32)]
        lengths = [np.zeros(1, dtype=np.int64)]
        starts = [np.zeros(0, dtype=bool)]
        for block in blocks:
            is_kept = None
            if keep is not None:
                is_kept = np.fromiter(map(keep, block.doc_ids), dtype=bool, count=block.n_docs)
            found = numbered(block, is_kept)
            words.append(found.word_of)
            lengths.append(found.lengths)
            starts.append(found.starts_article)
        return cls(
            np.concatenate(words),
            np.cumsum(np.concatenate(lengths)),
            tuple(vocabulary),
            np.cumsum(np.concatenate(starts)) - 1,
        )
