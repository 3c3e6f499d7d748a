"""95 % intervals of means over articles, for runs that may have only a few to be tested on.

By Student's t with one degree of freedom fewer than there are articles: with 20 articles it is 2.09
standard errors to either side, where the normal distribution, which `evaluate` prints probabilities
by, has 1.96.
"""

from __future__ import annotations

import math

from scipy.special import stdtr, stdtrit


def half_width(standard_error: float, n_articles: int) -> float | None:
    """What a 95 % interval reaches to either side; None if there is no standard error."""
    if n_articles < 2 or not math.isfinite(standard_error):
        return None
    return float(stdtrit(n_articles - 1, 0.975)) * standard_error


def probability_positive(value: float, standard_error: float, n_articles: int) -> float | None:
    """That what was found to be `value` is above 0, with nothing known before; None as above."""
    if n_articles < 2 or not math.isfinite(standard_error):
        return None
    if standard_error == 0:
        return 0.5 if value == 0 else float(value > 0)
    return float(stdtr(n_articles - 1, value / standard_error))
