"""Words without parameters: the most frequent ones beyond a budget (Aldebakel et al. 2022)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse


def frozen_words(counts: sparse.csr_array, word_budget: int | None) -> NDArray[np.bool_]:
    """(V,), the words of counts (D, V) beyond `word_budget`: the most frequent ones."""
    n_words = counts.shape[1]
    frozen = np.zeros(n_words, dtype=np.bool_)
    if word_budget is not None:
        frequency = np.asarray(counts.sum(axis=0)).ravel()
        by_frequency = np.argsort(-frequency, kind="stable")
        frozen[by_frequency[: max(0, n_words - word_budget)]] = True
    return frozen
