import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import EarlyStopping


def notes_say_stop(scores):
    """b_t (1 + 1e-5) < (b_{t-1} + b_{t-2}) / 2 for the last of at least four negative bounds."""
    return len(scores) >= 4 and scores[-1] * (1 + 1e-5) < (scores[-2] + scores[-3]) / 2


def stops_at(scores):
    rule = EarlyStopping(step=1)
    return [rule.record(i, score) for i, score in enumerate(scores)]


@given(st.lists(st.floats(-1e9, -1e-3), max_size=12))
def test_is_the_rule_for_negative_bounds(scores):
    expected = [notes_say_stop(scores[: i + 1]) for i in range(len(scores))]
    assert stops_at(scores) == expected


SMALL = st.sampled_from([-2e-5, -1e-5, -1e-6, 0, 1e-6, 1e-5, 2e-5])


@given(st.integers(-10_000, -1), st.lists(SMALL, max_size=12))
def test_is_the_rule_where_bounds_hardly_move(first, steps):
    scores = list(itertools.accumulate(steps, lambda b, step: b * (1 - step), initial=first))
    expected = [notes_say_stop(scores[: i + 1]) for i in range(len(scores))]
    assert stops_at(scores) == expected


@pytest.mark.parametrize(
    ("scores", "stops"),
    [
        ([-1.0, -2.0, -3.0], False),
        ([-1.0, -2.0, -3.0, -4.0], True),  # never before the fourth
        (-1e6 / np.arange(1, 30), False),
        ([-9.0, -5.0, -5.0, -5.0], True),  # they stand still
        ([1.0, 5.0, 5.0, 5.0], True),
        ([1.0, 2.0, 3.0, 4.0], False),
        ([-3.0, -2.0, -1.0, -np.inf], True),
    ],
)
def test_examples(scores, stops):
    assert stops_at(scores) == [False] * (len(scores) - 1) + [stops]


def naive_patience_says_stop(scores, patience, tolerance):
    """No one of the last looks is better than all before it by more than the tolerance."""
    before, last = scores[:-patience], scores[-patience:]
    gains = [all(b > a and b - a > tolerance * abs(b) for a in before) for b in last]
    return bool(before) and not any(gains)


SCORES = st.sampled_from([-np.inf, -2.0, -1.1, -1.01, -1.0, 0.0, 1.0, 1.01])


@given(st.lists(SCORES, max_size=9), st.integers(1, 4), st.sampled_from([0.0, 1e-2, 0.2]))
def test_patience(scores, patience, tolerance):
    rule = EarlyStopping(step=1, patience=patience, tolerance=tolerance)
    for i, score in enumerate(scores):
        so_far = scores[: i + 1]
        assert rule.record(i, score) == naive_patience_says_stop(so_far, patience, tolerance)


@pytest.mark.parametrize("patience", [1, 2, 5])
def test_patience_ends_so_many_looks_after_the_best(patience):
    rule, scores = EarlyStopping(step=1, patience=patience), [-9.0, -5.0, -7.0, -4.0, *[-4.5] * 10]
    stops = [rule.record(i, score) for i, score in enumerate(scores)]
    assert stops.index(True) == (2 if patience == 1 else 3 + patience)


def test_gains():
    # Each look is better by 0.04 %, and three of them by more than the tolerance of 0.1 %.
    rule = EarlyStopping(step=1, patience=3, tolerance=1e-3)
    assert not any(rule.record(i, -1000.0 + 0.4 * i) for i in range(100))
    rule = EarlyStopping(step=1, patience=2, tolerance=1e-3)
    assert any(rule.record(i, -1000.0 + 0.4 * i) for i in range(100))
    rule = EarlyStopping(step=1, patience=2)
    assert [rule.record(i, score) for i, score in enumerate([-5.0, math.nan, math.nan])][-1]


def looks(rule, positions):
    taken = []
    for position in positions:
        if rule.due(position):
            taken.append(position)
            rule.record(position, float(len(taken)))
    return taken


def test_looks_by_documents_and_by_a_clock():
    taken = looks(EarlyStopping(step=1000), range(0, 30_001, 256))
    expected = [1024 * i for i in range(1, 11)]  # from 10,240 on, a tenth is more than 1000
    while expected[-1] * 1.1 <= 30_000:
        expected.append(256 * math.ceil(expected[-1] * 1.1 / 256))
    assert taken == [position for position in expected if position <= 30_000]
    clock = itertools.accumulate([0.5] * 400)
    taken = looks(EarlyStopping(step=5.0), clock)
    assert taken[:3] == [5.0, 10.0, 15.0]
    for last, now in itertools.pairwise(taken):
        due = max(1.1 * last, last + 5)
        assert due <= now < due + 0.5
    assert looks(EarlyStopping(step=10), [3, 57, 58, 59, 66, 67, 68]) == [57, 67]


def test_restored_from_its_fields_it_goes_on():
    rule = EarlyStopping(step=1)
    for i, score in enumerate([-4.0, -3.0, -2.0]):
        rule.record(i, score)
    again = EarlyStopping(step=1, positions=list(rule.positions), scores=list(rule.scores))
    assert again.record(3, -9.0)
    assert (rule.scores, EarlyStopping(step=1).scores) == ([-4.0, -3.0, -2.0], [])


@pytest.mark.parametrize("growth", [1.0, 2.0])
def test_growth(growth):
    rule = EarlyStopping(step=1, growth=growth)
    rule.record(100, -1.0)
    assert rule.due(max(101, 100 * growth))
    assert not rule.due(max(101, 100 * growth) - 0.01)


def test_bad_settings_are_named():
    bad = [("patience", 0), ("patience", -1), ("growth", 0.9), ("step", -1)]
    for name, value in (*bad, ("tolerance", math.nan)):
        with pytest.raises(ValueError, match=name):
            EarlyStopping(**{"step": 1, name: value})
