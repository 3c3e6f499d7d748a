import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evaluation.gamma_poisson.word_conditional import (
    FEW,
    add_topic_counts,
    log_coefficient,
    log_proposal_mean,
)
from tests.oracles.gamma_poisson_likelihood import (
    conditional_by_partitions,
    log_negative_binomial,
    partitions_of,
)


def padded(values, fill=0.0):
    return np.pad(np.asarray(values, dtype=float), (0, 8 - len(values)), constant_values=fill)


def coefficient_of(n, shape, success):
    """log c_n, with success as it is."""
    return log_coefficient(n, shape, success, np.empty(8), np.empty(n + 1), np.empty(n + 1))


def log_conditional(n, shape, success):
    """log p(y | x_<w) as the kernels are used: by shares of the largest success."""
    shape, success = padded(shape), padded(success)
    largest, kept = success.max(), shape @ np.log1p(-success)
    return coefficient_of(n, shape, success / largest) + n * math.log(largest) + kept


@settings(max_examples=25)
@given(
    st.integers(0, 5),
    st.lists(
        st.tuples(st.floats(0.01, 30), st.floats(0, 0.99).filter(lambda x: x == 0 or x > 1e-6)),
        min_size=1,
        max_size=4,
    ).filter(lambda topics: any(success for _, success in topics)),
)
def test_the_conditional_is_the_sum_over_partitions(n, topics):
    shape, success = zip(*topics, strict=True)
    expected = conditional_by_partitions(n, shape, success)
    assert log_conditional(n, shape, success) == pytest.approx(
        math.log(expected), rel=1e-10, abs=1e-11
    )


@pytest.mark.parametrize("success", [1e-12, 0.3, 1 - 1e-12])
@pytest.mark.parametrize("shape", [(1e-3, 2e-3), (1.0, 2.5), (300.0, 800.0)])
@pytest.mark.parametrize("n", [1, 50, 900])
def test_large_counts_and_extreme_probabilities(n, shape, success):
    """Topics of the same success make one negative binomial number."""
    expected = log_negative_binomial(n, sum(shape), success)
    assert log_conditional(n, shape, [success] * 2) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_topic_counts_are_drawn_given_the_count(n):
    """All partitions, by a chi-squared test; drawing tokens by expected scores does not pass it."""
    shape, success = padded([0.3, 1.5, 0.8]), padded([0.9, 0.3, 0.0])
    sums, coefficients = np.empty(n + 1), np.empty(n + 1)
    log_coefficient(n, shape, success, np.empty(8), sums, coefficients)
    rng, found = np.random.default_rng(n), {}
    for _ in range(10_000):
        counts, room = shape.copy(), (np.empty(8), np.empty(8))
        add_topic_counts(n, counts, success, sums, coefficients, room, rng)
        x = tuple(np.rint(counts - shape).astype(int)[:2])
        found[x] = found.get(x, 0) + 1
    p = np.array(
        [math.exp(sum(map(log_negative_binomial, x, shape, success))) for x in partitions_of(n, 2)]
    )
    observed = [found.pop(x, 0) for x in partitions_of(n, 2)]
    assert not found
    assert stats.chisquare(observed, 10_000 * p / p.sum()).pvalue > 1e-4
    if n > 1:  # negative control: tokens are not independent of each other
        share = shape[0] * 0.9 / (shape[0] * 0.9 + shape[1] * 0.3)
        alone = stats.binom.pmf([x[0] for x in partitions_of(n, 2)], n, share)
        assert stats.chisquare(observed, 10_000 * alone).pvalue < 1e-4


def test_tokens_of_hundreds_and_their_weight():
    n, shape, success = 800, padded([600.0, 900.0]), padded([1.0, 1.0])
    sums, coefficients = np.empty(n + 1), np.empty(n + 1)
    log_coefficient(n, shape, success, np.empty(8), sums, coefficients)
    rng, drawn = np.random.default_rng(0), []
    for _ in range(300):
        counts = shape.copy()
        add_topic_counts(n, counts, success, sums, coefficients, (np.empty(8), np.empty(8)), rng)
        assert counts.sum() == pytest.approx(1500 + n)
        drawn.append(counts[0] - 600)
    law = stats.betabinom(n, 600, 900)  # of two topics with the same success
    assert abs(np.mean(drawn) - law.mean()) < 4 * law.std() / math.sqrt(300)
    assert np.std(drawn) == pytest.approx(law.std(), rel=4 / math.sqrt(600))
    for n in (1, FEW, FEW + 1, 700):
        for a, rho in ((1e-40, 0.5), (0.7, 1e-10), (2.0, 1 - 1e-10)):
            shape, success, kept = padded([a]), padded([1.0]), padded([1 - rho], fill=1.0)
            room, rng = (np.empty(8), np.empty(8)), np.random.default_rng(0)
            found = log_proposal_mean(n, shape, success, kept, 1, room, rng)
            assert found == pytest.approx(coefficient_of(n, shape, success), rel=1e-7)
    alone = log_negative_binomial(400, 0.7, 0.2)
    assert log_conditional(400, [0.7, 5.0], [0.2, 1e-200]) == pytest.approx(alone, rel=1e-11)


@pytest.mark.parametrize("n_proposals", [1, 3])
@pytest.mark.parametrize("n", [1, 2, 6, FEW + 10])
def test_proposals_are_unbiased(n, n_proposals):
    # With hardly any tokens before it, a word of many is not what proposals can be tested by.
    shape, rho = padded([0.3, 2.5, 0.9]) * max(1, n - 5), padded([0.5, 0.2, 0.0]) / n
    success, kept = rho / rho.max(), 1 - rho
    rng, room = np.random.default_rng(n), (np.empty(8), np.empty(8))
    log_weights = np.array(
        [log_proposal_mean(n, shape, success, kept, n_proposals, room, rng) for _ in range(10_000)]
    )
    ratios = np.exp(log_weights - coefficient_of(n, shape, success))

    def z(ratios):
        return abs(ratios.mean() - 1) / (ratios.std() / math.sqrt(len(ratios)))

    assert z(ratios) < 4
    # Negative control: the mean of logarithms instead.
    assert z(1 + np.log(ratios)) > 4
