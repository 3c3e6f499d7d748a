"""The tokens of one shard of articles, as integers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from corpora.tokens.annotation import PARTS_OF_SPEECH

if TYPE_CHECKING:
    from numpy.typing import NDArray

BREAK: Final = -1  # Ends each run of neighbouring words in `TokenBlock.word_of`


@dataclass(frozen=True, eq=False)
class TokenBlock:
    """Documents as runs of words that stood side by side in the text. Raises ValueError if the
    arrays contradict each other.
    """

    words: tuple[str, ...]  #: The vocabulary of this block alone, sorted.
    word_of: NDArray[np.int32]
    """(n_tokens + n_runs,) indices into `words`, and BREAK as the end of each run."""
    doc_start: NDArray[np.int64]
    """(n_docs + 1,) document d is `word_of[doc_start[d]:doc_start[d + 1]]`, which may be empty."""
    doc_ids: tuple[str, ...]
    titles: tuple[str, ...]
    pos_of: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, dtype=np.uint8))
    """Aligned with `word_of`: indices into `annotation.PARTS_OF_SPEECH`, 0 at BREAK or unknown."""
    continues_chunk: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    """Aligned with `word_of`: whether in the noun chunk of the word before; False if unknown."""

    def __post_init__(self) -> None:
        for name in ("pos_of", "continues_chunk"):
            if len(getattr(self, name)) == 0:
                dtype = getattr(self, name).dtype
                object.__setattr__(self, name, np.zeros(len(self.word_of), dtype=dtype))
        ends = self.doc_start[1:][np.diff(self.doc_start) != 0]
        if (
            len(self.doc_start) != len(self.doc_ids) + 1
            or len(self.titles) != len(self.doc_ids)
            or self.doc_start[0] != 0
            or self.doc_start[-1] != len(self.word_of)
            or np.any(np.diff(self.doc_start) < 0)
            or np.any(self.word_of[ends - 1] != BREAK)
            or np.any((self.word_of < BREAK) | (self.word_of >= len(self.words)))
            or len(self.pos_of) != len(self.word_of)
            or np.any(self.pos_of >= len(PARTS_OF_SPEECH))
            or np.any(self.pos_of[self.word_of == BREAK] != 0)
            or len(self.continues_chunk) != len(self.word_of)
            or np.any(self.continues_chunk & follows_break(self.word_of))
        ):
            raise ValueError("the arrays of the token block contradict each other")

    @property
    def n_docs(self) -> int:
        """Documents, empty ones too."""
        return len(self.doc_ids)

    @property
    def n_tokens(self) -> int:
        """Words in running text."""
        return int(np.count_nonzero(self.word_of != BREAK))

    @property
    def doc_of(self) -> NDArray[np.int64]:
        """The document of each entry of `word_of`."""
        return np.repeat(np.arange(self.n_docs), np.diff(self.doc_start))

    def runs(self, d: int) -> list[list[str]]:
        """The runs of document `d`."""
        runs: list[list[str]] = []
        run: list[str] = []
        for w in self.word_of[self.doc_start[d] : self.doc_start[d + 1]]:
            if w != BREAK:
                run.append(self.words[w])
            else:
                runs.append(run)
                run = []
        return runs


def follows_break(word_of: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Aligned with `word_of`: whether an entry is a BREAK or the first word of its run."""
    is_break = word_of == BREAK
    first: NDArray[np.bool_] = is_break.copy()
    first[:1] = True
    first[1:] |= is_break[:-1]
    return first
