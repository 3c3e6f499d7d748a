import math

import pytest
from scipy import stats

from evaluation.topics.reading import intervals
from evaluation.topics.reading.crossed_mean import CrossedMean
from tests.oracles import reading as oracle


def mean_of(mean, variance, n=100.0, degrees=20.0, spread=None):
    spread = mean * (1 - mean) if spread is None else spread
    return CrossedMean(mean, variance, degrees, n, spread, 0.0)


@pytest.mark.parametrize(("n_right", "n"), [(0, 5), (1, 3), (4, 5), (5, 5), (17, 20)])
def test_share_of_a_topic_has_wilsons_interval(n_right, n):
    found = intervals.share_of_topic(n_right, n)
    assert found.value == n_right / n
    assert (found.low, found.high) == pytest.approx(
        oracle.wilson(n_right, n, intervals.Z), abs=1e-9
    )
    published = stats.binomtest(n_right, n).proportion_ci(0.95, "wilson")
    assert (found.low, found.high) == pytest.approx((published.low, published.high), abs=1e-9)


def test_few_answers_have_no_interval():
    found = intervals.share_of_topic(1, 2)
    assert math.isnan(found.low)
    assert found.caution == "fewer than 3 answers"
    assert intervals.too_few(1, 50, "topic") == "one reader, needs 5"
    assert intervals.too_few(5, 9, "topic") == "9 topics, needs 10"
    assert intervals.too_few(5, 10, "topic") == ""
    found = intervals.mean_of_model(mean_of(0.7, math.nan), "")
    assert found.caution == intervals.NO_OVERLAP
    assert math.isnan(found.high)


def test_model_has_the_interval_of_as_many_independent_answers():
    # 0.7 · 0.3 / 0.01 = 21 answers.
    found = intervals.mean_of_model(mean_of(0.7, 0.01), "")
    quantile = stats.t.ppf(0.975, 20)
    assert (found.low, found.high) == pytest.approx(oracle.wilson(14.7, 21, quantile), abs=1e-9)


@pytest.mark.parametrize("variance", [-0.1, 0.0, 1e-9])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_answers_are_never_more_than_independent(share, variance):
    found = intervals.mean_of_model(mean_of(share, variance), "")
    least = oracle.wilson(100 * share, 100, stats.t.ppf(0.975, 20))
    assert found.low <= least[0] + 1e-9
    assert found.high >= least[1] - 1e-9
    assert 0 <= found.low < found.high <= 1


def test_interval_keeps_to_the_range_of_the_answers():
    found = intervals.mean_of_model(mean_of(2.9, 0.2, spread=0.2), "", 1.0, 3.0)
    assert 1 <= found.low < 2.9 < found.high <= 3
    shifted = intervals.mean_of_model(mean_of(-0.1, 0.2, spread=0.2), "", -2.0, 0.0)
    assert (shifted.low + 3, shifted.high + 3) == pytest.approx((found.low, found.high))


def test_difference_of_independent_and_of_correlated_models():
    first, second = intervals.Estimate(0.8, 0.7, 0.85), intervals.Estimate(0.5, 0.4, 0.62)
    found = intervals.difference(first, second, 0.0)
    assert found.value == pytest.approx(0.3)
    assert found.low == pytest.approx(0.3 - math.hypot(0.1, 0.12))
    assert found.high == pytest.approx(0.3 + math.hypot(0.05, 0.1))
    close = intervals.difference(first, second, 0.9)
    assert found.low < close.low < close.high < found.high
    alone = intervals.Estimate(0.5, caution="one reader, needs 5")
    assert intervals.difference(first, alone, 0.0).caution == "one reader, needs 5"
