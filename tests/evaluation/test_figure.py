"""Figures with errors by the delete-a-group jackknife."""

import math

import numpy as np
import pytest
from scipy import stats

from evaluation.figure import (
    MIN_TOPICS,
    Figure,
    bounded,
    figure_of,
    groups_of,
    holm,
    jackknife,
    mean_figure,
    mean_over_seeds,
    of_topics,
)


def test_the_error_of_a_mean_without_each_value_is_that_of_the_mean():
    values = np.random.default_rng(0).normal(size=30)
    figure = figure_of(lambda kept: float(values[kept].mean()), np.arange(30))
    assert figure.value == pytest.approx(values.mean())
    assert figure.error == pytest.approx(values.std(ddof=1) / math.sqrt(30))
    assert figure.degrees == 29


def test_replicates_leave_out_one_group_each():
    values = np.random.default_rng(1).normal(size=12)
    group_of = np.array([0, 1, 2] * 4)
    figure = figure_of(lambda kept: float(np.median(values[kept])), group_of)
    by_hand = [
        np.median([v for v, g in zip(values, group_of, strict=True) if g != b]) for b in (0, 1, 2)
    ]
    assert figure.replicates == pytest.approx(by_hand)
    middle = sum(by_hand) / 3
    assert figure.error == pytest.approx(math.sqrt(2 / 3 * sum((b - middle) ** 2 for b in by_hand)))


def test_the_difference_of_figures_of_the_same_documents_is_paired():
    rng = np.random.default_rng(2)
    common, own = rng.normal(size=200), 0.01 * rng.normal(size=(2, 200))
    first, second = (
        figure_of(lambda kept, v=common + each: float(v[kept].mean()), np.arange(200))
        for each in own
    )
    gain = own[0] - own[1]
    difference = first.minus(second)
    assert difference.value == pytest.approx(gain.mean())
    assert difference.standard_error == pytest.approx(gain.std(ddof=1) / math.sqrt(200))
    assert difference.standard_error < first.error / 20


def test_the_difference_of_figures_over_topics_is_not_paired():
    first, second = mean_figure(np.array([1.0, 2.0, 4.0])), mean_figure(np.array([1.0, 2.0, 4.0]))
    difference = first.minus(second)
    assert difference.standard_error == pytest.approx(math.hypot(first.error, second.error))
    assert difference.p_value == 1.0


def test_a_difference_that_is_not_paired_has_no_error_if_a_figure_has_none():
    sure = jackknife(1.0, np.ones(9), "topics")  # as diversity, if no word is in two topics
    other = jackknife(0.5, np.linspace(0.49, 0.51, 9), "topics")
    for difference in (sure.minus(other), other.minus(sure)):
        assert abs(difference.value) == 0.5
        assert math.isnan(difference.standard_error)
        assert math.isnan(difference.p_value)


def test_the_mean_over_seeds_has_the_variance_of_seeds_and_keeps_that_of_documents():
    values = np.random.default_rng(3).normal(size=(3, 40)) + np.array([[0.0], [1.0], [5.0]])
    figures = [
        figure_of(lambda kept, v=each: float(v[kept].mean()), np.arange(40)) for each in values
    ]
    mean = mean_over_seeds(figures)
    assert mean.value == pytest.approx(values.mean())
    of_documents = values.mean(axis=0).std(ddof=1) / math.sqrt(40)
    of_seeds = values.mean(axis=1).std(ddof=1) / math.sqrt(3)
    assert mean.error == pytest.approx(of_documents)
    assert mean.standard_error == pytest.approx(math.hypot(of_documents, of_seeds))
    low, high = mean.interval()
    degrees = mean.standard_error**4 / (of_documents**4 / 39 + of_seeds**4 / 2)  # Welch
    half = float(stats.t.ppf(0.975, degrees)) * mean.standard_error
    assert (low, high) == pytest.approx((mean.value - half, mean.value + half))
    assert 2 < degrees < 3  # most of the error is of three seeds


def test_the_mean_of_shares_is_a_share_with_the_trials_of_its_error():
    rng = np.random.default_rng(5)
    shares = [
        bounded(figure_of(lambda kept, x=x: float(x[kept].mean()), np.arange(100) % 20))
        for x in rng.random((3, 100)) < 0.97
    ]
    assert shares[0].trials == pytest.approx(
        shares[0].value * (1 - shares[0].value) / shares[0].error ** 2
    )
    mean = mean_over_seeds(shares)
    assert mean.trials == pytest.approx(
        mean.value * (1 - mean.value) / (mean.error**2 + mean.seed_error**2)
    )
    low, high = mean.interval()
    assert 0 < low < mean.value < high < 1


def test_more_seeds_do_not_reduce_the_error_over_topics():
    figures = [mean_figure(np.array([1.0, 2.0, 3.0]))] * 4
    assert mean_over_seeds(figures).error == pytest.approx(figures[0].error)


def test_a_figure_that_is_not_known_says_why_in_a_mean_too():
    mean = mean_over_seeds([Figure(1.0), Figure.none("no weights")])
    assert (mean.is_known, mean.why) == (False, "no weights")


def test_a_figure_that_no_group_changes_has_no_error_but_the_reason():
    always, half = (jackknife(each, np.full(10, each)) for each in (1.0, 0.5))
    assert math.isnan(always.standard_error)
    assert all(map(math.isnan, always.interval()))
    assert always.reason == "it is the same without any of the documents, which is no certainty"
    values = np.arange(10.0)
    varying = figure_of(lambda kept: float(values[kept].mean()), np.arange(10))
    assert varying.reason == ""
    # With the variance of seeds there is one.
    assert mean_over_seeds([always, half]).reason == ""


def test_one_group_has_no_error():
    figure = jackknife(1.0, np.array([1.0]))
    assert math.isnan(figure.standard_error)
    assert math.isnan(figure.minus(figure).p_value)


def test_groups_are_balanced_and_hold_articles_together():
    articles = [f"a{d // 3}" for d in range(300)]
    group_of = groups_of(articles, 7)
    assert all(
        len({group_of[3 * a], group_of[3 * a + 1], group_of[3 * a + 2]}) == 1 for a in range(100)
    )
    sizes = np.bincount(group_of) // 3
    assert sizes.max() - sizes.min() <= 1
    assert np.array_equal(group_of, groups_of(articles, 7))
    assert set(groups_of(["x", "y"], 50).tolist()) == {0, 1}
    assert len(groups_of([])) == 0
    with pytest.raises(ValueError, match="n_groups"):
        groups_of(articles, 1)


def test_holms_method_stops_at_the_first_that_is_not_rejected():
    assert holm([0.01, 0.04, 0.02], 0.05) == [True, True, True]
    assert holm([0.001, 0.04, 0.03], 0.05) == [True, False, False]
    assert holm([None, 0.001, np.nan], 0.05) == [False, True, False]


def test_figures_of_few_topics_have_no_error():
    figure = Figure(0.5, 0.1, 8, "topics")
    assert of_topics(figure, MIN_TOPICS) is figure
    found = of_topics(figure, MIN_TOPICS - 1)
    assert found.value == 0.5
    assert np.isnan(found.standard_error)
    assert "topics are too few: 9, it needs 10" in found.reason
    assert of_topics(Figure.none("no weights"), 2).why == "no weights"
