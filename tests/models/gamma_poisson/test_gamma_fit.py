import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import psi

from models.gamma_poisson.gamma_fit import MAX_SHAPE, MIN_MEAN, fit_scores, gamma_shape


@pytest.mark.parametrize("shape", [0.05, 0.7, 1.0, 12.0, 300.0])
def test_the_fit_is_scipys(shape):
    values = np.random.default_rng(0).gamma(shape, 2.5, size=(400, 1))
    found, rate = fit_scores(values, least=0.0)
    expected, _, scale = stats.gamma.fit(values[:, 0], floc=0.0)
    assert_allclose(found, expected, rtol=1e-6)
    assert_allclose(rate, 1.0 / scale, rtol=1e-6)


def test_shapes_solve_their_equation_and_are_found_again():
    shape = np.geomspace(1e-3, 1e5, 30)
    assert_allclose(gamma_shape(np.log(shape) - psi(shape)), shape, rtol=1e-5)
    shape, rate = np.array([0.8, 2.0, 9.0]), np.array([0.01, 1.0, 0.3])
    scores = np.random.default_rng(1).gamma(shape, 1.0 / rate, size=(20_000, 3))
    found_shape, found_rate = fit_scores(scores, least=0.0)
    assert np.abs(np.log(found_shape / shape)).max() < 4 * 0.01
    assert np.abs(np.log(found_rate / rate)).max() < 4 * 0.0123


def test_degenerate_and_faint_scores():
    shape, rate = fit_scores(np.array([[0.0, 5.0, 1e-200], [0.0, 5.0, 40.0], [0.0, 5.0, 0.0]]))
    assert shape[0] == 1.0
    assert_allclose(shape[0] / rate[0], MIN_MEAN)  # next to nothing is expected of it
    assert_allclose(shape[1], MAX_SHAPE)
    assert_allclose(shape[1] / rate[1], 5.0)
    assert 0.05 < shape[2] < 1.0
    for extreme in (np.full((3, 2), 1e300), np.zeros((1, 2))):
        for values in fit_scores(extreme):
            assert np.isfinite(values).all()
            assert (values > 0).all()
    shape, rate = fit_scores(np.array([[0.09, 1e-9, 0.0, 0.11], [0.03, 3e-9, 0.0, 0.0]]), least=0.1)
    assert_allclose(shape[:3], 1.0)
    assert_allclose(shape / rate, [0.06, MIN_MEAN, MIN_MEAN, 0.105])
    assert MIN_MEAN == 1e-6
