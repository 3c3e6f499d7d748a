"""Agreement and variance of answers, by the definitions: loops over pairs of answers."""

import itertools
import math


def alpha(values, distance):
    """1 - observed / expected disagreement; `values` are rows of readers, None where no answer is.

    `distance` is a function of two values and of the list of all values that can be paired.
    """
    columns = [[v for v in column if v is not None] for column in zip(*values, strict=True)]
    columns = [column for column in columns if len(column) > 1]
    pooled = [v for column in columns for v in column]
    observed = sum(
        distance(a, b, pooled) / (len(column) - 1)
        for column in columns
        for a, b in itertools.permutations(column, 2)
    ) / len(pooled)
    expected = sum(distance(a, b, pooled) for a, b in itertools.permutations(pooled, 2)) / (
        len(pooled) * (len(pooled) - 1)
    )
    return 1 - observed / expected


def nominal(a, b, pooled):
    return float(a != b)


def interval(a, b, pooled):
    return float((a - b) ** 2)


def ordinal(a, b, pooled):
    low, high = min(a, b), max(a, b)
    between = sum(low <= v <= high for v in pooled)
    return (between - (pooled.count(a) + pooled.count(b)) / 2) ** 2 if a != b else 0.0


def balanced_variance(table):
    """Variance of the mean of a table of readers and topics by the analysis of variance."""
    n_r, n_t = len(table), len(table[0])
    mean = sum(map(sum, table)) / (n_r * n_t)
    of_r = [sum(row) / n_t for row in table]
    of_t = [sum(column) / n_r for column in zip(*table, strict=True)]
    ms_r = n_t * sum((m - mean) ** 2 for m in of_r) / (n_r - 1)
    ms_t = n_r * sum((m - mean) ** 2 for m in of_t) / (n_t - 1)
    rest = sum(
        (table[r][t] - of_r[r] - of_t[t] + mean) ** 2 for r in range(n_r) for t in range(n_t)
    )
    ms_e = rest / ((n_r - 1) * (n_t - 1))
    return (ms_r + ms_t - ms_e) / (n_r * n_t)


def wilson(n_right, n, z):
    """Both solutions p of (n_right / n - p)² = z² p (1 - p) / n, by bisection."""
    share = n_right / n

    def too_far(p):
        return (share - p) ** 2 > z * z * p * (1 - p) / n

    ends = []
    for far in (0.0, 1.0):
        near, away = share, far
        if not too_far(away) or math.isclose(share, away):
            ends.append(far)
            continue
        for _ in range(200):
            middle = (near + away) / 2
            near, away = (near, middle) if too_far(middle) else (middle, away)
        ends.append(near)
    return tuple(ends)
