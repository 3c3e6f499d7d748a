"""Mean shares of topics in groups of documents, with standard errors over documents."""

import logging
import math
import re
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evaluation.arrays import Floats, Ints

logger = logging.getLogger(__name__)

PERIODS: Final = ("year", "quarter", "month", "day")  # From the coarsest
DOCUMENTS_A_PERIOD: Final = 20
"""Documents in the average period that a choice of periods leaves, at least."""
MAX_GROUPS: Final = 1000
PARTS: Final = 10  # Groups of numbers that nearly all differ
DATE: Final = re.compile(r"(\d{4})-(0[1-9]|1[0-2])(?:-(0[1-9]|[12]\d|3[01])(?:[T ].*)?)?")
"""ISO date with or without a time, or a month."""


@dataclass(frozen=True, eq=False)
class MeanShares:
    """Groups (G,) of documents and the mean shares of topics in them."""

    groups: list[Any]  # Values of the column, or periods, in order or the largest groups first
    share: Floats  # (G, K)
    standard_error: Floats  # (G, K), over documents; NaN in groups of a single one
    n_documents: Ints  # (G,)


def mean_shares(shares: Floats, groups: Sequence[Any], max_groups: int | None = None) -> MeanShares:
    """Average the shares (D, K) of topics in the documents of each group.

    The mean is x̄ and its standard error √(Σ (x - x̄)² / (n (n - 1))). Documents of group None are
    left out; a tuple holds several groups of a document, which counts in each of them. At most
    `max_groups` are returned: those with the most documents, the largest first.
    """
    rows_of: dict[Any, list[int]] = {}
    for row, each in enumerate(groups):
        for group in dict.fromkeys(each) if isinstance(each, tuple) else (each,):
            if group is not None:
                rows_of.setdefault(group, []).append(row)
    known = sorted(rows_of, key=_order)
    if max_groups is not None:
        known = sorted(known, key=lambda group: -len(rows_of[group]))[:max_groups]
    share = np.empty((len(known), shares.shape[1]))
    error = np.full_like(share, np.nan)
    n_documents = np.array([len(rows_of[group]) for group in known], dtype=np.int64)
    for g, group in enumerate(known):
        of_group = shares[rows_of[group]]
        share[g] = of_group.mean(axis=0)
        if len(of_group) > 1:
            error[g] = of_group.std(axis=0, ddof=1) / np.sqrt(len(of_group))
    return MeanShares(known, share, error, n_documents)


def by_row(shares: Floats, n_tokens: Ints, row_of: Ints) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the shares (R, K) of topics in rows, and which rows have a token.

    Sections of a row are not independent, so they are averaged first, by their tokens.
    """
    n_rows = int(row_of.max(initial=-1)) + 1
    tokens = np.bincount(row_of, n_tokens, n_rows)
    total = np.zeros((n_rows, shares.shape[1]))
    np.add.at(total, row_of, n_tokens[:, None] * shares)
    return total / np.maximum(tokens, 1)[:, None], tokens > 0


def nearly_all_differ(values: Sequence[Any]) -> bool:
    """Whether the values are numbers, such as lengths, that by themselves group few documents."""
    present = [value for value in values if value is not None]
    n_different = len(set(present))
    return PARTS < n_different > min(MAX_GROUPS, len(present) / 2) and all(
        type(value) is int or (type(value) is float and math.isfinite(value)) for value in present
    )


def parts_of(values: Sequence[Any], n_parts: int) -> list[Any]:
    """Return the part of each number by its least number: the parts hold about as many each."""
    present = sorted(value for value in values if value is not None)
    least = sorted({present[len(present) * part // n_parts] for part in range(n_parts)})
    return [None if value is None else least[bisect(least, value) - 1] for value in values]


def groups_of(
    column: str, values: Sequence[Any], period: str | None, max_groups: int | None = None
) -> list[Any]:
    """Return the group of each value: the value itself or, of dates, the period; None of none.

    By default dates are grouped by the finest period with `DOCUMENTS_A_PERIOD` documents on
    average, else by year. Raises ValueError if there are too many groups and `max_groups` limits
    them not, or the column holds no dates and a period is asked for.
    """
    # CSV has no other word for no value.
    values = [None if value in ("", ()) else value for value in values]
    present = [value for value in values if value is not None]
    if not present:
        raise ValueError(f"column {column!r} has no value in any document with a known word")
    n_missing = len(values) - len(present)
    if n_missing:
        logger.warning("column %r: %s documents without a value are left out", column, n_missing)
    if period is not None and period not in PERIODS:
        raise ValueError(f"period must be one of {', '.join(PERIODS)}, not {period!r}")
    dates = [DATE.fullmatch(value) if isinstance(value, str) else None for value in values]
    is_dated = all(
        date is not None for date, value in zip(dates, values, strict=True) if value is not None
    )
    groups = list(values)
    if is_dated:
        groups = _periods(column, dates, period)
    elif period is not None:
        wrong = next(
            value
            for date, value in zip(dates, values, strict=True)
            if value is not None and date is None
        )
        raise ValueError(
            f"column {column!r} holds {wrong!r}, which is no date such as 2021-03-05: leave the "
            "period out, or write dates so"
        )
    n_groups = len(set(groups) - {None})
    if n_groups > MAX_GROUPS and max_groups is None:
        raise ValueError(
            f"column {column!r} has {n_groups:,} different values, more than {MAX_GROUPS:,}: name "
            "one that groups documents, or how many of the largest groups to show"
        )
    return groups


def _periods(
    column: str, dates: Sequence[re.Match[str] | None], period: str | None
) -> list[str | None]:
    has_days = all(date.group(3) for date in dates if date is not None)
    if period == "day" and not has_days:
        raise ValueError(f"column {column!r} holds months without days: choose a longer period")
    n_dates = sum(date is not None for date in dates)
    if period is None:
        period = "year"
        for finer in PERIODS[1 : 4 if has_days else 3]:
            n_periods = len({_period(date, finer) for date in dates if date is not None})
            if n_dates < DOCUMENTS_A_PERIOD * n_periods:
                break
            period = finer
    return [None if date is None else _period(date, period) for date in dates]


def _period(date: re.Match[str], period: str) -> str:
    year, month, day = date.groups()
    if period == "year":
        return str(year)
    if period == "quarter":
        return f"{year}-Q{(int(month) + 2) // 3}"
    return f"{year}-{month}" if period == "month" else f"{year}-{month}-{day}"


def _order(value: Any) -> tuple[bool, Any]:
    """Return a key by which numbers come in order before texts; CSV has numbers as texts."""
    try:
        number = float(value)
    except ValueError:
        return True, value
    return (True, str(value)) if math.isnan(number) else (False, number)
