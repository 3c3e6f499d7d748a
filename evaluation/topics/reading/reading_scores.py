"""Scores of a reading test: precision of topics and models, log odds, ratings, agreement.

Chang et al. 2009, "Reading tea leaves: how humans interpret topic models": model precision is the
share of readers who find the intruding word (eq. 1), the topic log odds are the mean of log θ of
the true intruder minus log θ of the topic chosen in its place (eq. 2).
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from evaluation.arrays import Floats, Ints
from evaluation.topics.reading.agreement import Agreement, agreement
from evaluation.topics.reading.crossed_mean import correlation, crossed_mean
from evaluation.topics.reading.intervals import (
    Estimate,
    difference,
    mean_of_model,
    share_of_topic,
    too_few,
)
from evaluation.topics.reading.question import RATING, TASKS, TOPIC_INTRUSION, Item


@dataclass(frozen=True)
class UnitScore:
    """Score of one topic, or of one document."""

    unit: str
    n_answers: int
    estimate: Estimate  #: Share of right answers, over readers; or the mean rating, 1 to 3.


@dataclass(frozen=True)
class ModelScore:
    """Score of a model in one task."""

    model: str
    task: str
    estimate: Estimate
    """Mean over topics, or documents, of the share of right answers, or of the rating, 1 to 3. The
    interval is for other readers and other topics of the same kind."""
    log_odds: Estimate | None  #: Topic log odds, at most 0; of topic intrusion only.
    chance: float  #: Share of right answers by guessing; NaN for ratings.
    log_odds_of_chance: float  #: Topic log odds by guessing; NaN for other tasks.
    n_readers: int
    n_answers: int
    units: tuple[UnitScore, ...]  #: In the order of the items.


@dataclass(frozen=True)
class Difference:
    """Score of one model minus that of another, in one task, by the same readers."""

    task: str
    first: str
    second: str
    estimate: Estimate


@dataclass(frozen=True)
class ReaderScore:
    """Answers of one reader: someone who guesses is near chance."""

    reader: str
    n_answers: int
    share_right: float  #: Share of right answers in tasks with intruders; NaN without.


@dataclass(frozen=True)
class ReadingScores:
    """Scores of a test."""

    models: tuple[ModelScore, ...]
    differences: tuple[Difference, ...]
    agreements: tuple[Agreement, ...]
    readers: tuple[ReaderScore, ...]


def score(items: Sequence[Item], answers: Mapping[str, Mapping[int, int]]) -> ReadingScores:
    """Score the answers of readers: by reader, the option of each item that has an answer.

    Each item that repeats none is a topic, or document, of its own. Repeated questions count for
    agreement only. Raises ValueError if there is no answer, or one is to an unknown item or option.
    """
    _check(items, answers)
    found = _gathered(items, answers)
    scored = {kind: _score_of(items, *kind, each) for kind, each in found.items()}
    differences = [
        Difference(one[0], one[1], two[1], _difference(scored[one], scored[two], len(answers)))
        for one, two in combinations(found, 2)
        if one[0] == two[0]
    ]
    return ReadingScores(
        tuple(each.score for each in scored.values()),
        tuple(differences),
        tuple(agreement(items, answers, task) for task in dict.fromkeys(t for t, _ in found)),
        tuple(_of_reader(items, reader, given) for reader, given in answers.items() if given),
    )


class _Answered(NamedTuple):
    """Answers about one model in one task."""

    item: Ints
    option: Ints
    reader: Ints
    unit: Ints  # Number of the item among those that have an answer


class _Scored(NamedTuple):
    score: ModelScore
    values: tuple[Floats, Ints, Ints]  # Value, reader and unit of each answer


def _check(items: Sequence[Item], answers: Mapping[str, Mapping[int, int]]) -> None:
    if not any(answers.values()):
        raise ValueError("there are no answers")
    for reader, given in answers.items():
        for i, option in given.items():
            if not 0 <= i < len(items):
                raise ValueError(f"reader {reader} answers item {i} of {len(items)}")
            if not 0 <= option < len(items[i].question.options):
                raise ValueError(f"reader {reader} chooses option {option} of item {i}")


def _gathered(
    items: Sequence[Item], answers: Mapping[str, Mapping[int, int]]
) -> dict[tuple[str, str], _Answered]:
    """Return the answers by task and model, without those to repeated questions."""
    rows = defaultdict(list)
    for r, given in enumerate(answers.values()):
        for i, option in sorted(given.items()):
            if items[i].repeats is None:
                rows[items[i].question.task, items[i].model].append((i, option, r))
    models = sorted({item.model for item in items})
    found = {}
    for kind in sorted(rows, key=lambda each: (TASKS.index(each[0]), models.index(each[1]))):
        item, option, reader = np.array(rows[kind], dtype=np.int64).T
        found[kind] = _Answered(item, option, reader, np.unique(item, return_inverse=True)[1])
    return found


def _score_of(items: Sequence[Item], task: str, model: str, given: _Answered) -> _Scored:
    asked = [items[i] for i in np.unique(given.item).tolist()]
    is_rating, has_odds = task == RATING, task == TOPIC_INTRUSION
    right = np.array([-1 if each.intruder is None else each.intruder for each in asked])
    answer = given.option + 1 if is_rating else given.option == right[given.unit]
    value: Floats = np.asarray(answer, dtype=np.float64)
    n_readers = len(np.unique(given.reader))
    caution = too_few(n_readers, len(asked), "document" if has_odds else "topic")
    mean = crossed_mean(value, given.reader, given.unit)
    log_odds = None
    if has_odds:
        lost = np.array(
            [items[i].log_odds[j] for i, j in zip(given.item, given.option, strict=True)]
        )
        least = min(min(each.log_odds) for each in asked)
        lost_mean = crossed_mean(lost, given.reader, given.unit)
        log_odds = mean_of_model(lost_mean, caution, least, 0.0)
    chances = [1 / len(each.question.options) for each in asked]
    found = ModelScore(
        model=model,
        task=task,
        estimate=mean_of_model(mean, caution, *((1.0, 3.0) if is_rating else (0.0, 1.0))),
        log_odds=log_odds,
        chance=math.nan if is_rating else float(np.mean(chances)),
        log_odds_of_chance=float(np.mean([np.mean(each.log_odds) for each in asked]))
        if has_odds
        else math.nan,
        n_readers=n_readers,
        n_answers=len(value),
        units=tuple(
            UnitScore(each.unit, len(of_unit), _of_unit(of_unit, is_rating=is_rating))
            for each, of_unit in ((each, value[given.unit == u]) for u, each in enumerate(asked))
        ),
    )
    return _Scored(found, (value, given.reader, given.unit))


def _of_unit(value: Floats, *, is_rating: bool) -> Estimate:
    if is_rating:
        return Estimate(float(value.mean()), caution="a mean of few ratings has no interval")
    return share_of_topic(int(value.sum()), len(value))


def _difference(first: _Scored, second: _Scored, n_readers: int) -> Estimate:
    common = correlation(first.values, second.values, n_readers)
    return difference(first.score.estimate, second.score.estimate, common)


def _of_reader(items: Sequence[Item], reader: str, given: Mapping[int, int]) -> ReaderScore:
    right = [items[i].intruder == j for i, j in given.items() if items[i].intruder is not None]
    return ReaderScore(reader, len(given), sum(right) / len(right) if right else math.nan)
