"""Annotation of texts: lemma, tag and part of speech of every token."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

PARTS_OF_SPEECH: Final = (
    *("", "ADJ", "ADP", "ADV", "AUX", "CONJ", "CCONJ", "DET", "INTJ", "NOUN", "NUM"),
    *("PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X", "EOL", "SPACE"),
)
"""spaCy's coarse parts of speech; `Annotation.pos` holds indices into this."""


@dataclass(frozen=True, eq=False)
class Annotation:
    """Lemma, tag and part of speech of every token of some texts, in their order. Raises ValueError
    if the arrays contradict each other.
    """

    lemmas: tuple[str, ...]  #: The different lemmas of these texts, sorted.
    tags: tuple[str, ...]
    """The different fine-grained tags, sorted; empty strings where the model gives none."""
    lemma_of: NDArray[np.int32]  #: (n_tokens,) indices into `lemmas`.
    tag_of: NDArray[np.int16]  #: (n_tokens,) indices into `tags`.
    pos: NDArray[np.uint8]  #: (n_tokens,) indices into `PARTS_OF_SPEECH`.
    is_stop: NDArray[np.bool_]
    """(n_tokens,) whether the model's language has the token for a stop word."""
    text_start: NDArray[np.int64]
    """(n_texts + 1,) text t has the tokens from `text_start[t]` to `text_start[t + 1]`."""
    continues_chunk: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    """(n_tokens,) whether in the noun chunk of the token before; empty if none were sought."""

    def __post_init__(self) -> None:
        n_tokens = len(self.lemma_of)
        if (
            any(len(array) != n_tokens for array in (self.tag_of, self.pos, self.is_stop))
            or len(self.continues_chunk) not in (0, n_tokens)
            or self.text_start[0] != 0
            or self.text_start[-1] != n_tokens
            or np.any(np.diff(self.text_start) < 0)
            or np.any((self.lemma_of < 0) | (self.lemma_of >= len(self.lemmas)))
            or np.any((self.tag_of < 0) | (self.tag_of >= len(self.tags)))
            or np.any(self.pos >= len(PARTS_OF_SPEECH))
        ):
            raise ValueError("the arrays of the annotation contradict each other")

    @property
    def n_texts(self) -> int:
        """Texts, empty ones too."""
        return len(self.text_start) - 1

    @property
    def n_tokens(self) -> int:
        """Tokens of all texts, white space and punctuation among them."""
        return len(self.lemma_of)


class Annotator(Protocol):
    """Gives every token a lemma, a tag and a part of speech."""

    def annotate(self, texts: Sequence[str]) -> Annotation:
        """The annotation of `texts`, which depends on nothing else: no order, no cache, no seed."""
        ...


class PlacingAnnotator(Annotator, Protocol):
    """Says of each token where it stands, too."""

    def token_spans(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        """Return start and end (n_tokens, 2) of the tokens of each text, as characters."""
        ...
