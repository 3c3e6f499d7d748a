"""Fixed points for Dirichlet priors given counts (Minka 2000, Estimating a Dirichlet, eq. 55).

For counts n_dk drawn from Dirichlet-multinomials with one alpha, each step

    alpha_k ← alpha_k Σ_d [ψ(n_dk + alpha_k) - ψ(alpha_k)] / Σ_d [ψ(n_d + Σ alpha) - ψ(Σ alpha)]

raises their likelihood. As ψ(n + a) - ψ(a) = Σ_{i<n} 1 / (a + i), the sums over documents need only
the numbers of documents with more than i tokens: no ψ, at a cost independent of their number.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.arrays import Floats, Ints32
from models.kernel import kernel
from models.parallel import for_blocks

Ints = Ints32 | NDArray[np.int64]
Topics = NDArray[np.uint16]
MIN_PRIOR = 1e-8  # Lower limit of priors: alpha of a topic without tokens would become 0


class Exceedances(NamedTuple):
    """Numbers of counts above i in each of n rows, for each i from 0 to the row's largest count."""

    start: NDArray[np.int64]  # (n + 1,), the numbers of row k are `above[start[k]:start[k+1]]`
    above: Floats

    def digamma_sums(self, prior: Floats) -> Floats:
        """Return the sum of ψ(c + prior_k) - ψ(prior_k) over the counts c of each row (n,)."""
        lengths = np.diff(self.start)
        i = np.arange(len(self.above)) - np.repeat(self.start[:-1], lengths)
        terms = self.above / (np.repeat(prior, lengths) + i)
        row = np.repeat(np.arange(len(lengths)), lengths)
        return np.asarray(np.bincount(row, terms, len(lengths)), dtype=np.float64)


def exceedances(row: Topics, counts: Ints, n_rows: int, n_threads: int = 1) -> Exceedances:
    """Return those of counts (n, m), column j of which belongs to row `row[j]`; zeros may lack."""
    parts = _parts(row, counts, n_threads)
    all_largest = np.zeros((len(parts), n_rows), dtype=np.int64)
    for_blocks(lambda i, _: raise_to_largest(*parts[i], all_largest[i]), len(parts), 1, n_threads)
    largest = all_largest.max(axis=0)
    start = np.concatenate(([0], np.cumsum(largest)))
    ending = np.zeros((len(parts), start[-1]), dtype=np.int64)
    for_blocks(lambda i, _: count_ends(*parts[i], start, ending[i]), len(parts), 1, n_threads)
    # Counts above i are those that end at i or later.
    total = np.concatenate(([0], np.cumsum(ending.sum(axis=0))))
    before = total[:-1] - np.repeat(total[start[:-1]], largest)
    of_row = np.repeat(total[start[1:]] - total[start[:-1]], largest)
    return Exceedances(start, (of_row - before).astype(np.float64))


def _parts(row: Topics, counts: Ints, n_parts: int) -> list[tuple[Topics, Ints]]:
    """Cut counts (n, m) along their longer axis into parts, each with its part of `row`."""
    n, m = counts.shape
    cuts = pairwise(np.arange(n_parts + 1) * max(n, m) // n_parts)
    if n >= m:
        return [(row, counts[first:last]) for first, last in cuts]
    return [(row[first:last], counts[:, first:last]) for first, last in cuts]


@kernel
def raise_to_largest(row: Topics, counts: Ints, largest: NDArray[np.int64]) -> None:
    """Raise `largest` (n,) in place to each row's largest count."""
    for i in range(counts.shape[0]):
        for j in range(counts.shape[1]):
            largest[row[j]] = max(largest[row[j]], counts[i, j])


@kernel
def count_ends(
    row: Topics, counts: Ints, start: NDArray[np.int64], ending: NDArray[np.int64]
) -> None:
    """Add 1 to `ending[start[k] + c - 1]` for each count c > 0 of a row k, in place."""
    for i in range(counts.shape[0]):
        for j in range(counts.shape[1]):
            if counts[i, j] > 0:
                ending[start[row[j]] + counts[i, j] - 1] += 1


def asymmetric_prior(
    of_topics: Exceedances, n_tokens: Ints, alpha: Floats, n_iterations: int = 5
) -> Floats:
    """Return alpha (K,) after `n_iterations` steps, given the documents' counts of each topic.
    `n_tokens` (D,) are the documents' lengths.
    """
    of_lengths = _of_one_row(n_tokens)
    for _ in range(n_iterations):
        norm = float(of_lengths.digamma_sums(alpha.sum(keepdims=True))[0])
        if norm == 0.0:
            break
        alpha = np.maximum(alpha * of_topics.digamma_sums(alpha) / norm, MIN_PRIOR)
    return alpha


def symmetric_prior(counts: Ints, eta: float, n_iterations: int = 5) -> float:
    """Return symmetric eta after `n_iterations` steps, given counts (V, K) of K draws."""
    n_entries = counts.shape[0]
    of_total = _of_one_row(counts.sum(axis=0, dtype=np.int64))
    of_entry = _of_one_row(counts.ravel())
    for _ in range(n_iterations):
        norm = n_entries * float(of_total.digamma_sums(np.array([n_entries * eta]))[0])
        if norm == 0.0:
            break
        eta = max(eta * float(of_entry.digamma_sums(np.array([eta]))[0]) / norm, MIN_PRIOR)
    return eta


def _of_one_row(counts: Ints) -> Exceedances:
    return exceedances(np.zeros(1, dtype=np.uint16), counts[:, None], 1)
