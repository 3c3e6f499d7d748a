"""Multiplicative updates of one factor of ŷ_dw = Σ_k θ_dk φ_kw while the other is fixed.

With φ fixed, documents are independent, and the θ (K,) of each is updated by

    θ_k ← (o_k + θ_k Σ_w φ_kw y_w / ŷ_w) / c_k

which is the update of Lee & Seung 2001 (Theorem 2) for the Kullback-Leibler divergence, with o_k =
0 and c_k = Σ_w φ_kw, and the EM step to the mode under a Gamma prior (Canny 2004), with o_k =
a_k - 1 and c_k = b_k + Σ_w φ_kw. With θ fixed the same holds for words: y transposed, θ and φ
exchanged. So one kernel serves both. No update makes the objective worse, however often a row
is updated. Several updates of a row in turn cost less than several passes over the data: its part
of the other factor is then in the cache.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from models.arrays import Floats, Ints32
from models.kernel import kernel
from models.parallel import for_blocks
from models.variational.fixed_point import TINY, mix_topics, sum_over_words

Ints = Ints32 | NDArray[np.int64]
ENTRIES_A_BLOCK = 8192  # Minimum number of entries a task; a task ends with a whole row
MIN_FACTOR = 1e-100
"""Entries below it become 0, as they would in the limit: denormal numbers make arithmetic slow."""


class Rows(NamedTuple):
    """A CSR matrix as kernels take it; the entries of row i are `start[i]:start[i+1]`."""

    start: Ints
    column_of: Ints
    counts: Floats
    block: NDArray[np.int64]  # First row of each task, then the number of rows

    @classmethod
    def of(cls, counts: sparse.csr_array) -> "Rows":
        """Return the entries of `counts`; floats are not copied."""
        edges = np.arange(0, max(1, counts.nnz), ENTRIES_A_BLOCK)
        block = np.append(np.searchsorted(counts.indptr, edges, side="right") - 1, counts.shape[0])
        block[0] = 0  # rows without entries before the first one belong to it
        data = counts.data.astype(np.float64, copy=False)
        return cls(counts.indptr, counts.indices, data, np.unique(block))


def update_factor(
    rows: Rows,
    other: Floats,
    offset: Floats,
    norm: Floats,
    factor: Floats,
    *,
    relaxation: float = 1.0,
    n_updates: int = 1,
    n_threads: int = 1,
) -> None:
    """Update every row of `factor` (n, K) `n_updates` times, in place, by the data `rows` (n, m).

    `other` (m, K) is the fixed factor; `offset` and `norm` (K,) are o and c above, and topic k
    becomes 0 where c_k is 0. `relaxation` is the exponent of the change: above 1 it may overshoot.
    """
    inverse = np.divide(1.0, norm, out=np.zeros_like(norm), where=norm > 0)
    for_blocks(
        lambda first, last: update_rows(
            rows,
            rows.block[first],
            rows.block[last],
            other,
            offset,
            inverse,
            relaxation,
            n_updates,
            factor,
        ),
        len(rows.block) - 1,
        1,
        n_threads,
    )


@kernel
def update_rows(
    rows: Rows,
    first: int,
    last: int,
    other: Floats,
    offset: Floats,
    inverse: Floats,
    relaxation: float,
    n_updates: int,
    factor: Floats,
) -> None:
    """Update the rows `first <= i < last` of `factor` (n, K), which is mutated.

    One update of row i is equivalent to `weight = other[columns]; factor[i] = inverse * (offset +
    factor[i] * ((counts / (weight @ factor[i])) @ weight))`; `inverse` is 1 / c.
    What the row is multiplied by is raised to the power `relaxation`.
    """
    n_topics = factor.shape[1]
    total = np.empty(n_topics)
    for i in range(first, last):
        start, stop = rows.start[i], rows.start[i + 1]
        columns, counts = rows.column_of[start:stop], rows.counts[start:stop]
        row = factor[i]
        mixed = np.empty(stop - start)
        for _ in range(n_updates):
            sum_over_words(columns, counts, other, row, mixed, total)
            for k in range(n_topics):
                updated = (offset[k] + row[k] * total[k]) * inverse[k]
                if relaxation != 1.0 and row[k] > 0.0:
                    updated = row[k] * (updated / row[k]) ** relaxation
                row[k] = updated if updated >= MIN_FACTOR else 0.0


def log_mixtures(rows: Rows, other: Floats, factor: Floats, n_threads: int) -> float:
    """Return Σ y log ŷ over all entries, ŷ being mixed of `factor` (n, K) and `other` (m, K)."""
    each = np.empty(len(factor))
    for_blocks(
        lambda first, last: log_mixtures_of_rows(
            rows, rows.block[first], rows.block[last], other, factor, each
        ),
        len(rows.block) - 1,
        1,
        n_threads,
    )
    return float(each.sum())


@kernel
def log_mixtures_of_rows(
    rows: Rows, first: int, last: int, other: Floats, factor: Floats, each: Floats
) -> None:
    """Fill `each[first:last]` with Σ_j y_j log ŷ_j of rows."""
    for i in range(first, last):
        start, stop = rows.start[i], rows.start[i + 1]
        mixed = np.empty(stop - start)
        mix_topics(rows.column_of[start:stop], other, factor[i], mixed)
        total = 0.0
        for j in range(stop - start):
            total += rows.counts[start + j] * np.log(TINY + mixed[j])
        each[i] = total
