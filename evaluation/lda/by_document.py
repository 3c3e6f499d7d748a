"""One document after the other over threads, each with random numbers of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from models.parallel import effective_n_jobs, for_blocks

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from scipy import sparse

    Work = Callable[[int, NDArray[np.int32], NDArray[np.int64], np.random.Generator], object]

DOCUMENT_BLOCK = 4
"""Documents a task: few, as sampling one takes milliseconds."""


def for_documents(counts: sparse.csr_array, seed: int, n_jobs: int | None, work: Work) -> None:
    """Call `work(d, words, n, rng)` for each document d of counts (D, V) that has a token.

    `words` (U,) are the document's different words and `n` (U,) how often each occurs, none 0.
    `rng` depends on `seed` and `d` alone: neither the number of threads nor the other documents
    change what is drawn. `work` must write to what is its document's only.
    """

    def block(first: int, last: int) -> None:
        for d in range(first, last):
            entries = slice(counts.indptr[d], counts.indptr[d + 1])
            words, n = counts.indices[entries], counts.data[entries]
            if len(n):
                work(
                    d, words.astype(np.int32), n.astype(np.int64), np.random.default_rng([seed, d])
                )

    for_blocks(block, counts.shape[0], DOCUMENT_BLOCK, effective_n_jobs(n_jobs))
