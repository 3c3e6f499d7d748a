"""Exact distribution of document lengths under a Gamma-Poisson model.

The number of tokens of topic k is NB(r_k, Q_k), Q_k = p_k Φ_k / (1 - p_k + p_k Φ_k), and N is their
sum, with the generating function ∏_k ((1 - Q_k) / (1 - Q_k z))^r_k. Its logarithmic derivative is
Σ_k r_k Q_k / (1 - Q_k z), which gives Panjer's recursion:

    n p_n = Σ_{j=1}^n s_j p_{n-j},   s_j = Σ_k r_k Q_k^j,   p_0 = ∏_k (1 - Q_k)^r_k

All terms are positive: nothing cancels. Time is in proportion to the square of the longest length.
"""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy.special import gammaln

from evaluation.arrays import Floats
from models import GammaPoissonTopics
from models.kernel import kernel

MAX_TOKENS = 300_000
ROUNDING = 1e-14
LARGEST = 1e250  # above it numbers are scaled down

_tables: WeakKeyDictionary[GammaPoissonTopics, Floats] = WeakKeyDictionary()
"""Cache of log p_n / p_0 from n = 0 on, for the next block of documents."""


def log_length_probability(topics: GammaPoissonTopics, n_tokens: Any) -> Floats:
    """Return the log-probabilities (D,) of lengths `n_tokens` (D,).

    Raises ValueError if a length is negative, or above `MAX_TOKENS`, which would take minutes,
    unless all topics have one Q and the law is a negative binomial.
    """
    lengths = np.asarray(n_tokens, dtype=np.int64)
    if not lengths.size:
        return np.empty(lengths.shape)
    if lengths.min() < 0:
        raise ValueError(f"a document cannot have {lengths.min()} tokens")
    success = topics.tilted.topic_word.sum(axis=1)  # Q
    largest = success.max()
    if success.min() >= largest * (1.0 - ROUNDING):
        total = topics.shape.sum()
        log_p = gammaln(total + lengths) - gammaln(total) - gammaln(lengths + 1.0)
        return np.asarray(topics.tilted.log_empty + log_p + lengths * np.log(largest))
    if lengths.max() > MAX_TOKENS:
        raise ValueError(
            f"a document has {lengths.max():,} tokens: how probable that length is takes time in "
            f"proportion to its square, and the limit is {MAX_TOKENS:,}; cut the document, or "
            'score it by the convention "bag-and-length", which needs no length law'
        )
    table = _table_of(topics, success, int(lengths.max()))
    result: Floats = topics.tilted.log_empty + table[lengths]
    result += lengths * np.log(largest)
    return result


def _table_of(topics: GammaPoissonTopics, success: Floats, longest: int) -> Floats:
    """Return log p_n / p_0 at least up to n = `longest`; no p_n depends on the table's end.

    Uses powers of Q (K,), `success`, over the largest: powers of Q itself may underflow.
    """
    known = _tables.get(topics)
    if known is None or len(known) <= longest:
        # Doubled, so that a sequence of ever longer documents does not need a table each.
        furthest = longest if known is None else min(2 * len(known), MAX_TOKENS)
        known = log_sum_of_negative_binomials(
            topics.shape, success / success.max(), max(longest, furthest)
        )
        _tables[topics] = known
    return known


@kernel
def log_sum_of_negative_binomials(shape: Floats, success: Floats, largest: int) -> Floats:
    """Return log p_n / p_0 (largest + 1,) of the sum of K variables NB(shape_k, success_k)."""
    n_topics = len(shape)
    power = shape.copy()
    sums, p = np.zeros(largest + 1), np.zeros(largest + 1)
    result = np.zeros(largest + 1)
    p[0], log_scale = 1.0, 0.0
    for n in range(1, largest + 1):
        for k in range(n_topics):
            power[k] *= success[k]
            sums[n] += power[k]
        total = 0.0
        for j in range(1, n + 1):
            total += sums[j] * p[n - j]
        p[n] = total / n
        result[n] = np.log(p[n]) + log_scale
        if p[n] > LARGEST:
            for i in range(n + 1):
                p[i] /= LARGEST
            log_scale += np.log(LARGEST)
    return result
