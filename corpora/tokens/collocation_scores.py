"""Collocation scores: how much more often two words are adjacent than by chance.

Words a and b occur n_a and n_b times, and n_ab times side by side:

    classic   (n_ab - min_count) · N / (n_a n_b), N the number of different words and pairs
              (Mikolov et al. 2013, eq. 6, times N)
    npmi      ln(p_ab / (p_a p_b)) / -ln p_ab, p = n / tokens (Bouma 2009)

To the bit these are gensim's numbers where those are right. gensim's functions take one pair at a
time, and their npmi leaves [-1, 1] by rounding and divides by zero where p_ab is 1.
"""

import math

import numpy as np
from numpy.typing import NDArray

from corpora.tokens.pair_counts import PairCounts

SCORINGS = ("classic", "npmi")


def check_settings(min_count: int, threshold: float, scoring: str) -> None:
    """Raise ValueError if a setting of `Bigrams.from_counts` is out of range."""
    if scoring not in SCORINGS:
        raise ValueError(f'scoring must be "classic" or "npmi", not {scoring!r}')
    if min_count < 1:
        raise ValueError(f"min_count must be at least 1, not {min_count}")
    if scoring == "classic" and not threshold > 0:
        raise ValueError(f"the threshold of classic scores must be positive, not {threshold}")
    if scoring == "npmi" and not -1 <= threshold <= 1:
        raise ValueError(f"the threshold of npmi scores must be from -1 to 1, not {threshold}")


def scores_above(
    threshold: float, pairs: PairCounts, min_count: int, scoring: str
) -> dict[tuple[str, str], float]:
    """The pairs with such scores, in alphabetical order."""
    totals = pairs.totals(min_count)
    firsts, seconds, scores = [], [], []
    for a, b, n_a, n_b, n_ab in totals:
        if scoring == "classic":
            score = classic_scores(n_a, n_b, n_ab, totals.n_entries, min_count)
        else:
            score = npmi_scores(n_a, n_b, n_ab, totals.n_tokens)
        above = score > threshold
        firsts += a[above].tolist()
        seconds += b[above].tolist()
        scores += score[above].tolist()
    numbers = np.unique(np.array(firsts + seconds, dtype=np.int64))
    word_of = dict(zip(numbers.tolist(), totals.words(numbers), strict=True))
    return {
        (word_of[a], word_of[b]): score for a, b, score in zip(firsts, seconds, scores, strict=True)
    }


def classic_scores(
    n_a: NDArray[np.int64],
    n_b: NDArray[np.int64],
    n_ab: NDArray[np.int64],
    n_entries: int,
    min_count: int,
) -> NDArray[np.float64]:
    """(n,) scores from counts (n,) of first words, second words and pairs, of which occur
    `min_count` or fewer get no positive score. `n_entries`: number of different words and pairs in
    the corpus.
    """
    # A product of two counts may be beyond int64, and is never beyond float64.
    scores: NDArray[np.float64] = (n_ab - min_count) / (n_a.astype(float) * n_b) * n_entries
    return scores


def npmi_scores(
    n_a: NDArray[np.int64], n_b: NDArray[np.int64], n_ab: NDArray[np.int64], n_tokens: int
) -> NDArray[np.float64]:
    """(n,) scores from -1, never side by side, to 1, never apart, from counts (n,) of first words,
    second words and pairs in `n_tokens` words of running text.
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
