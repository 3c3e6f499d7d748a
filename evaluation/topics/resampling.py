"""Standard errors of coherence over the documents in which it is counted.

Documents are in G blocks of about the same size, the sections of an article in one block. The
coherence of all blocks but one, for each block in turn, gives the delete-a-group jackknife (Efron
& Tibshirani 1993, "An introduction to the bootstrap", eq. 11.5, with groups for observations):

    s.e.² = (G - 1) / G · Σ_g (value without g - mean of these values)²

It is the standard error of a smooth function of counts. The measures of coherence are smooth while
every pair of words co-occurs often enough. A pair that may by chance have had no window together
moves NPMI from -1 to about 0 at once, and the jackknife does not see it where the count is 0. So a
topic has no standard error here if more than `MAX_RARE_SHARE` of its pairs are rare, that is in
fewer than `MIN_BLOCKS` blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from evaluation.arrays import Bools, Floats, Ints

MIN_BLOCKS: Final = 10
"""Blocks of documents in which a pair co-occurs, at least, for an interval."""
MAX_RARE_SHARE: Final = 0.0
"""Share of a topic's pairs that may be in fewer blocks."""


@dataclass(frozen=True, eq=False)
class Resampled:
    """Standard errors over documents of K topics, and of their mean."""

    raw_errors: Floats  #: (K,), by the jackknife, also where they cannot be trusted.
    raw_error_of_mean: float
    n_rare: Ints  #: (K,), pairs that co-occur in fewer than `MIN_BLOCKS` blocks of documents.
    n_pairs: Ints  #: (K,), pairs of words that both occur.
    n_blocks: int  #: G, blocks that have documents.

    @classmethod
    def unknown(cls) -> Resampled:
        """Return errors of no topic."""
        none = np.zeros(0, dtype=np.int64)
        return cls(np.zeros(0), float("nan"), none, none, 0)

    @property
    def is_trusted(self) -> Bools:
        """(K,), whether each topic's pairs co-occur often enough for a standard error."""
        enough: Bools = self.n_rare <= MAX_RARE_SHARE * self.n_pairs
        return enough & (self.n_pairs > 0) & np.isfinite(self.raw_errors)

    @property
    def standard_errors(self) -> Floats:
        """(K,), standard error of each topic's coherence; NaN where it cannot be trusted."""
        return np.where(self.is_trusted, self.raw_errors, np.nan)

    @property
    def standard_error(self) -> float:
        """Standard error of the mean over topics; NaN if it cannot be trusted."""
        n_rare, n_pairs = int(self.n_rare.sum()), int(self.n_pairs.sum())
        is_trusted = n_pairs > 0 and n_rare <= MAX_RARE_SHARE * n_pairs
        return self.raw_error_of_mean if is_trusted else float("nan")

    @property
    def quantile(self) -> float:
        """Standard errors on each side of a 95 % interval: Student's t with G - 1 degrees."""
        return float(stats.t.ppf(0.975, self.n_blocks - 1)) if self.n_blocks > 1 else float("nan")


def resample(
    values: Floats, without: Floats, blocks_with_both: Ints, is_counted: Bools
) -> Resampled:
    """Return the standard errors of `values` (K,), which may be NaN.

    `without` (G, K) are the values without each block; `blocks_with_both` (K, n, n) the blocks in
    which each pair co-occurs; `is_counted` (K, n, n) the pairs that count, symmetric.
    """
    rare = is_counted & (blocks_with_both < MIN_BLOCKS)
    has_value = np.isfinite(values)
    of_mean = np.full(len(without), np.nan)
    if has_value.any():
        of_mean = without[:, has_value].mean(axis=1)
    return Resampled(
        _jackknife(without),
        float(_jackknife(of_mean[:, None])[0]),
        rare.sum(axis=(1, 2)) // 2,
        is_counted.sum(axis=(1, 2)) // 2,
        len(without),
    )


def _jackknife(without: Floats) -> Floats:
    """Return the standard error (K,) of values (G, K) that each leave out a block."""
    n_blocks = len(without)
    if n_blocks < 2:
        return np.full(without.shape[1], np.nan)
    errors: Floats = np.sqrt((n_blocks - 1) * np.var(without, axis=0))
    return errors
