"""Rank-biased overlap of two lists of words, which need not have the same words or length.

    RBO = (1 - p) Σ_d p^(d-1) A_d,   A_d the share of common words among the first d of both

(Webber, Moffat & Zobel 2010, "A similarity measure for indefinite rankings"). Lists end, and RBO
goes on as if the agreement stayed what it is at the end of the longer one (their eq. 32).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from evaluation.arrays import Floats

PERSISTENCE = 0.9
"""p: the first ten words have 86 % of the weight (their eq. 21)."""


def rank_biased_overlap(
    first: Sequence[Hashable], second: Sequence[Hashable], p: float = PERSISTENCE
) -> float:
    """Return the extrapolated RBO, from 0, no common word, to 1, the same words in the same order.

    Raises ValueError if a list has a word twice, or `p` is not between 0 and 1. It is 0 if a list
    is empty.
    """
    if not 0 < p < 1:
        raise ValueError(f"p must be between 0 and 1, found {p}")
    for words in (first, second):
        if len(set(words)) != len(words):
            raise ValueError(f"a list has a word twice: {list(words)[:10]}")
    shorter, longer = sorted((first, second), key=len)
    s, n = len(shorter), len(longer)
    if not s:
        return 0.0
    seen: tuple[set[Hashable], set[Hashable]] = (set(), set())
    total, common, common_at_s = 0.0, 0, 0
    for d in range(1, n + 1):
        word = longer[d - 1]
        common += word in seen[0]
        seen[1].add(word)
        if d <= s:
            other = shorter[d - 1]
            common += other in seen[1]
            seen[0].add(other)
            common_at_s = common
            total += common / d * p**d
        else:
            total += (common / d + common_at_s * (d - s) / (s * d)) * p**d
    rest = ((common - common_at_s) / n + common_at_s / s) * p**n
    return float((1 - p) / p * total + rest)


def overlaps(
    first: Sequence[Sequence[str]], second: Sequence[Sequence[str]], p: float = PERSISTENCE
) -> Floats:
    """Return the overlaps (K1, K2) of the lists of two models."""
    found = np.zeros((len(first), len(second)))
    sets = [set(words) for words in second]
    for k, words in enumerate(first):
        for j, others in enumerate(second):
            if not sets[j].isdisjoint(words):
                found[k, j] = rank_biased_overlap(words, others, p)
    return found
