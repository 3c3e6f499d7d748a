"""Result of `evaluate --measures`: figures, differences from the best, and which are told apart."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from evaluation.figure import ROUNDING, Figure, holm
from pipeline.scoring.label_figures import ACCURACY
from pipeline.scoring.measures import LOWER_IS_BETTER, STABILITY, Judgement, judge
from pipeline.scoring.score import or_none
from pipeline.settings import EvaluateSettings

LEVEL = 0.05
"""Level of the tests of differences from the best, by Holm's correction over the other models."""
BOUNDS = {"nats a word": (0.0, math.inf), "c_npmi": (-1.0, 1.0), "ari": (-0.5, 1.0)}
"""Least and largest possible values of measures; those of the others are 0 and 1, also of
cosines, which are of weights that are not negative."""


def evaluate_measures(settings: EvaluateSettings, names: Sequence[str]) -> dict[str, Any]:
    """Score models by all measures asked for; the result is as JSON has it."""
    return result_of(settings, judge(settings, names))


def result_of(settings: EvaluateSettings, found: Judgement) -> dict[str, Any]:
    """Return the figures, and for each measure the best model and the others against it."""
    measures = list(dict.fromkeys(m for own in found.figures.values() for m in own))
    documents, labels = found.documents, found.labels
    return {
        "scored": documents.source,
        "left_out": documents.n_left_out,
        "documents": documents.corpus.n_docs,
        "articles": len(set(documents.article_of)),
        "groups": found.n_groups,
        "method": found.method or None,
        "tokens_scored": found.n_tokens,
        "words": settings.words,
        "coherence_in": settings.reference or "the scored documents",
        "reference_identity": None if found.reference is None else found.reference.identity,
        "diversity_words": found.n_diverse,
        "labelled_documents": 0 if labels is None else labels.n_documents,
        "labels": 0 if labels is None else labels.n_labels,
        "accuracy_on_words": None if labels is None else _entry(ACCURACY, labels.on_words),
        "models": [
            {
                "model": row.name,
                "members": [each.name for each in row.members],
                "unseen_pairs": or_none(found.unseen_pairs[row.name]),
                "known_words": or_none(found.known_words[row.name]),
                "topics": [each.described.n_topics for each in row.members],
                "figures": {m: _entry(m, figure) for m, figure in found.figures[row.name].items()},
            }
            for row in found.rows
        ],
        "comparisons": {m: entry for m in measures if (entry := _comparison(found, m))},
    }


def within_bounds(measure: str, value: float, low: float, high: float) -> tuple[float, float]:
    """Return an interval of a measure without what is impossible; the value stays in it, also one
    beyond the bounds, as nmi may be less its bias.
    """
    least, most = BOUNDS.get(measure, (0.0, 1.0))
    least, most = min(least, value), max(most, value)
    return float(np.clip(low, least, most)), float(np.clip(high, least, most))


def _entry(measure: str, figure: Figure) -> dict[str, Any]:
    low, high = within_bounds(measure, figure.value, *figure.interval())
    return {
        "value": or_none(figure.value),
        "standard_error": or_none(figure.standard_error),
        "low": or_none(low),
        "high": or_none(high),
        "over": figure.over or None,
        "bias": figure.bias or None,
        "seed_error": figure.seed_error or None,
        "why": figure.reason or None,
    }


def _comparison(found: Judgement, measure: str) -> dict[str, Any] | None:
    """Return the best model of a measure, and the others against it; None for fewer than two.

    None too for the agreement of models with each other, which is no figure of each alone.
    """
    if measure in STABILITY.values() and all(len(row.members) == 1 for row in found.rows):
        return None
    known = {
        name: own[measure]
        for name, own in found.figures.items()
        if measure in own and own[measure].is_known
    }
    if len(known) < 2:
        return None
    is_lower = measure in LOWER_IS_BETTER
    best = (min if is_lower else max)(known, key=lambda name: known[name].value)
    against: list[dict[str, Any]] = []
    for name, figure in known.items():
        if name == best:
            continue
        difference = figure.minus(known[best])
        error = difference.standard_error
        against.append(
            {
                "model": name,
                "difference": difference.value,
                "standard_error": None if error <= ROUNDING else or_none(error),
                "p_value": or_none(difference.p_value),
            }
        )
    told = holm([row["p_value"] for row in against], LEVEL)
    for row, is_told in zip(against, told, strict=True):
        row["told_apart"] = is_told
    return {"best": best, "better": "low" if is_lower else "high", "against": against}
