import math

import numpy as np
import pytest

from evaluation.monte_carlo.log_mean import genealogy_variance, log_mean_of, standard_error_of_mean


def test_by_hand():
    # Ten records make three batches of three, without the first record.
    records = np.array([100.0, 1.0, 2.0, 3.0, 3.0, 3.0, 3.0, 7.0, 8.0, 9.0])
    expected = np.std([2.0, 3.0, 8.0], ddof=1) / math.sqrt(3)
    assert standard_error_of_mean(records) == pytest.approx(expected)
    both = standard_error_of_mean(np.array([records, 2 * records]))
    assert both == pytest.approx([expected, 2 * expected])
    for n in range(4):
        assert np.isnan(standard_error_of_mean(np.ones((2, n)))).all()
    assert standard_error_of_mean(np.ones(4)) == 0.0


def chains(memory, n_chains=2000, n=400):
    """AR(1) chains (n_chains, n) in equilibrium, whose records correlate `memory` with the last."""
    noise, records = np.random.default_rng(0).normal(size=(n, n_chains)), np.empty((n, n_chains))
    records[0] = noise[0] / math.sqrt(1 - memory**2)
    for i in range(1, n):
        records[i] = memory * records[i - 1] + noise[i]
    return records.T


@pytest.mark.parametrize("memory", [0.0, 0.5])
def test_the_standard_error_is_the_spread_of_the_means(memory):
    records = chains(memory)
    found = math.sqrt((standard_error_of_mean(records) ** 2).mean())
    spread = records.mean(axis=1).std()
    assert found == pytest.approx(spread, rel=0.1)  # 4 · 1/√4000, and what batches forget
    if memory:  # negative control: as if records were independent
        naive = math.sqrt((records.var(axis=1, ddof=1) / records.shape[1]).mean())
        assert naive != pytest.approx(spread, rel=0.1)


def test_the_variance_by_genealogy():
    logs = np.log([1.0, 1.0, 2.0, 4.0])
    each = np.exp(logs) / 8
    independent = genealogy_variance(logs, np.arange(4))
    assert independent == pytest.approx(log_mean_of(logs).standard_error ** 2)
    two = genealogy_variance(logs, np.array([3, 3, 0, 0]))
    assert two == pytest.approx((4 * (each[:2].sum() ** 2 + each[2:].sum() ** 2) - 1) / 3)
    assert genealogy_variance(logs, np.full(4, 2)) == 1.0
    assert genealogy_variance(np.zeros(4), np.arange(4)) == 0.0
    assert np.isnan(genealogy_variance(np.zeros(1), np.zeros(1, dtype=int)))
