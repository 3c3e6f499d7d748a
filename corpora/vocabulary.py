"""Which words are worth a column: not too rare, not in nearly every document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corpora.errors import EmptyVocabularyError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


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


def prune(
    words: Sequence[str], document_frequency: NDArray[np.integer], n_docs: int, pruning: Pruning
) -> NDArray[np.int64]:
    """Indices of the words to keep, in the alphabetical order of the words.

    Parameters
    ----------
    words
        All different.
    document_frequency
        (len(words),) in how many documents each occurs.
    n_docs
        Documents altogether; `pruning.no_above` is a share of these.
    pruning
        The thresholds. Among words in equally many documents the alphabetically first stay.

    Raises
    ------
    EmptyVocabularyError
        If no word is left.
    """
    too_rare = document_frequency < pruning.no_below
    # The small number undoes rounding: 0.29 · 100 is a little less than 29.
    too_common = document_frequency > pruning.no_above * n_docs + 1e-9
    kept = np.flatnonzero(~too_rare & ~too_common)
    if not len(kept):
        raise EmptyVocabularyError(_what_was_removed(too_rare, too_common, n_docs, pruning))
    alphabetical = sorted(kept.tolist(), key=lambda w: words[w])
    frequent_first = sorted(alphabetical, key=lambda w: -int(document_frequency[w]))
    return np.array(
        sorted(frequent_first[: pruning.keep_n], key=lambda w: words[w]), dtype=np.int64
    )


def _what_was_removed(
    too_rare: NDArray[np.bool_], too_common: NDArray[np.bool_], n_docs: int, pruning: Pruning
) -> str:
    if not len(too_rare):
        return f"the {n_docs} training documents have no words; check the text settings"
    n_rare, n_common = np.count_nonzero(too_rare), np.count_nonzero(too_common)
    lower = "lower no_below" if n_rare >= n_common else ""
    higher = "raise no_above" if n_common else ""
    return (
        f"no word is left of {len(too_rare)}: {n_rare} occur in fewer than "
        f"no_below = {pruning.no_below} documents, {n_common} in more than "
        f"no_above = {pruning.no_above:g} of the {n_docs} documents; "
        + (" or ".join(filter(None, [lower, higher])) or "change a threshold")
    )
