"""What a page says of several runs that were compared, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evaluation.methods import caveats_of, scoring_of
from pipeline.report.likelihood_section import SMOOTHING
from pipeline.scoring.score import vocabulary_cost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluation import LikelihoodEstimate
    from evaluation.family import Method
    from pipeline.report.sections import ComparisonRow
    from pipeline.scoring.score import LoadedModel

COSTLY = 0.01
"""Share of a model's probability that goes to words which others do not know, to be told of; and
of two models the difference in it from which on they do not compare as they stand."""
ROUNDING = 1e-6
"""Nats a word that two equal models may seem to differ by."""


def reading_of(
    rows: Sequence[ComparisonRow],
    estimate: LikelihoodEstimate,
    method: Method,
    n_articles: int,
    *,
    is_comparable: bool,
) -> list[str]:
    """Sentences: which is best, by how much, and how sure that is."""
    if not method.is_quotable:
        return [f"Figures by {estimate.method} do not say which of these models is better."]
    sentences = _order(rows, n_articles) if is_comparable else _no_order(rows, n_articles)
    if method.is_conditional:
        sentences.append(
            "What is compared is how well half of each document is predicted from the other half."
        )
    elif estimate.direction == "lower bound":
        sentences.append(
            "What is compared are bounds, of which one may be nearer to the truth than another."
        )
    elif estimate.direction not in ("exact", "unbiased"):
        sentences.append(
            "The estimates are biased by unknown amounts, which need not be the same for all runs."
        )
    return sentences


def _articles(n_articles: int) -> str:
    return "one article" if n_articles == 1 else f"the same {n_articles:,} articles"


def _most_probable(rows: Sequence[ComparisonRow]) -> str:
    return "higher" if len(rows) == 2 else "highest"


def _order(rows: Sequence[ComparisonRow], n_articles: int) -> list[str]:
    """Sentences on models that compare as they stand."""
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
        sentences.append(f"That it is better than {_listed(unclear)} may be chance: {why}.")
    return sentences


def _no_order(rows: Sequence[ComparisonRow], n_articles: int) -> list[str]:
    """Sentences on models of which vocabularies decide which comes first."""
    best = rows[0]
    by = f", by {_interval(rows[1])}" if len(rows) == 2 else ""
    why = "none is clearly the best both as it is and by the scored words alone"
    order = f"the {_most_probable(rows)} probability"
    return [
        f"These runs are not comparable as they stand: their vocabularies differ, and {why}.",
        f"As it is, {best.model} gives {_articles(n_articles)} {order}{by}.",
    ]


def reading_of_restricted(
    rows: Sequence[ComparisonRow], models: Sequence[LoadedModel], method: Method, *, is_alike: bool
) -> list[str]:
    """Sentences if words that not all runs know cost some of them much: how much, and what is left
    of the differences without that cost.
    """
    costly = [
        f"{100 * (1 - row.scored_share):.0f} % of that of {row.model}, worth "
        f"{vocabulary_cost(row.scored_share):.2f} nats a word"
        for row in rows
        if 1 - row.scored_share >= COSTLY
    ]
    if not costly:
        return []
    cost = "Other words get some of the models' probability, which counts against them"
    sentences = [
        "Only words that every run knows are scored.",
        f"{cost}: {'; '.join(costly)}.",
    ]
    if is_alike or not method.is_quotable:
        return sentences
    if rows[1].conditional_difference is None:
        reasons = dict.fromkeys(
            scoring_of(each.model.topics).refuses.get("restriction", "") for each in models
        )
        why = " ".join(reason for reason in reasons if reason)
        sentences.append(f"How they compare without that cost is not known {why}".rstrip() + ".")
        return sentences
    found = "; ".join(_side(row, rows[0].model) for row in rows[1:])
    sentences.append(f"Each restricted to the scored words, {found}.")
    return sentences


def _side(row: ComparisonRow, best: str) -> str:
    """How a model stands to the first where both are restricted."""
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
    """Sentences on what was done to the models, and on what is not known of them."""
    sentences = []
    if is_smoothed:
        sentences.append(
            f"A share of {SMOOTHING:g} of each topic was spread over all words, as some words of "
            "these documents have no topic in one of the runs."
        )
    return sentences + caveats_of(each.model.topics for each in models)


def _interval(row: ComparisonRow) -> str:
    if row.low is None or row.high is None:
        return f"{row.difference:.4f} nats a word"
    return f"{row.difference:.4f} nats a word, 95 % interval {row.low:.4f} to {row.high:.4f}"


def _ratio(difference: float) -> str:
    ratio = float(np.exp(min(difference, 700.0)))
    return f"{ratio:.3f}" if ratio < 10 else f"{ratio:,.0f}" if ratio < 1e7 else f"{ratio:.1e}"


def _listed(rows: Sequence[ComparisonRow]) -> str:
    names = [row.model for row in rows]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
