"""Sentences of a page on the comparison of several runs."""

from collections.abc import Sequence

import numpy as np

from evaluation import LikelihoodEstimate
from evaluation.family import Method
from evaluation.methods import caveats_of, scoring_of
from pipeline.report.likelihood_reading import SMOOTHING, smoothed
from pipeline.report.sections import ComparisonRow
from pipeline.scoring.score import LoadedModel, vocabulary_cost

COSTLY = 0.01
"""Smallest probability of unscored words that is reported, and smallest difference in it between
two models that makes them incomparable as they are."""
ROUNDING = 1e-6  # Difference in nats a word that rounding can cause between equal models


def reading_of(
    rows: Sequence[ComparisonRow],
    estimate: LikelihoodEstimate,
    method: Method,
    n_articles: int,
    *,
    is_comparable: bool,
) -> list[str]:
    """Return sentences: which run is best, by how much, and how certain that is."""
    if not method.is_quotable:
        return [f"Values of {estimate.method} do not tell which of these models is better."]
    sentences = _order(rows, n_articles) if is_comparable else _no_order(rows, n_articles)
    if method.is_conditional:
        sentences.append(
            "The comparison is of predicting half of each document from the other half."
        )
    elif estimate.direction == "lower bound":
        sentences.append(
            "The comparison is of bounds, and one bound may be closer to its true value than "
            "another."
        )
    elif estimate.direction not in ("exact", "unbiased"):
        sentences.append(
            "The estimates are biased by unknown amounts, which can differ between the runs."
        )
    return sentences


def _articles(n_articles: int) -> str:
    return "one article" if n_articles == 1 else f"the same {n_articles:,} articles"


def _most_probable(rows: Sequence[ComparisonRow]) -> str:
    return "higher" if len(rows) == 2 else "highest"


def _order(rows: Sequence[ComparisonRow], n_articles: int) -> list[str]:
    """Return sentences on models that are comparable as they are."""
    best, others = rows[0], rows[1:]
    number = "two" if len(rows) == 2 else f"{len(rows):,}"
    order = f"the {_most_probable(rows)} probability"
    sentences = [f"Of the {number} runs, {best.model} gives {_articles(n_articles)} {order}."]
    clear = [row for row in others if row.low is not None and row.low > 0]
    unclear = [row for row in others if row not in clear]
    if clear:
        nearest = clear[0]
        assert nearest.difference is not None
        sentences.append(
            f"Each word is on average {_ratio(nearest.difference)} times as probable as under "
            f"{nearest.model} ({_interval(nearest)})"
            + (f"; it is further ahead of {_listed(clear[1:])}." if clear[1:] else ".")
        )
    if unclear:
        is_one = len(unclear) == 1 and unclear[0].low is not None
        why = "the 95 % intervals of the differences include 0"
        if n_articles == 1:
            why = "one article cannot tell"
        elif is_one:
            why = f"the difference is {_interval(unclear[0])}, which includes 0"
        sentences.append(f"Its advantage over {_listed(unclear)} may be chance: {why}.")
    return sentences


def _no_order(rows: Sequence[ComparisonRow], n_articles: int) -> list[str]:
    """Return sentences on models whose order depends on their vocabularies."""
    best = rows[0]
    by = f", by {_interval(rows[1])}" if len(rows) == 2 else ""
    why = "none is clearly the best both as it is and restricted to the scored words"
    order = f"the {_most_probable(rows)} probability"
    return [
        f"These runs are not comparable as they are: their vocabularies differ, and {why}.",
        f"As they are, {best.model} gives {_articles(n_articles)} {order}{by}.",
    ]


def reading_of_restricted(
    rows: Sequence[ComparisonRow], models: Sequence[LoadedModel], method: Method, *, is_alike: bool
) -> list[str]:
    """Return sentences on the cost of unscored words, if large, and on differences without it."""
    costly = [
        f"{100 * (1 - row.scored_share):.0f} % of {row.model}, a cost of "
        f"{vocabulary_cost(row.scored_share):.2f} nats a word"
        for row in rows
        if 1 - row.scored_share >= COSTLY
    ]
    if not costly:
        return []
    sentences = [
        "Only words that every run knows are scored.",
        f"Other words have a part of a model's probability: {'; '.join(costly)}.",
    ]
    if is_alike or not method.is_quotable:
        return sentences
    if rows[1].conditional_difference is None:
        reasons = dict.fromkeys(
            scoring_of(each.model.topics).refuses.get("restriction", "") for each in models
        )
        why = " ".join(reason for reason in reasons if reason)
        sentences.append(f"The differences without that cost are not known {why}".rstrip() + ".")
        return sentences
    found = "; ".join(_restricted(row, rows[0].model) for row in rows[1:])
    sentences.append(f"With each model restricted to the scored words, {found}.")
    return sentences


def _restricted(row: ComparisonRow, best: str) -> str:
    """Return the difference between a model and the first one, both restricted."""
    difference, low, high = row.conditional_difference, row.conditional_low, row.conditional_high
    assert difference is not None
    sign = -1.0 if difference < 0 else 1.0
    where = "ahead of" if difference < 0 else "behind"
    text = f"{row.model} is {where} {best} by {sign * difference:.4f} nats a word"
    if low is None or high is None:
        return f"{text} (one article gives no interval)"
    low, high = sorted((sign * low, sign * high))
    chance = ", which includes 0" if low <= ROUNDING and high >= -ROUNDING else ""
    low, high = (0.0 if abs(x) < ROUNDING else x for x in (low, high))  # no -0.0000
    return f"{text} (95 % interval {low:.4f} to {high:.4f}{chance})"


def reservations(models: Sequence[LoadedModel], *, is_smoothed: bool) -> list[str]:
    """Return sentences on smoothing and on caveats of the families."""
    sentences = [smoothed(SMOOTHING, " of one of the runs")] if is_smoothed else []
    return sentences + caveats_of(each.model.topics for each in models)


def _interval(row: ComparisonRow) -> str:
    text = f"{row.difference:.4f} nats a word"
    if row.low is None or row.high is None:
        return text
    return f"{text}, 95 % interval {row.low:.4f} to {row.high:.4f}"


def _ratio(difference: float) -> str:
    ratio = float(np.exp(min(difference, 700.0)))
    return f"{ratio:.3f}" if ratio < 10 else f"{ratio:,.0f}" if ratio < 1e7 else f"{ratio:.1e}"


def _listed(rows: Sequence[ComparisonRow]) -> str:
    names = [row.model for row in rows]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
