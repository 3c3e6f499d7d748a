import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose
from scipy.special import gammaln, psi

from models.gibbs.minka import MIN_PRIOR, asymmetric_prior, exceedances, symmetric_prior


def learned_alpha(counts, alpha, n_iterations):
    """`asymmetric_prior` of counts (D, K)."""
    n_topics = counts.shape[1]
    of_topics = exceedances(np.arange(n_topics, dtype=np.uint16), counts, n_topics)
    return asymmetric_prior(of_topics, counts.sum(axis=1), alpha, n_iterations)


def log_evidence(counts, alpha):
    """Of Dirichlet-multinomial counts (D, K), up to a constant."""
    total = gammaln(alpha.sum()) - gammaln(counts.sum(axis=1) + alpha.sum())
    return total.sum() + (gammaln(counts + alpha) - gammaln(alpha)).sum()


count_tables = hnp.arrays(
    np.int32, st.tuples(st.integers(1, 8), st.integers(1, 5)), elements=st.integers(0, 30)
)


@settings(deadline=None)
@given(counts=count_tables, seed=st.integers(0, 9), n_threads=st.integers(1, 3))
def test_exceedances_are_how_many_counts_are_above(counts, seed, n_threads):
    order = np.random.default_rng(seed).permutation(counts.size)
    column = np.tile(np.arange(counts.shape[1], dtype=np.uint16), len(counts))[order]
    shuffled = counts.ravel()[order]
    by_column = np.arange(counts.shape[1], dtype=np.uint16)
    for row, table in (
        (column, shuffled[None, :]),
        (column[shuffled > 0], shuffled[shuffled > 0][None, :]),
        (by_column, counts),
    ):
        found = exceedances(row, table, counts.shape[1], n_threads)
        for k, of_topic in enumerate(counts.T):
            expected = [np.count_nonzero(of_topic > i) for i in range(of_topic.max())]
            assert found.above[found.start[k] : found.start[k + 1]].tolist() == expected


@settings(deadline=None)
@given(counts=count_tables, start=st.floats(0.01, 5.0))
def test_each_step_is_minkas_and_raises_the_evidence(counts, start):
    alpha = np.full(counts.shape[1], start)
    stepped = learned_alpha(counts, alpha, n_iterations=1)
    assert (stepped > 0).all()
    assert log_evidence(counts, stepped) >= log_evidence(counts, alpha) - 1e-6
    gain = (psi(counts + alpha) - psi(alpha)).sum(axis=0)
    norm = (psi(counts.sum(axis=1) + alpha.sum()) - psi(alpha.sum())).sum()
    if counts.sum():
        assert_allclose(stepped, np.maximum(alpha * gain / norm, MIN_PRIOR), rtol=1e-6, atol=1e-8)
    else:
        assert_allclose(stepped, alpha)


@settings(deadline=None)
@given(counts=count_tables, start=st.floats(0.01, 5.0))
def test_the_symmetric_step_too(counts, start):
    n_entries, stepped = counts.shape[1], symmetric_prior(counts.T, start, n_iterations=1)
    before, after = (np.full(n_entries, value) for value in (start, stepped))
    assert log_evidence(counts, after) >= log_evidence(counts, before) - 1e-6
    averaged = learned_alpha(counts, before, n_iterations=1).mean()
    assert_allclose(stepped, max(averaged, MIN_PRIOR), rtol=1e-6, atol=2e-8)


@pytest.mark.parametrize("seed", range(5))
def test_known_priors_are_found_again(seed):
    rng, alpha = np.random.default_rng(seed), np.array([0.05, 0.2, 1.0, 0.5])
    counts = np.array([rng.multinomial(200, p) for p in rng.dirichlet(alpha, size=4000)])
    assert_allclose(learned_alpha(counts, np.full(4, 0.5), n_iterations=500), alpha, rtol=0.1)
    words = np.array([rng.multinomial(5000, p) for p in rng.dirichlet(np.full(300, 0.05), 20)])
    assert symmetric_prior(words.T, 1.0, n_iterations=500) == pytest.approx(0.05, rel=0.1)
