import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import psi

from models.variational.digamma import exp_digamma, exp_digamma_up_to_factor

FLOOR = 6.0 * math.exp(-700.0)


def exp_digamma_of(x, function=exp_digamma):
    out = np.full_like(x, np.nan)
    function(x, out)
    return out


def python_of(kernel):
    """The kernel before compilation; itself where compilation is off."""
    return getattr(kernel, "py_func", kernel)


def test_exp_of_scipys_digamma():
    x = np.geomspace(0.0015, 1e8, 100_001)
    assert_allclose(exp_digamma_of(x), np.exp(psi(x)), rtol=2e-12)
    x = 10 ** np.random.default_rng(0).uniform(-2.8, 15, size=50_000)
    assert_allclose(exp_digamma_of(x), np.exp(psi(x)), rtol=2e-12)
    x = np.geomspace(0.0015, 1e8, 1001)
    assert_allclose(exp_digamma_of(x, python_of(exp_digamma)), exp_digamma_of(x), rtol=2e-12)


def test_the_floor():
    x = np.array([5e-324, 1e-300, 1e-20, 1e-6, 1e-3, 0.00142])
    assert_allclose(exp_digamma_of(x), FLOOR, rtol=1e-3)
    assert (exp_digamma_of(x) >= np.finfo(float).tiny).all()
    assert (np.diff(exp_digamma_of(np.geomspace(0.0013, 0.0016, 20_001))) >= 0).all()


def test_in_place_by_entry_and_none():
    x = np.geomspace(0.002, 100, 1001)
    expected = exp_digamma_of(x)
    exp_digamma(x, x)
    assert (x == expected).all()
    x = np.geomspace(0.002, 100, 103)
    alone = np.array([exp_digamma_of(x[i : i + 1])[0] for i in range(len(x))])
    assert_allclose(alone, exp_digamma_of(x), rtol=1e-14)
    exp_digamma(np.empty(0), np.empty(0))
    exp_digamma_up_to_factor(np.empty(0), np.empty(0))


@pytest.mark.parametrize("largest", [0.0146, 0.02, 1.0, 1e6])
def test_factor_is_one_where_nothing_underflows(largest):
    x = np.array([largest, largest / 3, 1e-4])
    assert (exp_digamma_of(x, exp_digamma_up_to_factor) == exp_digamma_of(x)).all()


@pytest.mark.parametrize(("largest", "one"), [(0.0144, False), (0.0146, True), (1.0, True)])
def test_says_whether_the_factor_is_one(largest, one):
    assert exp_digamma_up_to_factor(np.array([1e-4, largest]), np.empty(2)) is one


@pytest.mark.parametrize("largest", [0.0144, 0.003, 1e-3, 1e-5, 1e-12])
def test_ratios_survive_underflow(largest):
    x = largest * np.array([1.0, 1.0, 1.0 - 1e-4, 0.999, 1 / (1 + 20 * largest)])
    out = exp_digamma_of(x, exp_digamma_up_to_factor)
    ratio = np.exp((psi(x + 1) - psi(x[0] + 1)) + (1 / x[0] - 1 / x))
    assert_allclose(out / out[0], ratio, rtol=1e-9)
    assert 0.5 < out[0] < 0.6  # exp ψ(1) = 0.561
