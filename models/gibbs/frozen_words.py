"""Words without parameters: the most frequent ones beyond a budget (Aldebakel et al. 2022)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corpora.row_blocks import row_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse


def frozen_words(counts: sparse.csr_array, word_budget: int | None) -> NDArray[np.bool_]:
    """(V,), the words of counts (D, V) beyond `word_budget`: the most frequent ones."""
    n_words = counts.shape[1]
    frozen = np.zeros(n_words, dtype=np.bool_)
    if word_budget is not None:
        frequency = _frequency(counts)
        by_frequency = np.argsort(-frequency, kind="stable")
        frozen[by_frequency[: max(0, n_words - word_budget)]] = True
    return frozen


def _frequency(counts: sparse.csr_array) -> NDArray[Any]:
    """(V,), how often each word occurs."""
    if counts.dtype.kind not in "iu":  # sums of fractions depend on how they are parted
        return np.asarray(counts.sum(axis=0)).ravel()
    frequency = np.zeros(counts.shape[1], dtype=np.int64)
    for _, block in row_blocks(counts):
        frequency += block.sum(axis=0)
    return frequency
