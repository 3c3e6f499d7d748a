"""Agreement of readers: Krippendorff's alpha, for any number of readers and missing answers.

Krippendorff 2011, "Computing Krippendorff's alpha-reliability".
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evaluation.arrays import Floats
from evaluation.topics.reading.question import RATING, Item

LEVELS = ("nominal", "ordinal", "interval")


@dataclass(frozen=True)
class Agreement:
    """Agreement of readers in one task."""

    task: str
    alpha: float  #: Krippendorff's alpha between readers; NaN if it is not defined.
    n_questions: int  #: Questions with two answers or more, which alpha is from.
    n_repeated: int  #: Pairs of answers of one reader to a question and its repetition.
    n_same: int  #: Pairs of these that choose the same option.


def agreement(
    items: Sequence[Item], answers: Mapping[str, Mapping[int, int]], task: str
) -> Agreement:
    """Return how far readers agree in a task: by reader, the option of each item with an answer.

    Alpha is nominal over the places of options, which are shuffled, or ordinal over ratings.
    """
    asked = [i for i, item in enumerate(items) if item.question.task == task]
    fresh = [i for i in asked if items[i].repeats is None]
    table = np.array([[given.get(i, np.nan) for i in fresh] for given in answers.values()])
    alpha = krippendorff_alpha(table, "ordinal" if task == RATING else "nominal")
    n_questions = int(((~np.isnan(table)).sum(axis=0) >= 2).sum())
    is_same = [
        items[i].question.options[given[i]] == items[before].question.options[given[before]]
        for given in answers.values()
        for i in asked
        if (before := items[i].repeats) is not None and i in given and before in given
    ]
    return Agreement(task, alpha, n_questions, len(is_same), sum(is_same))


def krippendorff_alpha(values: ArrayLike, level: str = "nominal") -> float:
    """Return alpha of `values` (n_readers, n_questions); NaN stands for no answer.

    1 is agreement, 0 what answers by chance have that are as frequent as these, below 0 more
    disagreement than that. `level` is that of the values: "nominal", "ordinal" or "interval".
    NaN if no question has two answers, or all these answers are equal. Raises ValueError if
    `values` has another shape or the level is unknown.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"values must be (n_readers, n_questions), found shape {table.shape}")
    if level not in LEVELS:
        raise ValueError(f"level must be one of {', '.join(LEVELS)}, found {level!r}")
    table = table[:, (~np.isnan(table)).sum(axis=0) >= 2]
    known = np.unique(table[~np.isnan(table)])
    if len(known) < 2:
        return math.nan
    count = (table[:, :, None] == known).sum(axis=0)  # (n_questions, n_values)
    m = count.sum(axis=1)
    # Coincidences o_ck: pairs of answers (c, k) to one question, each question with weight 1/(m-1).
    weight = 1.0 / (m - 1)
    coincidence = (count.T * weight) @ count - np.diag((count.T * weight).sum(axis=1))
    n_c = coincidence.sum(axis=1)
    distance = _distances(known, n_c, level)
    expected = (np.outer(n_c, n_c) * distance).sum() / (n_c.sum() - 1)
    return float(1 - (coincidence * distance).sum() / expected)


def _distances(known: Floats, n_c: Floats, level: str) -> Floats:
    """Return δ² of each pair of values."""
    if level == "nominal":
        return 1.0 - np.eye(len(known))
    # Ordinal: answers between the two values, half of those at each.
    place = known if level == "interval" else np.cumsum(n_c) - n_c / 2
    return np.asarray((place[:, None] - place) ** 2)
