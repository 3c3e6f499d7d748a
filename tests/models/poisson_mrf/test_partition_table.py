from unittest import mock

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import gammaln, logsumexp

from evaluation import log_partition
from models.poisson_mrf import partition_table as tables
from models.poisson_mrf.annealed_partition import log_weights_at
from models.poisson_mrf.distribution import FixedLengthPoissonMRF as Field
from models.poisson_mrf.partition_table import log_means, partition_table

SMALL = {"n_samples": 20, "n_temperatures": 10}


def random_field(seed, n_words=4, half_length=np.inf, scale=0.1):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.normal(0.0, scale, (n_words, n_words)), k=1)
    return Field(rng.normal(0.0, 1.0, n_words), upper + upper.T, half_length)


def exact_at(field, lengths):
    """A_L + log L! - L logsumexp θ of each length."""
    logs = [log_partition(field, int(length), "exact").log_partition for length in lengths]
    lengths = np.asarray(lengths)
    return np.array(logs) + gammaln(lengths + 1.0) - lengths * logsumexp(field.node)


@pytest.mark.parametrize("half_length", [np.inf, 5.0])
@pytest.mark.parametrize("longest", [0, 1, 2, 3, 9])
def test_none_one_and_two_tokens_are_exact(longest, half_length):
    field = random_field(0, half_length=half_length, scale=1.0)
    table = partition_table(field, longest, mean_length=5.0, **SMALL)
    assert table.shape == (longest + 1,)
    shown = np.arange(min(longest, 2) + 1)
    assert_allclose(table[shown], exact_at(field, shown), rtol=1e-12, atol=1e-14)
    if longest >= 2:
        assert abs(table[2]) > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("half_length", [np.inf, 20.0])
def test_estimates_are_enumerated_ones_in_the_mean(half_length):
    """Over 30 seeds, within 4 standard errors of weights that are the enumerated ones."""
    field = random_field(1, half_length=half_length)
    exact, lengths = exact_at(field, range(31)), np.arange(3, 31)
    settings = {"mean_length": 20.0, "n_samples": 50}

    def off(of):
        tables_ = [partition_table(of, 30, seed=seed, **settings) for seed in range(30)]
        ratio = np.exp(np.array(tables_) - exact)[:, lengths]
        return (ratio.mean(axis=0) - 1.0) / (ratio.std(axis=0, ddof=1) / np.sqrt(30))

    assert np.abs(off(field)).max() < 4.0
    assert np.abs(off(Field(field.node, field.interactions / 2, half_length))).min() > 6.0


@pytest.mark.parametrize("half_length", [np.inf, 6.0])
@pytest.mark.parametrize("scale", [0.1, -0.1])
def test_the_envelope_is_not_below_its_estimates_and_touches_one(scale, half_length):
    field = random_field(2, half_length=half_length)
    field = Field(field.node, np.sign(scale) * np.abs(field.interactions), half_length)
    table = partition_table(field, 60, "envelope", mean_length=9.5, seed=4, **SMALL)
    lengths = np.arange(61.0)
    growth = field.weight(lengths) * lengths**2
    height = table[1:] / growth[1:]
    assert_allclose(height, height[0], rtol=1e-12)
    assert np.sign(height[0]) == np.sign(scale)
    at = np.unique(np.ceil(9.5 * np.linspace(0.5, 3.0, 50)).astype(int))
    assert (at[0], at[-1]) == (5, 29)
    above = table[at] - log_means(log_weights_at(field, at.tolist(), seed=4, **SMALL))
    assert (above > -1e-12).all()
    assert_allclose(above.min(), 0.0, atol=1e-12)
    assert above.max() > 1e-3


def test_the_envelope_of_documents_of_one_token_is_that_of_two():
    field = random_field(0)
    table = partition_table(field, 3, "envelope", mean_length=0.4, **SMALL)
    estimate = log_means(log_weights_at(field, [2], **SMALL))
    assert_allclose(table[2], estimate)


def test_settings_and_the_former_name_of_smc():
    for settings, message in (
        ({"kind": "exact"}, r"partition must be one of \('smc', 'envelope'\)"),
        ({"n_samples": 0}, "n_samples = 0"),
        ({"n_temperatures": 1}, "n_temperatures = 1"),
    ):
        with pytest.raises(ValueError, match=message):
            partition_table(random_field(0), 5, mean_length=3.0, **settings)
    with pytest.deprecated_call(match='"grown" is now "smc"'):
        former = partition_table(random_field(0), 5, "grown", mean_length=3.0, n_samples=3)
    assert (former == partition_table(random_field(0), 5, mean_length=3.0, n_samples=3)).all()


@pytest.mark.parametrize("kind", tables.PARTITIONS)
def test_tables_without_interactions_and_with_a_constant_in_theta(kind):
    field = Field([0.3, -2.0, 1.0], sparse.csr_array((3, 3)), 7.0)
    assert_array_equal(partition_table(field, 9, kind, mean_length=4.0), np.zeros(10))
    field = random_field(0)
    shifted = Field(field.node + 5.0, field.interactions)
    one, two = (partition_table(f, 9, kind, mean_length=9.0, **SMALL) for f in (field, shifted))
    assert_allclose(one, two, rtol=1e-9, atol=1e-12)
    field = random_field(0)
    one, two, other = (
        partition_table(field, 25, kind, mean_length=9.0, seed=seed, n_jobs=n_jobs, **SMALL)
        for seed, n_jobs in ((1, 1), (1, 2), (2, 1))
    )
    assert_array_equal(one, two)
    assert (one[3:] != other[3:]).all()


def test_a_table_is_not_below_the_bound_of_jensen(caplog):
    phi = np.array([[0.0, 0.4], [0.4, 0.0]])
    mrf = Field(np.log([0.5, 0.5]), phi, 20.0)
    with mock.patch.object(tables, "smc_log_weights", return_value=np.zeros((4, 31))):
        table = partition_table(mrf, 30, mean_length=10.0, n_samples=4)
    lengths = np.arange(31)
    bound = mrf.weight(lengths) * lengths * (lengths - 1) * 0.2
    assert_allclose(table[3:], bound[3:])
    assert "below what it is at least" in caplog.text
    truth = log_partition(mrf, 30, "exact").log_partition + gammaln(31)
    assert bound[30] <= truth
