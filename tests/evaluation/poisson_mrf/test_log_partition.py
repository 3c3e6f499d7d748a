import importlib
import logging
import math
from unittest.mock import Mock

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import binom

from evaluation.poisson_mrf.exact_partition import PartitionCostError
from evaluation.poisson_mrf.log_partition import PARTITION_METHODS, PartitionEstimate, log_partition
from models.poisson_mrf.distribution import FixedLengthPoissonMRF
from tests.oracles import poisson_mrf as oracle

# Not the function of that name.
module = importlib.import_module("evaluation.poisson_mrf.log_partition")
PHI = np.array([[0, 0.3, -0.2], [0.3, 0, 0], [-0.2, 0, 0]])
MIXED = FixedLengthPoissonMRF([2.0, 1.0, 0.5], PHI, half_length=9.0)


def multinomial(mrf, length):
    return length * logsumexp(mrf.node) - gammaln(length + 1)


def test_against_the_oracle():
    found = log_partition(MIXED, 7, "exact")
    expected = oracle.log_partition(MIXED.node, PHI, 7, 9.0)
    assert found.log_partition == pytest.approx(expected, rel=1e-12)
    assert (found.method, found.direction, found.length) == ("exact", "exact", 7)
    assert (found.standard_error, found.n_samples) == (0, 0)
    assert math.isnan(found.effective_sample_size)
    counts = list(oracle.bags(3, 8))
    log_p = MIXED.log_weight(counts) - log_partition(MIXED, 8, "exact").log_partition
    assert np.exp(log_p).sum() == pytest.approx(1, rel=1e-12)
    exact = log_partition(MIXED, 12, "exact").log_partition
    found = log_partition(MIXED, 12, "upper-bound")
    assert found.log_partition > exact
    assert (found.direction, found.standard_error, found.n_samples) == ("upper bound", 0, 0)


@pytest.mark.parametrize("method", PARTITION_METHODS)
def test_constants_and_few_tokens(method):
    for length, expected in ((0, 0.0), (1, logsumexp(MIXED.node))):
        found = log_partition(MIXED, length, method)
        assert found.log_partition == pytest.approx(expected, rel=1e-15)
        assert (found.standard_error, found.direction) == (0, "exact")
        assert (found.method, found.length) == (method, length)
    shifted = FixedLengthPoissonMRF(MIXED.node + 50.0, PHI, 9.0)
    settings = {"n_samples": 20, "n_temperatures": 5, "random_state": 0}
    one = log_partition(MIXED, 6, method, **settings)
    other = log_partition(shifted, 6, method, **settings)
    assert other.log_partition - one.log_partition == pytest.approx(300, rel=1e-12)
    for length in (-1, -(10**6)):
        with pytest.raises(ValueError, match="length must be at least 0"):
            log_partition(MIXED, length, method)
    for length in (2.5, 3.0, math.nan, "3", None, True, [3]):
        with pytest.raises(TypeError, match="length must be a whole number"):
            log_partition(MIXED, length, method)
    assert log_partition(MIXED, np.int32(3), method, random_state=0).length == 3


@pytest.mark.parametrize("method", PARTITION_METHODS)
@pytest.mark.parametrize("length", [2, 9, 400])
def test_without_interactions_every_method_has_the_multinomial(method, length):
    mrf = FixedLengthPoissonMRF(3 + np.random.default_rng(0).normal(size=20), np.zeros((20, 20)))
    found = log_partition(mrf, length, method, random_state=0)
    assert found.log_partition == pytest.approx(multinomial(mrf, length), rel=1e-12)
    assert found.standard_error == 0


def test_the_mean_is_of_weights_and_its_error_by_the_delta_method(monkeypatch):
    weights = np.array([0.5, 1.0, 3.0, 0.1])
    monkeypatch.setattr(module, "log_weights_at", Mock(return_value=[2000 + np.log(weights)]))
    found = log_partition(MIXED, 5, n_samples=4)
    expected = 2000 + math.log(weights.mean()) + multinomial(MIXED, 5)
    assert found.log_partition == pytest.approx(expected, rel=1e-14)
    error = weights.std(ddof=1) / 2 / weights.mean()
    assert found.standard_error == pytest.approx(error, rel=1e-12)
    size = weights.sum() ** 2 / (weights**2).sum()
    assert found.effective_sample_size == pytest.approx(size, rel=1e-12)


WITHIN = {
    "positive": (FixedLengthPoissonMRF([0.0, 0.4, -1.0], 0.08 * (1 - np.eye(3))), 8),
    "negative": (FixedLengthPoissonMRF([0.0, 0.4, -1.0], -0.3 * (1 - np.eye(3))), 8),
    "mixed": (MIXED, 9),
    "two words": (FixedLengthPoissonMRF([0.3, 0.0], [[0, 0.03], [0.03, 0]]), 50),
    "two words apart": (FixedLengthPoissonMRF([0.0, 0.0], [[0, -1], [-1, 0]], 5.0), 50),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WITHIN)
