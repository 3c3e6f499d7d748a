"""All that a model says of some articles, so that what to keep of it can be chosen later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corpora.tokens.annotation import PARTS_OF_SPEECH

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class AnnotatedArticles:
    """Articles as sections, as pieces, as tokens; each token as the number of its entry. An entry
    is a combination of word, tag, part of speech and stop-word flag that occurs: what depends on
    these four is decided once an entry. Raises ValueError if the arrays contradict each other.
    """

    words: tuple[str, ...]  #: Different lemmas in their normalized form, sorted.
    is_alphabetic: NDArray[np.bool_]  #: (n_words,) whether a word is letters alone.
    is_stop_word: NDArray[np.bool_]
    """(n_words,) whether a word, as it is, is a stop word of the model's language."""
    tags: tuple[str, ...]  #: Different fine-grained tags, sorted.
    entry_word: NDArray[np.integer]  #: (n_entries,) indices into `words`.
    entry_tag: NDArray[np.integer]  #: (n_entries,) indices into `tags`.
    entry_pos: NDArray[np.uint8]  #: (n_entries,) indices into `annotation.PARTS_OF_SPEECH`.
    entry_is_stop: NDArray[np.bool_]
    """(n_entries,) whether the token itself is a stop word of the model's language."""
    entry_of: NDArray[np.integer]  #: (n_tokens,) indices of entries.
    continues_chunk: NDArray[np.bool_]
    """(n_tokens,) whether in the noun chunk of the token before; empty if none were sought."""
    piece_start: NDArray[np.int64]
    """(n_pieces + 1,) piece i has the tokens from `piece_start[i]` to `piece_start[i + 1]`."""
    section_start: NDArray[np.int64]
    """(n_sections + 1,) section s has the pieces from `section_start[s]` on."""
    article_start: NDArray[np.int64]
    """(n_articles + 1,) article a has the sections from `article_start[a]` on."""
    headings: tuple[str, ...]  #: (n_sections,) of each top-level section; that of a lead is empty.
    doc_ids: tuple[str, ...]  #: (n_articles,) see `Article.document_id`.
    titles: tuple[str, ...]
    skipped: tuple[str, ...] = ()
    """Members of `doc_ids` that could not be annotated; they have no sections."""

    def __post_init__(self) -> None:
        if not (
            len(self.is_alphabetic) == len(self.is_stop_word) == len(self.words)
            and len(self.entry_word) == len(self.entry_tag) == len(self.entry_pos)
            and len(self.entry_pos) == len(self.entry_is_stop)
            and _are_indices(self.entry_word, len(self.words))
            and _are_indices(self.entry_tag, len(self.tags))
            and _are_indices(self.entry_pos, len(PARTS_OF_SPEECH))
            and _are_indices(self.entry_of, len(self.entry_word))
            and len(self.continues_chunk) in (0, self.n_tokens)
            and _are_starts(self.piece_start, self.n_tokens)
            and _are_starts(self.section_start, len(self.piece_start) - 1)
            and _are_starts(self.article_start, len(self.section_start) - 1)
            and len(self.headings) == len(self.section_start) - 1
            and len(self.titles) == len(self.doc_ids) == self.n_articles
            and set(self.skipped) <= set(self.doc_ids)
        ):
            raise ValueError("the arrays of the annotated articles contradict each other")

    @property
    def passed_over(self) -> tuple[str, ...]:
        """Deprecated: `skipped`."""
        return self.skipped

    @property
    def n_articles(self) -> int:
        """Articles, those without a word too."""
        return len(self.article_start) - 1

    @property
    def n_tokens(self) -> int:
        """Tokens of all articles, white space and punctuation among them."""
        return len(self.entry_of)


def _are_indices(array: NDArray[np.integer], length: int) -> bool:
    return len(array) == 0 or bool(array.min() >= 0 and array.max() < length)


def _are_starts(array: NDArray[np.int64], end: int) -> bool:
    return bool(len(array) and array[0] == 0 and array[-1] == end and np.all(np.diff(array) >= 0))
