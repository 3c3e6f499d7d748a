"""Node-wise regressions: the Poisson regression of each word's counts on those of all others.

For each word s, with y = x_s + β and η_i = θ_s + φ_s·x_i (φ_ss = 0),

    min over θ_s, φ_s of  (1/n) Σ_i [exp η_i - y_i η_i] + λ |φ_s|_1

(Inouye et al. 2015, Sec. 2, "LPMRF Parameter Estimation"). The conditional of a word in the
distribution being Poisson with η_s = θ_s + 2 Φ_s·x, Φ is half of φ, made symmetric.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from models.counts import checked_counts
from models.parallel import effective_n_jobs, for_blocks
from models.poisson_mrf.distribution import FixedLengthPoissonMRF
from models.poisson_mrf.lasso_kernel import Setting, fit_block
from models.poisson_mrf.working_set import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from models.arrays import Floats, Ints32

NODE_BLOCK = 16  # Words a task
COLUMN_BLOCK = 256  # Words whose products with all others are in memory at once
logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class NodeRegressions:
    """The regressions of V words at one penalty, as `fit_nodes` returns them."""

    intercept: Floats  #: (V,), θ.
    coefficients: sparse.csr_array
    """(V, V), row s is φ_s: sorted, without zeros, the diagonal 0. Not symmetric."""
    penalty: float  #: λ.
    smoothing: float  #: β, added to each regressed count.
    kkt_residual: Floats  #: (V,), violation of each regression's optimality conditions.

    def field(self, half_length: float = np.inf) -> FixedLengthPoissonMRF:
        """The distribution: Φ = (φ + φᵀ)/4, and θ less a constant, so that Σ_s exp θ_s = 1."""
        interactions = sparse.csr_array((self.coefficients + self.coefficients.T) / 4.0)
        node = self.intercept - logsumexp(self.intercept)
        return FixedLengthPoissonMRF(node, interactions, half_length)


def fit_nodes(
    counts: Any,
    penalty: float,
    *,
    smoothing: float = 1e-4,
    start: NodeRegressions | None = None,
    tolerance: float = 1e-6,
    n_jobs: int | None = None,
) -> NodeRegressions:
    """Regress each word's counts on those of all others; the result is the same to the bit whatever
    `n_jobs`.

    Parameters
    ----------
    counts : sparse or dense (n, V)
        Not negative; they need not be whole numbers.
    penalty : float
        λ, positive. From `largest_penalty` on there are no coefficients, nor with infinity.
    smoothing : float
        β, positive: a word that never occurs has θ = log β.
    start : NodeRegressions, optional
        Coefficients of a warm start. They change the time, and the result within `tolerance`.
    tolerance : float
        Largest `kkt_residual` of a regression; a warning is logged if one does not reach it.

    Raises ValueError if `counts` are empty, negative or not finite, a setting is out of its range,
    or `start` is of other words. Memory, in bytes: 24 for each entry of `counts`, and in each
    thread 8·W², W being up to twice the number of coefficients of a word.
    """
    matrix = _float_counts(counts)
    _check_positive("penalty", penalty, "the larger it is, the fewer coefficients")
    return _fit(_table(matrix), penalty, smoothing, start, tolerance, effective_n_jobs(n_jobs))


def fit_path(
    counts: Any,
    penalties: Iterable[float],
    *,
    smoothing: float = 1e-4,
    tolerance: float = 1e-6,
    n_jobs: int | None = None,
) -> Iterator[NodeRegressions]:
    """Fit as `fit_nodes` for each of `penalties`, from the largest down, each from the fit before.
    Raises ValueError as `fit_nodes`, before anything is fitted.
    """
    matrix, n_threads = _float_counts(counts), effective_n_jobs(n_jobs)
    ordered = [float(penalty) for penalty in penalties]
    for penalty in ordered:
        _check_positive("penalties", penalty, "the larger it is, the fewer coefficients")
    _check_settings(smoothing, tolerance)
    ordered.sort(reverse=True)

    def fits() -> Iterator[NodeRegressions]:
        table, last = _table(matrix), None
        for penalty in ordered:
            last = _fit(table, penalty, smoothing, last, tolerance, n_threads)
            yield last

    return fits()


def largest_penalty(counts: Any) -> float:
    """The smallest λ at which no regression has a coefficient: the largest absolute covariance."""
    matrix = _float_counts(counts)
    n_docs, n_words = matrix.shape
    columns, total = matrix.tocsc(), np.asarray(matrix.sum(axis=0)).ravel()
    largest = 0.0
    for first in range(0, n_words, COLUMN_BLOCK):
        block = slice(first, min(first + COLUMN_BLOCK, n_words))
        slope = (columns[:, block].T @ matrix).toarray() - np.outer(total[block] / n_docs, total)
        slope[np.arange(block.stop - first), np.arange(first, block.stop)] = 0.0
        largest = max(largest, float(np.abs(slope).max()) / n_docs)
    return largest


def _fit(
    table: Table,
    penalty: float,
    smoothing: float,
    start: NodeRegressions | None,
    tolerance: float,
    n_threads: int,
) -> NodeRegressions:
    """The regressions of `table`, from checked counts."""
    _check_settings(smoothing, tolerance)
    n_words = len(table.total)
    begin = sparse.csr_array((n_words, n_words))
    if start is not None:
        if start.coefficients.shape != begin.shape:
            raise ValueError(
                f"start is of {start.coefficients.shape[0]} words, but counts are of {n_words}: "
                "give regressions of the same words"
            )
        if penalty < np.inf:  # else every coefficient is 0, and not to be multiplied by it
            begin = start.coefficients.copy()
            # Of a word that is nowhere, or everywhere as often, there is no slope to go down by.
            begin.data *= (table.spread > 1e-6 * table.total)[begin.indices]
            begin.eliminate_zeros()
    first_words = (begin.indptr.astype(np.int64), begin.indices.astype(np.int32), begin.data)
    setting = Setting(float(penalty), float(smoothing), float(tolerance))
    intercept, residual = np.empty(n_words), np.empty(n_words)
    n_found = np.empty(n_words, dtype=np.int64)
    pieces: dict[int, tuple[Ints32, Floats]] = {}

    def fit_words(first: int, last: int) -> None:
        arrays = (intercept, residual, n_found)
        pieces[first] = fit_block(table, first, last, setting, first_words, *arrays)

    for_blocks(fit_words, n_words, NODE_BLOCK, n_threads)
    in_order = [pieces[first] for first in sorted(pieces)]
    coefficients = sparse.csr_array(
        (
            np.concatenate([value for _, value in in_order]),
            np.concatenate([word for word, _ in in_order]),
            np.concatenate([[0], np.cumsum(n_found)]),
        ),
        shape=(n_words, n_words),
    )
    short = int((~(residual <= tolerance)).sum())
    if short:
        logger.warning(
            "%d of %d regressions at penalty %g did not reach the tolerance of %g: the worst has "
            "a residual of %.3g",
            *(short, n_words, penalty, tolerance, residual.max()),
        )
    return NodeRegressions(intercept, coefficients, setting.penalty, setting.smoothing, residual)


def _table(matrix: sparse.csr_array) -> Table:
    """Checked counts, as kernels read them."""
    columns = matrix.tocsc()
    columns.sort_indices()
    total: Floats = np.asarray(matrix.sum(axis=0), dtype=np.float64).ravel()
    square = np.asarray(matrix.multiply(matrix).sum(axis=0)).ravel()
    variance = square - total * (total / matrix.shape[0])
    return Table(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32),
        matrix.data,
        columns.indptr.astype(np.int64),
        columns.indices.astype(np.int32),
        columns.data,
        total,
        np.sqrt(np.maximum(variance, 0.0) + 1e-12 * square),
    )


def _float_counts(counts: Any) -> sparse.csr_array:
    """(n, V) of float64, sorted, with no entry twice."""
    matrix = checked_counts(counts, whole=False).astype(np.float64, copy=True)
    if 0 in matrix.shape:
        raise ValueError(
            f"counts must be (n_docs, n_words) with one of each at least, found {matrix.shape}"
        )
    matrix.eliminate_zeros()
    return matrix


def _check_positive(name: str, value: float, advice: str) -> None:
    """Whether a setting is above 0, which NaN is not."""
    if not value > 0:
        raise ValueError(f"{name} must be positive, found {value}: {advice}")


def _check_settings(smoothing: float, tolerance: float) -> None:
    _check_positive("smoothing", smoothing, "without it the logarithm of a rate may be infinite")
    _check_positive("tolerance", tolerance, "1e-6 is strict enough for most purposes")
    if not (smoothing < np.inf and tolerance < np.inf):
        raise ValueError(
            f"smoothing and tolerance must be finite, found {smoothing} and {tolerance}"
        )
