"""Standard errors of coherence over the documents in which it is counted.

Documents are in G blocks of about the same size, the sections of an article in one block. The
coherence of all blocks but one, for each block in turn, gives the delete-a-group jackknife (Efron
& Tibshirani 1993, "An introduction to the bootstrap", eq. 11.3 and 11.5, with groups for
observations), with v the value, v_g that without block g, and m the mean of these:

    s.e.² = (G - 1) / G · Σ_g (v_g - m)²        bias = (G - 1) (m - v)

These hold for smooth functions of counts. The measures of coherence are smooth while every pair of
words co-occurs often enough. A pair that by chance has no window together has NPMI -1, and one
window moves it to about 0. Where the count is 0, the jackknife does not see it. And few windows
bias the logarithms of counts: in the mean over many topics the error averages out, the bias does
not. So there is no standard error, for a topic or for the mean, if

* more than `MAX_RARE_SHARE` of its pairs are rare, that is in fewer than `MIN_BLOCKS` blocks, or
* the estimated bias is more than `MAX_BIAS` standard errors.

docs/benchmarks.md has the coverage of the intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import stdtrit

from evaluation.figure import MAX_BIAS
from evaluation.topics.confirmation import both_occur, topic_values

if TYPE_CHECKING:
    from evaluation.arrays import Floats
    from evaluation.topics.cooccurrence import BlockCounts

MIN_BLOCKS: Final = 5
"""Blocks of documents in which a pair that is not rare co-occurs."""
MAX_RARE_SHARE: Final = 0.001
"""Share of the pairs that may be rare: none of a topic's, and few of those of a hundred topics."""


@dataclass(frozen=True, eq=False)
class ResampledValue:
    """A value, with its standard error over documents by the jackknife, and what it is worth."""

    raw_error: float  #: Standard error, also where it cannot be trusted.
    bias: float  #: Estimated bias, of few windows.
    n_rare: int  #: Pairs of words that co-occur in fewer than `MIN_BLOCKS` blocks of documents.
    n_pairs: int  #: Pairs of words that both occur.
    n_blocks: int  #: G, blocks that have documents.

    @property
    def standard_error(self) -> float:
        """Standard error; NaN if it cannot be trusted."""
        return float("nan") if self.why_none else self.raw_error

    @property
    def why_none(self) -> str:
        """Reason why there is no standard error; empty if there is one."""
        if not self.n_pairs:
            return "no pair of words occurs"
        if self.n_blocks < MIN_BLOCKS:
            blocks = f"{self.n_blocks} block{'' if self.n_blocks == 1 else 's'} of documents"
            return f"{blocks}, those of an article in one, are too few: it needs {MIN_BLOCKS}"
        if self.n_rare > MAX_RARE_SHARE * self.n_pairs:
            return (
                f"{self.n_rare:,} of {self.n_pairs:,} pairs of words are together in fewer than "
                f"{MIN_BLOCKS} of {self.n_blocks} blocks of documents"
            )
        if not np.isfinite(self.raw_error):
            return "there are too few documents"
        if abs(self.bias) > MAX_BIAS * self.raw_error:
            return f"few windows bias it by about {self.bias:.2g}"
        return ""

    @property
    def margin(self) -> float:
        """Half of the 95 % interval, by Student's t with G - 1 degrees of freedom; maybe NaN."""
        return self.quantile * self.standard_error

    @property
    def quantile(self) -> float:
        """Standard errors in `margin`; NaN for fewer than two blocks."""
        return float(stdtrit(self.n_blocks - 1, 0.975)) if self.n_blocks > 1 else float("nan")


@dataclass(frozen=True, eq=False)
class Resampled:
    """Standard errors over documents of K topics, and of their mean."""

    topics: tuple[ResampledValue, ...]  #: K, in the order of the topics.
    mean: ResampledValue  #: That of the mean over topics with a value.

    @property
    def standard_errors(self) -> Floats:
        """(K,), standard error of each topic; NaN where it cannot be trusted."""
        return np.array([each.standard_error for each in self.topics])

    @property
    def standard_error(self) -> float:
        """Standard error of the mean; NaN if it cannot be trusted."""
        return self.mean.standard_error


def resample(found: BlockCounts, measure: str, smoothing: float) -> Resampled:
    """Return the standard errors of a measure of coherence over documents.

    Without a block `smoothing` is lower by its share of the windows, so that a value depends on
    shares of windows alone.
    """
    values = topic_values(found.total, measure, smoothing)
    blocks = found.in_use.tolist()
    without = np.empty((len(blocks), len(values)))
    for i, g in enumerate(blocks):
        rest = found.without(g)
        share = rest.n_windows / found.total.n_windows
        without[i] = topic_values(rest, measure, smoothing * share)
    is_counted = both_occur(found.total)
    n_pairs = is_counted.sum(axis=(1, 2)) // 2
    n_rare = (is_counted & (found.blocks_with_both < MIN_BLOCKS)).sum(axis=(1, 2)) // 2
    topics = [
        _resampled(float(values[k]), without[:, k], int(n_rare[k]), int(n_pairs[k]))
        for k in range(len(values))
    ]
    has_value = np.isfinite(values)
    mean, of_means = float("nan"), np.full(len(blocks), np.nan)
    if has_value.any():
        mean, of_means = float(values[has_value].mean()), without[:, has_value].mean(axis=1)
    return Resampled(
        tuple(topics), _resampled(mean, of_means, int(n_rare.sum()), int(n_pairs.sum()))
    )


def _resampled(value: float, without: Floats, n_rare: int, n_pairs: int) -> ResampledValue:
    """Return the standard error of a value from those (G,) that each leave out a block."""
    n_blocks = len(without)
    error = bias = float("nan")
    if n_blocks > 1:
        error = float(np.sqrt((n_blocks - 1) * np.var(without)))
        bias = float((n_blocks - 1) * (without.mean() - value))
    return ResampledValue(error, bias, n_rare, n_pairs, n_blocks)
