"""How much more often two words are neighbours than chance would have them be.

Words a and b occur n_a and n_b times, and n_ab times side by side:

    classic   (n_ab - min_count) · N / (n_a n_b), N the number of different words and pairs
              (Mikolov et al. 2013, eq. 6, times N)
    npmi      ln(p_ab / (p_a p_b)) / -ln p_ab, p = n / tokens (Bouma 2009)

Both are gensim's formulas, and to the bit its numbers where those are right. They are not gensim's
functions: these take one pair at a time, and their npmi leaves [-1, 1] by rounding (five `a b` in
11 tokens get 1.0000000000000002), divides by zero where p_ab is 1, and is any number for counts
that contradict each other.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SCORINGS = ("classic", "npmi")


def classic_scores(
    n_a: NDArray[np.int64],
    n_b: NDArray[np.int64],
    n_ab: NDArray[np.int64],
    n_entries: int,
    min_count: int,
) -> NDArray[np.float64]:
    """(n,) scores of pairs whose words occur at least once.

    Parameters
    ----------
    n_a, n_b, n_ab
        (n,) counts of the first words, the second words and the pairs.
    n_entries
        Different words and pairs in the corpus.
    min_count
        Discount: a pair that occurs no more often than this has no positive score.
    """
    # A product of two counts may be beyond int64, and is never beyond float64.
    scores: NDArray[np.float64] = (n_ab - min_count) / (n_a.astype(float) * n_b) * n_entries
    return scores


def npmi_scores(
    n_a: NDArray[np.int64], n_b: NDArray[np.int64], n_ab: NDArray[np.int64], n_tokens: int
) -> NDArray[np.float64]:
    """(n,) scores from -1, never side by side, to 1, never apart; whatever the counts are.

    Parameters
    ----------
    n_a, n_b, n_ab
        (n,) counts of the first words, the second words and the pairs.
    n_tokens
        Words in running text.
    """
    scores = np.full(len(n_ab), -1.0)
    # -ln p_ab is 0 where the pair is all there is: the limit is 1.
    scores[n_ab >= n_tokens] = 1.0
    usual = (n_ab < n_tokens) & (n_ab > 0) & (n_a > 0) & (n_b > 0)
    p_ab = n_ab[usual] / n_tokens
    ratio = p_ab / (n_a[usual] / n_tokens * (n_b[usual] / n_tokens))
    scores[usual] = _log(ratio) / -_log(p_ab)
    return scores.clip(-1.0, 1.0)


def _log(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """np.log(x), but the last bit does not depend on the vector instructions of the processor."""
    return np.fromiter(map(math.log, x.tolist()), dtype=np.float64, count=len(x))
