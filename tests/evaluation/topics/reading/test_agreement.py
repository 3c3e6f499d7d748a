import math

import numpy as np
import pytest

from evaluation.topics.reading import krippendorff_alpha
from evaluation.topics.reading.agreement import agreement
from evaluation.topics.reading.question import RATING, WORD_INTRUSION, Item, Question
from tests.oracles import reading as oracle

# Krippendorff 2011, "Computing Krippendorff's alpha-reliability", Sec. C: four observers.
WORKED = """
1 2 3 3 2 1 4 1 2 . . .
1 2 3 3 2 2 4 1 2 5 . 3
. 3 3 3 2 3 4 2 2 5 1 .
1 2 3 3 2 4 4 1 2 5 1 .
"""


def table_of(text):
    return [
        [None if v == "." else int(v) for v in line.split()] for line in text.split("\n") if line
    ]


def as_array(table):
    return np.array([[np.nan if v is None else v for v in row] for row in table], dtype=float)


@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_is_that_of_the_worked_example(level, published):
    found = krippendorff_alpha(as_array(table_of(WORKED)), level)
    assert round(found, 3) == published
    assert found == pytest.approx(oracle.alpha(table_of(WORKED), getattr(oracle, level)))


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("seed", range(5))
def test_alpha_is_that_of_all_pairs(level, seed):
    rng = np.random.default_rng(seed)
    table = [
        [int(rng.integers(4)) if rng.random() < 0.7 else None for _ in range(9)] for _ in range(5)
    ]
    expected = oracle.alpha(table, getattr(oracle, level))
    assert krippendorff_alpha(as_array(table), level) == pytest.approx(expected)


def test_alpha_of_perfect_agreement_and_of_guessing():
    rng = np.random.default_rng(0)
    same = np.tile(rng.integers(6, size=2000), (3, 1)).astype(float)
    assert krippendorff_alpha(same) == 1
    assert abs(krippendorff_alpha(rng.integers(6, size=(3, 2000)).astype(float))) < 0.03


@pytest.mark.parametrize("values", [[[1.0, 2.0]], [[1.0], [1.0]], [[np.nan, 1.0], [2.0, np.nan]]])
def test_alpha_is_not_defined_without_pairs_or_differences(values):
    assert math.isnan(krippendorff_alpha(values))


def test_alpha_refuses_other_shapes_and_levels():
    with pytest.raises(ValueError, match="n_readers"):
        krippendorff_alpha([1.0, 2.0])
    with pytest.raises(ValueError, match="level"):
        krippendorff_alpha([[1.0], [2.0]], "ratio")


def test_repeated_questions_are_compared_by_their_words():
    items = [
        Item(Question(WORD_INTRUSION, ("a", "b", "c")), "m", "0", 0),
        Item(Question(WORD_INTRUSION, ("c", "a", "b")), "m", "0", 1, repeats=0),
        Item(Question(RATING, ("1", "2", "3")), "m", "0"),
    ]
    answers = {"r": {0: 0, 1: 1, 2: 0}, "s": {0: 1, 1: 1}, "t": {1: 2}}
    found = agreement(items, answers, WORD_INTRUSION)
    assert (found.n_repeated, found.n_same, found.n_questions) == (2, 1, 1)
    assert agreement(items, answers, RATING).n_questions == 0
