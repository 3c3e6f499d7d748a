"""Intervals of 95 % for shares, means and differences of models; none where none can be trusted.

Shares: Wilson 1927, "Probable inference, the law of succession, and statistical inference". For the
mean of a model the number of answers is replaced by the effective one, p (1 - p) / V, and the
normal quantile by Student's, as in surveys (Korn & Graubard 1998, "Confidence intervals for
proportions with small expected number of positive counts estimated from survey data", who take
another interval). Differences: from the two intervals and the correlation of the means (Zou &
Donner 2008, "Construction of confidence limits about effect measures: a general approach").
"""

import math
from dataclasses import dataclass
from typing import Final

from scipy.special import stdtrit

from evaluation.figure import wilson
from evaluation.topics.reading.crossed_mean import CrossedMean

LEVEL: Final = 0.95
Z: Final = 1.959963984540054
MIN_READERS: Final = 5
"""Readers of a model, below which no interval is stated: the variance over readers is unknown."""
MIN_TOPICS: Final = 10
"""Topics or documents of a model, below which no interval is stated."""
MIN_ANSWERS: Final = 3
"""Answers about one topic, below which no interval is stated."""


@dataclass(frozen=True)
class Estimate:
    """A value with its interval of 95 %, or with the reason why it has none."""

    value: float
    low: float = math.nan  #: NaN without an interval.
    high: float = math.nan
    caution: str = ""  #: Why there is no interval; empty if there is one.


def share_of_topic(n_right: int, n_answers: int) -> Estimate:
    """Return the share of right answers about one topic, over readers like these."""
    share = n_right / n_answers
    if n_answers < MIN_ANSWERS:
        return Estimate(share, caution=f"fewer than {MIN_ANSWERS} answers")
    return Estimate(share, *wilson(share, n_answers, Z))


def too_few(n_readers: int, n_units: int, unit: str) -> str:
    """Return why the answers about a model give no interval; empty if they do."""
    if n_readers < MIN_READERS:
        found = "one reader" if n_readers == 1 else f"{n_readers} readers"
        return f"{found}, needs {MIN_READERS}"
    if n_units < MIN_TOPICS:
        return f"{n_units} {unit}{'' if n_units == 1 else 's'}, needs {MIN_TOPICS}"
    return ""


NO_OVERLAP: Final = "no question was answered by two readers"


def mean_of_model(
    found: CrossedMean, caution: str, least: float = 0.0, most: float = 1.0
) -> Estimate:
    """Return the mean of a model over readers and topics like these.

    Answers are from `least` to `most`: right or wrong, ratings, log odds. The variance is at least
    that of independent answers. For this, the mean is moved to the middle by four more answers,
    half of them at each end (as by Agresti & Coull 1998): it is positive if all answers are equal.
    """
    if not caution and math.isnan(found.variance):
        caution = NO_OVERLAP
    if not caution and most <= least:
        caution = "all options are equal"
    if caution:
        return Estimate(found.mean, caution=caution)
    width, n = most - least, found.n_answers
    share = min(max((found.mean - least) / width, 0.0), 1.0)
    moved = (share * n + 2) / (n + 4)
    binary, of_moved = share * (1 - share), moved * (1 - moved)
    ratio = min(found.spread / width**2 / binary, 1.0) if binary > 0 else 1.0
    variance = max(found.variance / width**2, ratio * of_moved / n)
    effective = (binary or of_moved) / variance
    low, high = wilson(share, effective, student(found.degrees_of_freedom))
    return Estimate(found.mean, least + width * low, least + width * high)


def difference(first: Estimate, second: Estimate, correlation: float) -> Estimate:
    """Return `first` minus `second`; without an interval if one of them has none."""
    value, caution = first.value - second.value, first.caution or second.caution
    if caution:
        return Estimate(value, caution=caution)
    below = _reach(first.value - first.low, second.high - second.value, correlation)
    above = _reach(first.high - first.value, second.value - second.low, correlation)
    return Estimate(value, value - below, value + above)


def student(degrees_of_freedom: float) -> float:
    """Return the quantile of Student's t that leaves 2.5 % above."""
    return float(stdtrit(degrees_of_freedom, (1 + LEVEL) / 2))


def _reach(first: float, second: float, correlation: float) -> float:
    return math.sqrt(max(first**2 + second**2 - 2 * correlation * first * second, 0.0))
