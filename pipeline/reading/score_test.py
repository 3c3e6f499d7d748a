"""`reading-score`: scores of models from the answers of readers."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaluation.topics.reading import score
from evaluation.topics.reading.agreement import Agreement
from evaluation.topics.reading.intervals import Estimate
from evaluation.topics.reading.question import RATING
from evaluation.topics.reading.reading_scores import ModelScore
from pipeline.reading.answers_file import read_answers
from pipeline.reading.key_file import ReadingTest, read_key


def reading_score(key: str, answers: Sequence[str]) -> dict[str, Any]:
    """Score files of answers by the key of their test.

    Raises CorpusFormatError if a file is damaged, of another test, or of a reader who has another
    file; OSError if one is missing.
    """
    test = read_key(Path(key))
    given = read_answers([Path(each) for each in answers], test)
    found = score(test.items, {each.reader: each.options for each in given})
    seconds = {each.reader: each.seconds for each in given}
    return {
        "test": test.id,
        "scores": [_model_row(test, each) for each in found.models],
        "differences": [
            {
                "task": each.task,
                "first": each.first,
                "second": each.second,
                **_estimate(each.estimate, "difference"),
            }
            for each in found.differences
        ],
        "agreement": [_agreement_row(each) for each in found.agreements],
        "readers": [
            {
                "reader": each.reader,
                "answers": each.n_answers,
                "share_right": _number(each.share_right),
                "seconds": _number(seconds[each.reader]),
            }
            for each in found.readers
        ],
    }


def _model_row(test: ReadingTest, scored: ModelScore) -> dict[str, Any]:
    value = "rating" if scored.task == RATING else "precision"
    row = {
        "model": scored.model,
        "task": scored.task,
        "readers": scored.n_readers,
        "answers": scored.n_answers,
        "units": len(scored.units),
        **_estimate(scored.estimate, value),
    }
    if scored.task != RATING:
        row["chance"] = scored.chance
    if scored.log_odds is not None:
        row["log_odds"] = _estimate(scored.log_odds, "value")
        row["log_odds_of_chance"] = scored.log_odds_of_chance
    shown = _shown(test, scored)
    row["of_each"] = [
        {"unit": each.unit, "shown": shown[each.unit], "answers": each.n_answers}
        | _estimate(each.estimate, value)
        for each in scored.units
    ]
    return row


def _shown(test: ReadingTest, scored: ModelScore) -> dict[str, str]:
    """Return what a reader of each unit was shown, the intruder last."""
    found = {}
    for item in test.items:
        asked = item.question
        if (item.model, asked.task) != (scored.model, scored.task) or item.repeats is not None:
            continue
        if item.intruder is None:
            found[item.unit] = asked.text
        elif asked.title or asked.text:
            found[item.unit] = asked.title or asked.text
        else:
            own = [each for j, each in enumerate(asked.options) if j != item.intruder]
            found[item.unit] = f"{', '.join(own)} | {asked.options[item.intruder]}"
    return found


def _agreement_row(found: Agreement) -> dict[str, Any]:
    return {
        "task": found.task,
        "alpha": _number(found.alpha),
        "questions": found.n_questions,
        "repeated": found.n_repeated,
        "repeated_same": found.n_same,
    }


def _estimate(found: Estimate, name: str) -> dict[str, Any]:
    """Return a value with its interval, or why it has none."""
    row: dict[str, Any] = {
        name: found.value,
        "low": _number(found.low),
        "high": _number(found.high),
    }
    return row | ({"no_interval": found.caution} if found.caution else {})


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
