import math

import numpy as np
import pytest

from pipeline.runs.mean_shares import by_row, groups_of, mean_shares


def test_means_and_errors_by_hand():
    shares = np.array([[0.2, 0.8], [0.4, 0.6], [0.9, 0.1], [0.5, 0.5]])
    found = mean_shares(shares, ["b", "b", "a", None])
    assert found.groups == ["a", "b"]
    np.testing.assert_allclose(found.share, [[0.9, 0.1], [0.3, 0.7]])
    # x = 0.2, 0.4: √(((0.1)² + (0.1)²) / (2 · 1))
    np.testing.assert_allclose(found.standard_error[1], [0.1, 0.1])
    assert np.isnan(found.standard_error[0]).all()
    assert found.n_documents.tolist() == [1, 2]


def test_the_error_is_that_of_means_of_repeated_samples():
    rng = np.random.default_rng(3)
    means, errors = [], []
    for _ in range(2000):
        found = mean_shares(rng.dirichlet([0.5, 1.0], size=30), ["all"] * 30)
        means.append(found.share[0, 0])
        errors.append(found.standard_error[0, 0])
    true = math.sqrt((1 / 3) * (2 / 3) / 2.5 / 30)  # variance of a Beta(0.5, 1)
    assert math.isclose(np.std(means), true, rel_tol=0.06)
    assert math.isclose(np.sqrt(np.mean(np.square(errors))), true, rel_tol=0.02)


def test_sections_of_a_row_are_averaged_by_their_tokens():
    shares = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.3, 0.7]])
    found, has_tokens = by_row(shares, np.array([3, 1, 0, 2]), np.array([0, 0, 1, 2]))
    np.testing.assert_allclose(found, [[0.75, 0.25], [0, 0], [0.3, 0.7]])
    assert has_tokens.tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("values", "ordered"),
    [
        ([10, 2, 1.5], [1.5, 2, 10]),
        (["10", "9", "-1", "x", "a"], ["-1", "9", "10", "a", "x"]),
        ([True, False], [False, True]),
        (["nan", "5"], ["5", "nan"]),
        (["nan", "Niger", "2020", "Nan"], ["2020", "Nan", "Niger", "nan"]),
    ],
)
def test_groups_are_in_order(values, ordered):
    assert mean_shares(np.ones((len(values), 1)), values).groups == ordered


def dates(*days):
    return [f"2021-{day}" for day in days]


def test_dates_are_grouped_by_the_period_that_is_asked_for():
    values = [*dates("01-31T10:00:00", "03-31", "04-01 09:00:00+02:00"), None, ""]
    assert groups_of("when", values, "year") == ["2021"] * 3 + [None] * 2
    assert groups_of("when", values, "quarter")[:3] == ["2021-Q1", "2021-Q1", "2021-Q2"]
    assert groups_of("when", values, "month")[:3] == dates("01", "03", "04")
    assert groups_of("when", values, "day")[:3] == dates("01-31", "03-31", "04-01")


@pytest.mark.parametrize(
    ("n_a_day", "n_days", "period"), [(20, 2, 10), (1, 40, 7), (1, 60, 7), (1, 15, 4)]
)
def test_by_default_the_finest_period_with_twenty_documents_on_average(n_a_day, n_days, period):
    start = np.datetime64("2021-02-01")
    values = [str(start + day) for day in range(n_days) for _ in range(n_a_day)]
    groups = groups_of("when", values, None)
    assert {len(each) for each in groups} == {period}
    finer = {10: 10, 7: 10, 4: 7}[period]
    if finer != period:
        assert len(values) / len({each[:finer] for each in values}) < 20


def test_columns_that_group_nothing():
    with pytest.raises(ValueError, match="'n' has 1,001 different values, more than 1,000"):
        groups_of("n", list(range(1001)), None)
    with pytest.raises(ValueError, match="has no value"):
        groups_of("n", [None, ""], None)
    with pytest.raises(ValueError, match="must be one of year, quarter, month, day, not 'week'"):
        groups_of("n", ["2021-03-05"], "week")
    with pytest.raises(ValueError, match="holds '2021-13-01', which is no date"):
        groups_of("n", ["2021-12-01", "2021-13-01"], "year")
    with pytest.raises(ValueError, match="holds months without days"):
        groups_of("n", ["2021-12"], "day")
    assert groups_of("n", ["2021-12"] * 40, None) == ["2021-12"] * 40
