from __future__ import annotations

import numpy as np
import pytest

from models.allocation.particles.resampling import SCHEMES, draw_children

N_DRAWS = 4000


@pytest.mark.parametrize("scheme", SCHEMES)
def test_expected_children_are_in_proportion_to_weights(scheme):
    rng = np.random.default_rng(0)
    weights = np.array([0.3, 0.0, 2.9, 1.1, 0.7])
    children, rest = np.zeros(5, dtype=np.int32), np.zeros(5)
    draws = []
    for _ in range(N_DRAWS):
        draw_children(weights, SCHEMES[scheme], rng, children, rest)
        assert children.sum() == 5
        draws.append(children.copy())
    expected = 5 * weights / weights.sum()
    error = np.std(draws, axis=0, ddof=1) / np.sqrt(N_DRAWS)
    assert (abs(np.mean(draws, axis=0) - expected) <= 4.5 * error + 1e-12).all()
    if scheme in {"systematic", "residual"}:
        assert (np.array(draws) >= np.floor(expected)).all()
