"""Mean of answers of readers about topics, and its error over both.

An answer y_rt of reader r about topic t is µ + a_r + b_t + e_rt, with variances σ²_R, σ²_T and
σ²_E. The mean over topics of the mean over a topic's readers, with weights w_rt = 1 / (T n_t), has
variance

    V = σ²_R Σ_r w_r.² + σ²_T Σ_t w_.t² + σ²_E Σ_rt w_rt².

Half the squared difference of two answers is on average σ²_T + σ²_E for one reader, σ²_R + σ²_E for
one topic, and the sum of the three for two readers and two topics. Means over such pairs estimate
the three, without bias also if readers answer different questions. With all answers there, this is
the analysis of variance of the crossed design (Searle, Casella & McCulloch 1992, "Variance
components"). A bootstrap of readers and topics overstates V, as it counts σ²_E up to three times
(Owen 2007, "The pigeonhole bootstrap").
"""

import math
from dataclasses import dataclass

import numpy as np

from evaluation.arrays import Floats, Ints


@dataclass(frozen=True)
class CrossedMean:
    """Mean over topics, with its variance over readers and topics."""

    mean: float
    variance: float
    """Variance of the mean; NaN for one reader or topic, or if none has two answers. It may be
    negative by chance."""
    degrees_of_freedom: float
    """Degrees of freedom of the variance (Satterthwaite 1946), at least the fewer of readers' and
    topics'."""
    n_answers: float
    """Number of equally weighted answers with the same Σ w²."""
    spread: float
    """Variance of single answers, Σ w (y - mean)²."""
    of_readers: float
    """The part of the variance that readers cause; negative by chance."""


def crossed_mean(value: Floats, reader: Ints, topic: Ints) -> CrossedMean:
    """Return the mean of the answers `value` (n,) of readers (n,) about topics (n,).

    Readers and topics are numbered from 0, and each number occurs; a reader answers once a topic.
    """
    weight = weights(topic)
    mean = float(weight @ value)
    square_r, square_t = (float((np.bincount(of, weight) ** 2).sum()) for of in (reader, topic))
    square_e = float(weight @ weight)
    n, spread = 1 / square_e, float(weight @ (value - mean) ** 2)
    # Σ of w_i w_j (y_i - y_j)² / 2 over ordered pairs of one reader, of one topic, of neither.
    of_reader, of_topic = (_differences(value, weight, of) for of in (reader, topic))
    rest = spread - of_reader - of_topic
    pairs = (square_r - square_e, square_t - square_e, 1 - square_r - square_t + square_e)
    if min(pairs) < 1e-12:
        return CrossedMean(mean, math.nan, math.nan, n, spread, 0.0)
    same_r, same_t, apart = of_reader / pairs[0], of_topic / pairs[1], rest / pairs[2]
    part = (apart - same_r) * square_r, (apart - same_t) * square_t, same_r + same_t - apart
    variance = sum(part[:2]) + part[2] * square_e
    free = max(1 / square_r - 1, 1.0), max(1 / square_t - 1, 1.0)
    degrees = _degrees(part, square_e, free)
    return CrossedMean(mean, variance, degrees, n, spread, part[0])


def weights(topic: Ints) -> Floats:
    """Return w_rt (n,): topics weigh the same, and so do the readers of a topic."""
    n_t = np.bincount(topic)
    return np.asarray(1.0 / (len(n_t) * n_t[topic]))


def correlation(
    first: tuple[Floats, Ints, Ints], second: tuple[Floats, Ints, Ints], n_readers: int
) -> float:
    """Return the correlation of the means of two models, about different topics, by their readers.

    Each is value, reader and topic of its answers; readers are numbered alike. With d_rt the
    deviation of an answer from the mean of its topic, which has no effect of the topic, the sums
    Σ_t w_rt d_rt of a reader for the two models are, but for errors, M_1 a_1 and M_2 a_2, where a_1
    and a_2 are the effects of readers. The sum of their products over readers is on average
    tr(M_1 M_2ᵀ) times the covariance of a reader's effects, which is at most the mean of their
    variances. 0 if no reader allows to estimate it.
    """
    sums, shares, maps, means = [], [], [], []
    for value, reader, topic in (first, second):
        weight, n_t = weights(topic), np.bincount(topic)
        deviation = value - (np.bincount(topic, value) / n_t)[topic]
        sums.append(np.bincount(reader, weight * deviation, minlength=n_readers))
        shares.append(np.bincount(reader, weight, minlength=n_readers))
        table = np.zeros((n_readers, len(n_t)))
        table[reader, topic] = weight
        maps.append(np.diag(shares[-1]) - len(n_t) * table @ table.T)  # 1 / n_t = T w_rt
        means.append(crossed_mean(value, reader, topic))
    one, two = means
    trace = float((maps[0] * maps[1]).sum())
    if trace < 1e-12 or not min(one.variance, two.variance) > 0:
        return 0.0
    covariance = float(sums[0] @ sums[1]) / trace * float(shares[0] @ shares[1])
    most = max((one.of_readers + two.of_readers) / 2, 0.0)
    found = max(min(covariance, most), -most) / math.sqrt(one.variance * two.variance)
    return max(min(found, 1.0), -1.0)


def _differences(value: Floats, weight: Floats, group: Ints) -> float:
    total, first, second = (np.bincount(group, weight * value**power) for power in (0, 1, 2))
    return float((total * second - first**2).sum())


def _degrees(part: tuple[float, float, float], square_e: float, free: tuple[float, float]) -> float:
    """Return V² / Σ of each mean square's share of V, squared, over its degrees of freedom."""
    of_r, of_t, of_e = max(part[0], 0.0), max(part[1], 0.0), max(part[2], 0.0) * square_e
    free_e = max(1 / square_e - (free[0] + 1) - (free[1] + 1) + 1, 1.0)
    squares = (of_r + of_e) ** 2 / free[0] + (of_t + of_e) ** 2 / free[1] + of_e**2 / free_e
    found = (of_r + of_t + of_e) ** 2 / squares if squares > 0 else 0.0
    return max(found, min(free))
