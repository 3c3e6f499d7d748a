import math

import numpy as np
import pytest

from evaluation.allocation.marginal_estimate import MarginalEstimate, ParticlePath


def estimate_of(repeats):
    n = len(repeats)
    path = ParticlePath(np.arange(1), np.ones((n, 1)), np.ones((n, 1), dtype=np.int64))
    return MarginalEstimate.of_repeats(np.asarray(repeats, dtype=float), "smc", 7, 100, path)


def test_means_of_probabilities_however_small():
    repeats = np.log([0.1, 0.2, 0.6])
    found = estimate_of(repeats)
    assert found.log_marginal == pytest.approx(math.log(0.3), rel=1e-14)
    assert found.log_marginal != pytest.approx(repeats.mean(), abs=0.01)
    # The delta method: standard error of the mean over the mean.
    assert found.standard_error == pytest.approx(np.std([0.1, 0.2, 0.6], ddof=1) / 3**0.5 / 0.3)
    assert (found.method, found.direction) == ("smc", "unbiased")
    assert (found.n_tokens, found.n_particles) == (7, 100)
    np.testing.assert_array_equal(found.repeats, repeats)
    found = estimate_of(np.log([0.1, 0.2, 0.6]) - 5000)
    assert found.log_marginal == pytest.approx(math.log(0.3) - 5000, rel=1e-14)
    assert found.standard_error == pytest.approx(
        estimate_of(np.log([0.1, 0.2, 0.6])).standard_error
    )


def test_equal_single_and_zero_repeats():
    found = estimate_of([-3.0, -3.0])
    assert (found.log_marginal, found.standard_error) == (-3.0, 0)
    found = estimate_of([-12.5])
    assert found.log_marginal == -12.5
    assert math.isnan(found.standard_error)
    found = estimate_of([-math.inf, math.log(0.5)])
    assert found.log_marginal == pytest.approx(math.log(0.25))
    assert found.standard_error == pytest.approx(1.0)
    found = estimate_of([-math.inf, -math.inf])
    assert found.log_marginal == -math.inf
    assert math.isnan(found.standard_error)


def test_the_error_is_what_the_spread_over_runs_is():
    """Of 2000 estimates with 50 repeats each, whose logs are normal with deviation 0.3."""
    rng = np.random.default_rng(0)
    runs = [estimate_of(rng.normal(-0.045, 0.3, size=50)) for _ in range(2000)]
    spread = np.std([run.log_marginal for run in runs], ddof=1)
    typical = np.sqrt(np.mean([run.standard_error**2 for run in runs]))
    # The relative standard error of a standard deviation of 2000 numbers is 1 / √4000 = 0.016.
    assert typical == pytest.approx(spread, rel=4 * 0.016)


def test_the_former_name_of_is_unreliable_warns():
    found = estimate_of([0.0, -9.0, -9.0])
    with pytest.deprecated_call(match="is_unsure is now is_unreliable"):
        assert found.is_unsure
    assert found.is_unreliable


def test_arrays_of_a_version_without_errors_by_genealogy():
    made = estimate_of([-3.0, -4.0])
    arrays = made.to_arrays("x/")
    assert math.isnan(arrays.pop("x/genealogy_error"))
    found = MarginalEstimate.from_arrays(arrays, "x/")
    assert (found.log_marginal, found.standard_error) == (made.log_marginal, made.standard_error)
    assert math.isnan(found.genealogy_error)
