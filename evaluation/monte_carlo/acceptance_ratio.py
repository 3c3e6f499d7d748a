"""Bennett's acceptance ratio: a ratio of sums from weights in both directions."""

from typing import NamedTuple

import numpy as np

from evaluation.arrays import Floats

N_BISECTIONS = 100


class LogRatio(NamedTuple):
    """The logarithm of a ratio Z_1 / Z_0."""

    log_ratio: float
    standard_error: float  # of `log_ratio`, to first order; NaN for one weight in a direction
    effective_sample_size: float  # smaller one of the two directions'


def acceptance_ratio(forwards: Floats, backwards: Floats) -> LogRatio:
    """Return log Z_1 / Z_0 from log-weights (N,) of N chains in each direction.

    `forwards` are log f_1 / f_0 along paths from 0 to 1, `backwards` the same of paths from 1 to 0.
    With w ~ forwards, E[h(w) w] Z_0 = E'[h(w)] Z_1 for any h. The one of least variance is
    1 / (w + Z_1 / Z_0) (Bennett 1976, eq. 12), so that with c = log Z_1 / Z_0 and the logistic σ

        mean σ(forwards - c) = mean σ(c - backwards).

    The left side falls with c, the right side rises. The error is that of a ratio of two
    independent means. Swapping directions and signs changes the sign of the result alone.
    """
    low = min(forwards.min(), backwards.min())
    high = max(forwards.max(), backwards.max())
    if low == high or not np.isfinite([low, high]).all():
        return LogRatio(float(low), 0.0 if low == high else np.nan, float(len(forwards)))
    centre, n = (low + high) / 2, np.log([len(forwards), len(backwards)])
    for _ in range(N_BISECTIONS):
        centre = (low + high) / 2
        if centre in (low, high):
            break  # there is no number between them
        of_both = (_log_logistic(forwards - centre), _log_logistic(centre - backwards))
        if np.logaddexp.reduce(of_both[0]) - n[0] > np.logaddexp.reduce(of_both[1]) - n[1]:
            low = centre
        else:
            high = centre
    logs = (_log_logistic(forwards - centre), _log_logistic(centre - backwards))
    terms = [np.exp(x - x.max()) for x in logs]
    sizes = [float(x.sum() ** 2 / (x**2).sum()) for x in terms]
    variance = np.nan
    if len(forwards) > 1:
        variance = sum(x.var(ddof=1) / (len(x) * x.mean() ** 2) for x in terms)
    return LogRatio(float(centre), float(np.sqrt(variance)), min(sizes))


def _log_logistic(x: Floats) -> Floats:
    result: Floats = -np.logaddexp(0.0, -x)
    return result
