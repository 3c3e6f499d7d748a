"""Weights of words in float32, kept as two halves of 16 bits.

The high half is a number of its own. As no weight is negative or above 1, the first two bits of a
float32 are always 0: it has the 16 after these, 7 of exponent and 9 of precision, rounded. Passes
over all topics read it alone, in a quarter of the time that float64 takes from memory; the few
weights that must be exact are put together from both halves.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.arrays import Floats
from models.kernel import kernel, read_only
from models.parallel import effective_n_jobs, for_blocks

Halves = NDArray[np.uint16]
Remainders = NDArray[np.int16]
_WORD_BLOCK = 512
_BITS = np.int32(14)
_HALF = np.int32(1 << 13)


class HalvedWeights(NamedTuple):
    """Weights b_kw of words by topic, each row divided by its sum."""

    high: Halves  # (V, K), within 2^-10 of the weight
    low: Remainders  # (V, K), what its last 14 bits are above or below that


def halved_weights(word_topic_weight: Floats, n_jobs: int | None = None) -> HalvedWeights:
    """Return weights (V, K), none negative, in halves. A row of zeros stays one."""
    weight = read_only(word_topic_weight)
    high, low = np.empty(weight.shape, dtype=np.uint16), np.empty(weight.shape, dtype=np.int16)
    for_blocks(
        lambda first, last: _halve(weight[first:last], high[first:last], low[first:last]),
        len(weight),
        _WORD_BLOCK,
        effective_n_jobs(n_jobs),
    )
    return HalvedWeights(read_only(high), read_only(low))


@kernel
def _halve(weight: Floats, high: Halves, low: Remainders) -> None:
    """Fill `high` and `low` (n, K) with the bits of the rows of `weight`, divided by their sums."""
    for w in range(weight.shape[0]):
        row, of_high, of_low = weight[w], high[w], low[w]
        total = 0.0
        for k in range(row.shape[0]):
            total += row[k]
        factor = 1.0 / total if total > 0 else 0.0
        for k in range(row.shape[0]):
            bits = np.float32(row[k] * factor).view(np.int32)
            nearest = np.int32(np.int32(bits + _HALF) >> _BITS)
            of_high[k] = np.uint16(nearest)
            of_low[k] = np.int16(bits - np.int32(nearest << _BITS))


@kernel
def from_high(high: np.uint16) -> np.float32:
    """Return the number of a high half alone."""
    return np.float32(np.int32(np.int32(high) << _BITS).view(np.float32))


@kernel
def from_halves(high: np.uint16, low: np.int16) -> np.float32:
    """Return the number of both halves."""
    return np.float32(np.int32(np.int32(np.int32(high) << _BITS) + np.int32(low)).view(np.float32))
