"""Accelerated inference in float32 says when it does not suffice."""

import numpy as np
from scipy.special import psi

from models.variational.accelerated import infer_accelerated
from models.variational.halved_weights import halved_weights


def inferred(alpha):
    weights = halved_weights(np.full((2, 3), 0.5))
    gamma = np.empty(3)
    counts, words = np.array([1.0, 2.0]), np.array([0, 1])
    faint = np.exp(psi(alpha))
    return infer_accelerated(words, counts, weights, alpha, faint, 20, 1e-3, gamma), gamma


def test_gamma_that_is_not_finite_is_no_result():
    iterations, gamma = inferred(np.full(3, 1.0))
    assert iterations > 0
    assert np.isfinite(gamma).all()
    assert inferred(np.array([1.0, 1.7e308, 1.7e308]))[0] == 0
