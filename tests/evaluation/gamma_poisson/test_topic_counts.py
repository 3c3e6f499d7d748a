import math

import numpy as np
import pytest
from scipy import stats

from evaluation.gamma_poisson.topic_counts import TOKENS_A_TOPIC, draw_scores, resample, spread
from tests.oracles.gamma_poisson_likelihood import log_negative_multinomial, partitions_of


def test_scores_and_tokens_of_the_only_possible_topic():
    rng = np.random.default_rng(0)
    shape, rate, scores = np.array([0.3, 2.5, 0.0]), np.array([0.1, 4.0, 1.0]), np.empty(3)
    drawn = np.array(
        [(draw_scores(shape, rate, scores, rng), scores.copy())[1] for _ in range(5000)]
    )
    for k in range(2):
        assert stats.kstest(drawn[:, k], stats.gamma(shape[k], scale=1 / rate[k]).cdf).pvalue > 1e-4
        # Negative control: a shape a little larger.
        wrong = stats.gamma(shape[k] * 1.15, scale=1 / rate[k])
        assert stats.kstest(drawn[:, k], wrong.cdf).pvalue < 1e-4
    assert not drawn[:, 2].any()
    for n in (3, 1000):
        counts = np.zeros(8)
        spread(
            np.array([0.0, 0, 0, 1e-300, 0, 0, 0, 0]), 1e-300, n, counts, np.random.default_rng(0)
        )
        assert counts.tolist() == [0, 0, 0, n, 0, 0, 0, 0]


P = np.array([0.2, 0.0, 0.5, 0.1, 0.15, 0.05, 0.0, 0.0]) * 3.0


@pytest.mark.parametrize("n", [1, TOKENS_A_TOPIC * 8 - 1, TOKENS_A_TOPIC * 8, 500])
def test_tokens_are_spread_multinomially(n):
    rng = np.random.default_rng(n)
    total, n_draws = P.sum(), 10_000
    drawn = np.zeros((n_draws, 8))
    for counts in drawn:
        spread(P, total, n, counts, rng)
    assert (drawn.sum(axis=1) == n).all()
    assert not drawn[:, P == 0].any()
    share = P / total
    centred = (drawn - n * share) / math.sqrt(n)
    products = np.einsum("di,dj->dij", centred, centred)
    error = products.std(axis=0) / math.sqrt(n_draws)
    expected, possible = np.diag(share) - np.outer(share, share), np.outer(P > 0, P > 0)
    z = np.abs(products.mean(axis=0) - expected)[possible] / error[possible]
    assert (z < 4.5).all()  # 15 different ones
    z = np.abs(centred.mean(axis=0))[P > 0] / (centred.std(axis=0)[P > 0] / math.sqrt(n_draws))
    assert (z < 4).all()


def test_sweeps_have_the_distribution_of_topic_counts_given_the_first_words():
    """p(X | y) of two topics and two of three words, by all partitions; the third is not seen."""
    q = np.zeros((3, 8))
    q[:, :2] = [[0.3, 0.1], [0.1, 0.4], [0.2, 0.2]]
    n, prior, rate = np.array([2, 1, 4]), np.zeros(8), np.ones(8)
    prior[:2] = [0.4, 0.9]
    rate[:2] = 1 - q[:, :2].sum(axis=0) + q[:2, :2].sum(axis=0)
    share = q[:2, :2] / rate[:2]  # eq. 8 with the first two words only
    expected = np.zeros(4)
    for first in partitions_of(2, 2):
        for second in partitions_of(1, 2):
            log_p = sum(
                log_negative_multinomial((first[k], second[k]), prior[k], share[:, k])
                for k in range(2)
            )
            expected[first[0] + second[0]] += math.exp(log_p)
    expected /= expected.sum()

    def visits(n_left):
        rng = np.random.default_rng(0)
        shape, room = prior.copy(), (np.empty(8), np.empty(8))
        found = np.zeros(8)
        for sweep in range(24_000):
            resample(q, n, n_left, prior, rate, shape, room, rng)
            if sweep % 6 == 0:
                found[round(shape[0] - prior[0])] += 1
        return found

    found = visits(2)
    assert not found[4:].any()
    assert stats.chisquare(found[:4], found.sum() * expected).pvalue > 1e-4
    # Negative control: a sweep that sees the word that is about to be predicted.
    found = visits(3)
    assert found[4:].any()
