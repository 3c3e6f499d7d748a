import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import gammaln

from models.gamma_poisson.count_priors import CountPriors, sample_probability, sample_shape
from models.gibbs.minka import exceedances


def exceedances_of(counts):
    n_topics = counts.shape[1]
    return exceedances(np.arange(n_topics, dtype=np.uint16), counts, n_topics)


def test_probability_is_a_beta_variate():
    priors = CountPriors(2.0, 0.3)
    shape, n_k, n_docs = np.array([0.4, 1.3]), np.array([5, 0]), 6
    rng = np.random.default_rng(0)
    drawn = np.array([sample_probability(n_k, n_docs, shape, priors, rng) for _ in range(4000)])
    for k in range(2):
        expected = stats.beta(2.0 * 0.3 + n_k[k], 2.0 * 0.7 + n_docs * shape[k])
        assert stats.kstest(drawn[:, k], expected.cdf).pvalue > 1e-3
    wrong = stats.beta(2.0 * 0.3 + n_k[0] + 1, 2.0 * 0.7 + n_docs * shape[0])
    assert stats.kstest(drawn[:, 0], wrong.cdf).pvalue < 1e-6
    rng, priors = np.random.default_rng(0), CountPriors(1.0, 1e-4)
    drawn = sample_probability(np.zeros(5000, dtype=np.int64), 10**6, np.ones(5000), priors, rng)
    assert (drawn > 0).all()
    assert np.median(drawn) < 1e-100


@pytest.mark.parametrize("g", [1.0, pytest.param(2.5, marks=pytest.mark.slow)])
def test_shape_has_its_conditional_distribution(g):
    """The chain of tables and shape, p held, against the density of r on a grid."""
    rng = np.random.default_rng(1)
    counts = rng.negative_binomial(0.7, 0.3, size=(12, 1)).astype(np.int64)
    p, priors = np.array([0.6]), CountPriors(1.0, 0.5, (g, 1.5))
    above, grid = exceedances_of(counts), np.linspace(1e-4, 8.0, 20_001)
    log_density = stats.gamma(g, scale=1 / 1.5).logpdf(grid)
    log_density += (gammaln(counts + grid) - gammaln(grid)).sum(axis=0)
    log_density += len(counts) * grid * np.log1p(-p[0])
    density = np.exp(log_density - log_density.max())
    cdf = np.cumsum(density) / density.sum()
    shape, drawn = np.array([1.0]), []
    for step in range(20_000):
        shape = sample_shape(above, len(counts), shape, p, priors, rng)
        if step % 10 == 9:  # so that draws are nearly independent
            drawn.append(float(shape[0]))
    assert stats.kstest(drawn, lambda x: np.interp(x, grid, cdf)).pvalue > 1e-3
    shifted = stats.kstest(drawn, lambda x: np.interp(1.15 * np.asarray(x), grid, cdf))
    assert shifted.pvalue < 1e-6


def test_shape_and_probability_are_found_again():
    rng = np.random.default_rng(2)
    truth = np.array([0.2, 1.0, 3.0]), np.array([0.9, 0.5, 0.7])
    n_docs = 4000
    counts = np.stack(
        [rng.negative_binomial(r, 1 - p, n_docs) for r, p in zip(*truth, strict=True)], axis=1
    ).astype(np.int64)
    above, n_k = exceedances_of(counts), counts.sum(axis=0)
    shape, probability, priors = np.ones(3), np.full(3, 0.5), CountPriors(1.0, 1 / 3)
    samples = []
    for step in range(1500):
        shape = sample_shape(above, n_docs, shape, probability, priors, rng)
        probability = sample_probability(n_k, n_docs, shape, priors, rng)
        if step >= 500:
            samples.append(np.stack([shape, probability]))
    mean, spread = np.mean(samples, axis=0), np.std(samples, axis=0)
    assert_allclose((mean - np.stack(truth)) / spread, 0, atol=4)
    assert (spread[0] / truth[0] < 0.1).all()
