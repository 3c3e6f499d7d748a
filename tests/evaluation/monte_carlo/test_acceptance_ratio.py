import numpy as np
import pytest

from evaluation.monte_carlo.acceptance_ratio import acceptance_ratio


def weights_of(rng, c, variance, n):
    """Normal log-weights forwards, and those backwards, for which log Z1 / Z0 = c."""
    spread = np.sqrt(variance)
    forwards = rng.normal(c - variance / 2, spread, n)
    return forwards, rng.normal(c + variance / 2, spread, n)


@pytest.mark.parametrize("variance", [0.01, 1.0, 4.0])
def test_normal_weights(variance):
    rng = np.random.default_rng(0)
    found = [acceptance_ratio(*weights_of(rng, -3.0, variance, 100)) for _ in range(250)]
    values, errors = np.array(found)[:, :2].T
    assert abs(values.mean() + 3.0) < 4 * values.std() / np.sqrt(len(values))
    assert np.sqrt((errors**2).mean()) == pytest.approx(values.std(), rel=0.12)


def test_swapping_directions_changes_the_sign():
    forwards, backwards = weights_of(np.random.default_rng(1), 2.0, 1.0, 9)
    found, other = acceptance_ratio(forwards, backwards), acceptance_ratio(-backwards, -forwards)
    assert found.log_ratio == pytest.approx(-other.log_ratio)
    assert found[1:] == pytest.approx(other[1:])


def test_equal_weights_have_no_error_and_one_has_an_unknown_one():
    assert acceptance_ratio(np.full(4, 1.5), np.full(4, 1.5)) == (1.5, 0.0, 4.0)
    assert np.isnan(acceptance_ratio(np.array([1.0]), np.array([1.1])).standard_error)


@pytest.mark.filterwarnings("error")
def test_far_ends_have_one_effective_sample_and_the_ratio_of_their_best_weights():
    forwards, backwards = np.linspace(-1600.0, -1500.0, 6), np.linspace(1700.0, 1800.0, 6)
    found = acceptance_ratio(forwards, backwards)
    assert found.log_ratio == pytest.approx((forwards.max() + backwards.min()) / 2)
    assert found.effective_sample_size == pytest.approx(1.0)
    assert found.standard_error > 1
