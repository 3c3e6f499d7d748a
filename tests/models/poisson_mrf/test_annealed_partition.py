import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln, logsumexp
from scipy.stats import ks_2samp, norm

from evaluation.poisson_mrf.exact_partition import exact_log_partition
from models.poisson_mrf.annealed_partition import log_weights_at
from models.poisson_mrf.distribution import FixedLengthPoissonMRF as Field
from tests.oracles import poisson_mrf as oracle

LIMIT = norm.isf(0.5e-4)  # Of |t|, 3.89: each test fails by chance once in 10,000 seeds


def annealed_log_weights(mrf, length, **settings):
    return log_weights_at(mrf, [length], **settings)[0]


def log_ratio(mrf, length):
    """What the mean weight is in truth: log Z_1 / Z_0."""
    multinomial = length * logsumexp(mrf.node) - gammaln(length + 1)
    return exact_log_partition(mrf, length) - multinomial


def t_of(log_weights, expected):
    """How many standard errors the mean of independent weights is from exp(expected)."""
    share = np.exp(np.asarray(log_weights) - expected)
    return (share.mean() - 1) / (share.std(ddof=1) / math.sqrt(share.size))


def pairs(n_words, value):
    return value * (1 - np.eye(n_words))


CASES = {
    "positive": (Field([0.0, 0.5, -1.0], pairs(3, 0.1)), 8),
    "negative": (Field([0.0, 0.5, -1.0], pairs(3, -0.5)), 8),
    "mixed": (Field([1, 0, 0], [[0, 0.2, -0.4], [0.2, 0, 0.1], [-0.4, 0.1, 0]]), 9),
    "weighted": (Field([5, 4.0, 4.5, 2], pairs(4, 0.3), half_length=4.0), 10),
    "not normalised": (Field([700.0, 699, 701], pairs(3, 0.1)), 7),
    "two words": (Field([0.0, 0.7], [[0, 0.03], [0.03, 0]]), 50),
    "two words apart": (Field([0.0, 0.7], [[0, -0.03], [-0.03, 0]]), 50),
    "words alone": (Field([0, 1.0, 0, 2], np.kron(np.eye(2), pairs(2, 0.2))), 12),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("n_temperatures", [3, pytest.param(12, marks=pytest.mark.slow)])
def test_the_mean_weight_is_the_ratio_of_partition_functions(name, n_temperatures):
    """Of 200 runs of 50 chains each, as t-test over the means of runs."""
    mrf, length = CASES[name]
    expected, settings = log_ratio(mrf, length), {"n_samples": 50, "n_temperatures": n_temperatures}
    runs = (annealed_log_weights(mrf, length, seed=seed, **settings) for seed in range(200))
    means = [logsumexp(run) - math.log(50) for run in runs]
    assert abs(t_of(means, expected)) < LIMIT
    # It could fail: the standard error is small beside what there is to be found.
    assert abs(t_of(means, 0.0)) > 3 * LIMIT


def test_two_temperatures_are_importance_sampling_from_the_multinomial():
    mrf, length = CASES["mixed"]
    found = annealed_log_weights(mrf, length, n_samples=20_000, n_temperatures=2, seed=0)
    assert abs(t_of(found, log_ratio(mrf, length))) < LIMIT
    counts = np.array(list(oracle.bags(3, length)))
    values = np.einsum("is,st,it->i", counts, mrf.interactions.toarray(), counts)
    apart = np.abs(found[:, None] - values).min(axis=1)
    assert apart.max() < 1e-12  # each is x·Φx of some x


def test_chains_have_the_law_of_plain_ones():
    """Mean and spread of log-weights, which depend on the sweeps, against the oracle's chains."""
    mrf, length = CASES["mixed"]
    temperatures, rng = np.linspace(0, 1, 4), np.random.default_rng(0)
    field = (mrf.node.tolist(), mrf.interactions.toarray().tolist())
    chains = (oracle.annealed_log_weight(*field, length, temperatures, rng) for _ in range(1000))
    plain = np.array(list(chains))
    found = annealed_log_weights(mrf, length, n_samples=20_000, n_temperatures=4, seed=1)
    for moment in (lambda w: w, lambda w: (w - plain.mean()) ** 2, np.exp):
        one, other = moment(plain), moment(found)
        error = math.hypot(one.std() / math.sqrt(one.size), other.std() / math.sqrt(other.size))
        assert abs(one.mean() - other.mean()) < LIMIT * error


@pytest.mark.parametrize("skip_first", [False, True])
def test_the_step_from_zero_must_not_be_left_out(skip_first):
    mrf, length = CASES["positive"]
    rng, temperatures = np.random.default_rng(1), np.linspace(0, 1, 5)
    of_field = (mrf.node.tolist(), mrf.interactions.toarray().tolist(), length, temperatures, rng)
    found = [oracle.annealed_log_weight(*of_field, skip_first=skip_first) for _ in range(1000)]
    distance = abs(t_of(found, log_ratio(mrf, length)))
    assert distance > 5 * LIMIT if skip_first else distance < LIMIT


def test_more_temperatures_make_weights_more_alike():
    mrf, length = CASES["two words"]
    settings = [{"n_temperatures": n, "n_samples": 500, "seed": 0} for n in (2, 10, 100)]
    few, some, many = (annealed_log_weights(mrf, length, **each).std() for each in settings)
    assert few > 2 * some > 4 * many > 0


STRONG = np.array([[0, 4, -5, 1], [4, 0, 3, -6], [-5, 3, 0, 2], [1, -6, 2, 0.0]])


SLOW = [pytest.param(scale, marks=pytest.mark.slow) for scale in (0.02, 0.2, -1)]


@pytest.mark.parametrize("scale", [1.0, *SLOW])
@pytest.mark.parametrize("n_temperatures", [4, pytest.param(30, marks=pytest.mark.slow)])
def test_strong_interactions(scale, n_temperatures):
    """Weights of words change by factors up to exp 360 within a sweep, and back.
    The mean weight is that of chains too rare to be met: log-weights have the law of plain ones.
    """
    node, phi = [0.0, 0.3, -2.0, 0.1], scale * STRONG
    rng, temperatures = np.random.default_rng(0), np.linspace(0, 1, n_temperatures)
    of_field = (node, phi.tolist(), 30, temperatures, rng)
    plain = [oracle.annealed_log_weight(*of_field) for _ in range(400)]
    mrf, settings = Field(node, phi), {"n_temperatures": n_temperatures, "seed": 2}
    found = annealed_log_weights(mrf, 30, n_samples=4000, **settings)
    other = annealed_log_weights(Field(node, 0.9 * phi), 30, n_samples=4000, **settings)
    plain, found, other = (np.round(w, 8) for w in (plain, found, other))  # ties, but for rounding
    assert ks_2samp(plain, found).pvalue > 1e-4
    assert ks_2samp(plain, other).pvalue < 1e-4


def test_weights_that_are_one_or_unchanged():
    mrf = Field([0.3, 1.0], np.zeros((2, 2)))
    assert_array_equal(annealed_log_weights(mrf, 30, n_samples=7, seed=0), np.zeros(7))
    mrf, _ = CASES["mixed"]
    assert_array_equal(annealed_log_weights(mrf, 1, n_samples=7, seed=0), np.zeros(7))
    mrf, length = CASES["mixed"]
    shifted = Field(mrf.node + 2.0**9, mrf.interactions)
    one = annealed_log_weights(mrf, length, n_samples=60, seed=3)
    assert_allclose(one, annealed_log_weights(shifted, length, n_samples=60, seed=3), rtol=1e-9)


def test_many_words_of_which_few_depend_on_each_other():
    rng, phi = np.random.default_rng(4), np.zeros((300, 300))
    for s in range(0, 300, 2):
        phi[s, s + 1] = phi[s + 1, s] = rng.uniform(-0.5, 0.1)
    order = rng.permutation(300)
    mrf = Field(rng.normal(size=300), phi[np.ix_(order, order)])
    found = annealed_log_weights(mrf, 60, n_samples=4000, n_temperatures=6, seed=5)
    assert abs(t_of(found, log_ratio(mrf, 60))) < LIMIT
    assert abs(t_of(found, 0.0)) > 3 * LIMIT


def test_the_same_bits_for_any_threads_and_other_lengths():
    mrf, length = CASES["mixed"]
    settings = {"n_samples": 170, "n_temperatures": 5}
    one, two = (annealed_log_weights(mrf, length, seed=6, n_jobs=n, **settings) for n in (1, 2))
    assert_array_equal(one, two)
    assert len(np.unique(one.round(12))) > 20
    assert (one != annealed_log_weights(mrf, length, seed=7, **settings)).any()
    mrf, _ = CASES["weighted"]
    found = log_weights_at(mrf, [4, 9, 1], n_samples=60, n_temperatures=5, seed=8)
    assert found.shape == (3, 60)
    for at, length in enumerate((4, 9, 1)):
        alone = annealed_log_weights(mrf, length, n_samples=60, n_temperatures=5, seed=8)
        assert_array_equal(found[at], alone)
