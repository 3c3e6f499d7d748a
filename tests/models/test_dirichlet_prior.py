import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import psi

from models.dirichlet_prior import newton_step, prior_vector, symmetric_newton_step


def test_settings_and_what_they_give():
    assert (prior_vector(0.3, 4, "alpha") == 0.3).all()
    assert (prior_vector(np.float32(0.5), 2, "alpha") == 0.5).all()
    assert (prior_vector([1, 2, 3], 3, "alpha") == [1, 2, 3]).all()
    assert (prior_vector("symmetric", 5, "alpha") == 0.2).all()
    assert (prior_vector("learned", 5, "alpha") == 0.2).all()
    prior = prior_vector("asymmetric", 7, "alpha")
    assert (np.diff(prior) < 0).all()
    assert prior.sum() == pytest.approx(1.0)
    assert_allclose(prior[0] / prior[3], (3 + np.sqrt(7)) / np.sqrt(7))
    setting = np.ones(3)
    prior_vector(setting, 3, "alpha")[0] = 9.0
    assert setting[0] == 1.0


def test_bad_setting_is_named():
    for setting in (
        *["auto", "0.1", None, {}, object()],
        *[0.0, -1.0, np.nan, np.inf],
        *[
            [0.1],
            [0.1, 0.1, 0.0],
            [[1.0]],
            [0.1, 0.1, np.nan],
            [0.1, "x", 0.1],
            [[0.1], [0.1, 0.2]],
        ],
    ):
        with pytest.raises(ValueError, match="alpha"):
            prior_vector(setting, 3, "alpha")


@pytest.mark.parametrize("seed", range(5))
def test_newton_finds_the_dirichlet_that_the_means_came_from(seed):
    rng = np.random.default_rng(seed)
    truth = rng.gamma(1.0, 1.0, size=6) + 0.02
    mean_log, alpha = psi(truth) - psi(truth.sum()), truth * rng.uniform(0.7, 1.1, size=6)
    for _ in range(30):
        alpha = alpha + newton_step(alpha, mean_log, 17)
    assert_allclose(alpha, truth, rtol=1e-9)


@pytest.mark.parametrize("truth", [0.003, 0.05, 1.0, 20.0])
def test_symmetric_newton_finds_the_number_that_the_means_came_from(truth):
    mean_log, eta = psi(truth) - psi(40 * truth), 0.8 * truth
    for _ in range(30):
        eta += symmetric_newton_step(eta, mean_log, 40)
    assert eta == pytest.approx(truth, rel=1e-9)


def test_symmetric_steps_and_one_entry():
    mean_log = psi(0.3) - psi(1.5)
    full = newton_step(np.full(5, 0.2), np.full(5, mean_log), 3)
    assert_allclose(full, symmetric_newton_step(0.2, mean_log, 5))
    assert newton_step(np.array([0.4]), np.array([0.0]), 10) == 0.0
    assert symmetric_newton_step(0.4, 0.0, 1) == 0.0
