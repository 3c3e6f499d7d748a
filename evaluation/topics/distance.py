"""Distances of topics: the Jensen-Shannon distance of their distributions of words.

    JS(p, q) = H((p + q) / 2) - (H(p) + H(q)) / 2 in bits,   distance √JS, from 0 to 1

√JS is a metric (Endres & Schindelin 2003, "A new metric for probability distributions"), so that
maps and matchings of topics make sense: 0 for equal topics, 1 for topics without a common word.
"""

import numpy as np
from numpy.typing import ArrayLike

from evaluation.arrays import Floats
from models.kernel import kernel
from models.parallel import effective_n_jobs, for_blocks

CHUNK = 1024  # words in a partial sum, so that rows stay in the CPU cache
ROWS = 8  # rows in a task of a thread

ROOT_HALF = 0x3FE6A09E667F3BCD  # bits of √½, the lower limit of mantissas
BIAS = 1024
EXPONENT_OF_INTEGER = 0x4330000000000000
"""Bits of 2⁵²: the number with these bits and an integer's is 2⁵² plus the integer."""


def topic_distances(topic_word: ArrayLike, *, n_jobs: int | None = None) -> Floats:
    """Return Jensen-Shannon distances (K, K) of topics; symmetric to the bit, with a zero diagonal.

    `topic_word` (K, V) are weights, none negative, of which rows need not sum to 1, else ValueError
    is raised. The distance of a topic without weights from another topic is 1, and that of two such
    topics 0. Threads (`n_jobs`; None is 1, -1 every core) change no bit.
    """
    rows = normalised_rows(topic_word, "topic_word")
    return _distances(rows, rows, effective_n_jobs(n_jobs), is_square=True)


def cross_distances(first: ArrayLike, second: ArrayLike, *, n_jobs: int | None = None) -> Floats:
    """Return Jensen-Shannon distances (K1, K2) of the topics of one model from those of another.

    Both are weights over the same V words, as for `topic_distances`, else ValueError is raised.
    """
    rows, columns = normalised_rows(first, "first"), normalised_rows(second, "second")
    if rows.shape[1] != columns.shape[1]:
        raise ValueError(
            f"first and second must be over the same words, found {rows.shape[1]} and "
            f"{columns.shape[1]}: take the columns of the words that both have"
        )
    return _distances(rows, columns, effective_n_jobs(n_jobs), is_square=False)


def normalised_rows(weights: ArrayLike, name: str) -> Floats:
    """Return `weights` (K, V) with rows that sum to 1; rows of zeros stay.

    Raises ValueError, about `name`, if it is no matrix of finite weights, none negative.
    """
    rows = np.asarray(weights, dtype=np.float64)
    if rows.ndim != 2 or not rows.size:
        raise ValueError(f"{name} must be (n_topics, n_words), none 0, found shape {rows.shape}")
    if not np.isfinite(rows).all() or (rows < 0).any():
        raise ValueError(f"{name} must hold finite weights, none negative")
    largest = rows.max(axis=1, keepdims=True)
    scaled = rows / np.where(largest > 0, largest, 1.0)  # its sum neither overflows nor underflows
    sums = scaled.sum(axis=1, keepdims=True)
    return np.ascontiguousarray(scaled / np.where(sums > 0, sums, 1.0))


def _distances(rows: Floats, columns: Floats, n_threads: int, *, is_square: bool) -> Floats:
    negentropy = np.zeros((len(rows), len(columns)))

    def work(start: int, stop: int) -> None:
        _mixed_negentropy(rows, columns, start, stop, is_square, negentropy)

    for_blocks(work, len(rows), ROWS, n_threads)
    if is_square:
        negentropy += np.triu(negentropy, 1).T
    divergence = (_own(rows)[:, None] + _own(columns)) / 2 - negentropy
    distances: Floats = np.sqrt(np.clip(divergence, 0.0, 1.0))
    has_words, others_have = rows.max(axis=1) > 0, columns.max(axis=1) > 0
    distances[has_words[:, None] != others_have] = 1.0
    return distances


def _own(rows: Floats) -> Floats:
    """Return -H (K,) of each row, summed as for mixtures, so that equal rows have distance 0."""
    found = np.empty((1, 1))
    own = np.empty(len(rows))
    for k in range(len(rows)):
        found[:] = 0.0
        _mixed_negentropy(rows[k : k + 1], rows[k : k + 1], 0, 1, False, found)
        own[k] = found[0, 0]
    return own


@kernel
def _mixed_negentropy(
    rows: Floats, columns: Floats, start: int, stop: int, is_square: bool, out: Floats
) -> None:
    """Add Σ_w m_w log2 m_w, m = (rows_k + columns_l) / 2, to out_kl, k from start to stop.

    If `is_square`, only for l ≥ k. Equivalent to `(m * np.log2(m)).sum()`, with log2 written out so
    that it vectorises, several times as fast:

        m = 2^e f, √½ ≤ f < √2;   log2 f = 2 / log 2 · (s + s³/3 + s⁵/5 + …), s = (f - 1) / (f + 1)

    The series ends at s²¹, with an error of 1e-17. At m = 0 the product is 0.
    """
    n_words = rows.shape[1]
    mixture = np.empty(CHUNK)
    bits = mixture.view(np.int64)
    fraction = np.empty(CHUNK)
    fraction_bits = fraction.view(np.int64)
    exponent = np.empty(CHUNK)
    exponent_bits = exponent.view(np.int64)
    for first in range(0, n_words, CHUNK):
        size = min(CHUNK, n_words - first)
        for column in range(start if is_square else 0, columns.shape[0]):
            for k in range(start, min(stop, column + 1) if is_square else stop):
                for i in range(size):
                    mixture[i] = 0.5 * (rows[k, first + i] + columns[column, first + i])
                for i in range(size):
                    shifted = bits[i] - ROOT_HALF + (BIAS << 52)
                    power = (shifted >> 52) & 0x7FF
                    fraction_bits[i] = bits[i] - ((power - BIAS) << 52)
                    exponent_bits[i] = power | EXPONENT_OF_INTEGER
                total = 0.0
                for i in range(size):
                    s = (fraction[i] - 1.0) / (fraction[i] + 1.0)
                    x = s * s
                    series = 1.0 / 19.0 + x * (1.0 / 21.0)
                    series = 1.0 / 17.0 + x * series
                    series = 1.0 / 15.0 + x * series
                    series = 1.0 / 13.0 + x * series
                    series = 1.0 / 11.0 + x * series
                    series = 1.0 / 9.0 + x * series
                    series = 1.0 / 7.0 + x * series
                    series = 1.0 / 5.0 + x * series
                    series = 1.0 / 3.0 + x * series
                    log2_fraction = 2.8853900817779268 * s * (1.0 + x * series)
                    whole = exponent[i] - (4503599627370496.0 + BIAS)
                    total += mixture[i] * (whole + log2_fraction)
                out[k, column] += total
