"""Counts of simulated tokens, with the topics of the tokens in the order of the counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from evaluation.arrays import Ints, Ints32


def counts_of_tokens(
    n_tokens: Ints, word_of: Ints32, topic_of: Ints32, n_words: int
) -> tuple[sparse.csr_array, Ints32]:
    """Return counts (D, V) of tokens by document, `n_tokens` (D,) of each, and reordered topics.

    The order is stable and depends on the words alone, so that topics stay a draw given these.
    """
    n_docs = len(n_tokens)
    doc_of = np.repeat(np.arange(n_docs), n_tokens)
    cell = doc_of * n_words + word_of
    order = np.argsort(cell, kind="stable")
    cells, data = np.unique(cell[order], return_counts=True)
    rows, columns = np.divmod(cells, n_words)
    start = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=n_docs))))
    counts = sparse.csr_array(
        (data.astype(np.int64), columns.astype(np.int32), start.astype(np.int32)),
        shape=(n_docs, n_words),
    )
    return counts, topic_of[order]
