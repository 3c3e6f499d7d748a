"""Coherence of topics from counts of windows; `evaluation.topics.coherence` has the measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from evaluation.arrays import Bools, Floats
    from evaluation.topics.cooccurrence import Cooccurrence


def both_occur(found: Cooccurrence) -> Bools:
    """Return which pairs (K, n, n) of different words both occur."""
    occurs = found.n_word > 0
    both: Bools = occurs[:, :, None] & occurs[:, None, :]
    both &= ~np.eye(found.n_word.shape[1], dtype=bool)
    return both


def topic_values(found: Cooccurrence, measure: str, smoothing: float) -> Floats:
    """Return the coherence (K,) of each topic from counts of windows."""
    n_words = found.n_word.shape[1]
    both = both_occur(found)
    with np.errstate(divide="ignore", invalid="ignore"):
        if measure == "c_v":
            counted = (found.n_word > 0) & np.any(both, axis=(1, 2))[:, None]
            return _mean(_cosines(found), counted)
        if measure == "c_npmi":
            return _mean(_npmi(found), both)
        if measure == "c_uci":
            return _mean(_pmi(found, smoothing), both)
        # Row m, column l: the pair of a word and an earlier one.
        before = np.tril(np.ones((n_words, n_words), dtype=bool), -1)
        confirmation = np.log((found.n_both + smoothing) / found.n_word[:, None, :])
        return _mean(confirmation, both & before)


def _pmi(found: Cooccurrence, smoothing: float) -> Floats:
    """Return pointwise mutual information (K, n, n) in nats."""
    n_a, n_b = found.n_word[:, :, None].astype(float), found.n_word[:, None, :]
    result: Floats = np.log((found.n_both + smoothing) * found.n_windows / (n_a * n_b))
    return result


def _npmi(found: Cooccurrence) -> Floats:
    """Return NPMI (K, n, n) from -1, never together, to 1, always; 1 on the diagonals."""
    ratio = _pmi(found, 0.0) / -np.log(found.n_both / found.n_windows)
    ratio[found.n_both == 0] = -1.0
    ratio[found.n_both == found.n_windows] = 1.0
    return ratio


def _cosines(found: Cooccurrence) -> Floats:
    """Return the cosine (K, n) of each word's NPMIs with their sum over words that occur."""
    occurs = found.n_word > 0
    vectors = np.where(occurs[:, :, None] & occurs[:, None, :], _npmi(found), 0.0)
    total = vectors.sum(axis=1)
    lengths = np.linalg.norm(vectors, axis=2) * np.linalg.norm(total, axis=1)[:, None]
    products = np.einsum("kij,kj->ki", vectors, total)
    return np.where(lengths > 0, products / lengths, 0.0)


def _mean(values: Floats, counted: Bools) -> Floats:
    """Return the mean (K,) of the `counted` values; NaN where there is none."""
    axes = tuple(range(1, values.ndim))
    total: Floats = np.where(counted, values, 0.0).sum(axis=axes)
    means: Floats = total / counted.sum(axis=axes)
    return means