def test_the_truth_is_within_the_error_that_is_reported(name):
    """Within 2.58 standard errors in 98.7 of 100 runs, by Student's law of 100 weights.
    More than `allowed` are outside with a chance of 1e-5, had 2% to be: a mean's log is skewed.
    """
    mrf, length = WITHIN[name]
    truth = log_partition(mrf, length, "exact").log_partition
    settings = {"n_samples": 100, "n_temperatures": 30}
    runs = [log_partition(mrf, length, random_state=seed, **settings) for seed in range(200)]
    found = np.array([run.log_partition for run in runs])
    error, allowed = np.array([run.standard_error for run in runs]), binom.isf(1e-5, 200, 0.02)
    assert (abs(found - truth) > 2.58 * error).sum() <= allowed
    wrong = truth + 3 * error.mean()  # the test would see a bias of three standard errors
    assert (abs(found - wrong) > 2.58 * error).sum() > allowed
    # The spread over runs is the error: its relative standard error is 1 / √400, more if skewed.
    assert found.std(ddof=1) == pytest.approx(np.sqrt((error**2).mean()), rel=4 * 0.05 * 1.5)


def test_seeds_threads_and_one_sample():
    settings = {"n_samples": 130, "n_temperatures": 5}
    one = log_partition(MIXED, 9, random_state=3, n_jobs=1, **settings)
    assert one == log_partition(MIXED, 9, random_state=3, n_jobs=2, **settings)
    assert one != log_partition(MIXED, 9, random_state=4, **settings)
    rngs = (np.random.default_rng(5) for _ in range(2))
    first, second = (log_partition(MIXED, 9, random_state=rng, **settings) for rng in rngs)
    assert first == second
    found = log_partition(MIXED, 9, n_samples=1, random_state=0)
    assert math.isnan(found.standard_error)
    assert found.effective_sample_size == 1
    assert not found.has_low_ess
    assert not PartitionEstimate(1.0, 0.0, "exact", "exact", 3).has_low_ess
    found = log_partition(MIXED, 9, n_samples=70, n_temperatures=20, random_state=1)
    assert (found.method, found.direction, found.length) == ("ais", "unbiased", 9)
    assert found.n_samples == 70
    assert 35 < found.effective_sample_size <= 70
    assert 0 < found.standard_error < 0.2
    assert not found.has_low_ess


def test_few_effective_samples_are_warned_of(caplog):
    with caplog.at_level(logging.WARNING):
        log_partition(MIXED, 9, n_samples=50, random_state=0)
        log_partition(MIXED, 9, n_samples=1, random_state=0)
    assert not caplog.records
    strong = FixedLengthPoissonMRF([4.0, 0.0, 0.0], [[0, 0, 0], [0, 0, 1], [0, 1, 0]])
    with caplog.at_level(logging.WARNING):
        found = log_partition(strong, 40, n_samples=50, n_temperatures=2, random_state=0)
    assert found.has_low_ess
    assert "the weights of 50 samples of 40 tokens are worth" in caplog.text
    assert found.log_partition < log_partition(strong, 40, "exact").log_partition - 1


def test_what_is_refused():
    upper = np.triu(np.random.default_rng(0).normal(size=(50, 50)), 1)
    mrf = FixedLengthPoissonMRF(np.zeros(50), upper + upper.T)
    with pytest.raises(PartitionCostError, match="use method"):
        log_partition(mrf, 30, "exact")
    with pytest.raises(ValueError, match="max_states is 20"):
        log_partition(MIXED, 30, "exact", max_states=20)
    for half_length in ("a", None, True, [3.0], 1j):
        with pytest.raises(TypeError, match="half_length must be a number, found "):
            FixedLengthPoissonMRF(MIXED.node, PHI, half_length)
    for half_length in (9, np.int64(9), np.float32(9)):
        assert FixedLengthPoissonMRF(MIXED.node, PHI, half_length).weight(9) == 0.5
    with pytest.raises(ValueError, match=r"method must be one of .*found 'AIS'"):
        log_partition(MIXED, 3, "AIS")
    for mrf in (PHI, None, "field"):
        with pytest.raises(TypeError, match="mrf must be a FixedLengthPoissonMRF"):
            log_partition(mrf, 3)
    for name, least in (("n_samples", 1), ("n_temperatures", 2), ("max_states", 1)):
        with pytest.raises(ValueError, match=f"{name} must be at least {least}"):
            log_partition(MIXED, 3, **{name: least - 1})
        with pytest.raises(TypeError, match=f"{name} must be a whole number"):
            log_partition(MIXED, 3, **{name: 10.0})
    with pytest.raises(ValueError, match="seed must be"):
        log_partition(MIXED, 3, random_state=-1)
    with pytest.raises(ValueError, match="n_jobs = 0"):
        log_partition(MIXED, 3, n_jobs=0)
