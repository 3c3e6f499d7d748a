import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.linalg import ArpackNoConvergence
from scipy.special import gammaln, logsumexp

from evaluation.poisson_mrf import partition_bound
from evaluation.poisson_mrf.exact_partition import exact_log_partition
from evaluation.poisson_mrf.partition_bound import (
    bound_by_largest,
    bound_by_pairs,
    largest_eigenvalue,
    upper_bound,
)
from models.poisson_mrf.distribution import FixedLengthPoissonMRF


def multinomial(mrf, length):
    return length * logsumexp(mrf.node) - gammaln(length + 1)


def published(mrf, length):
    """Inouye et al. 2015, Sec. 2.1, with ω."""
    top = np.linalg.eigvalsh(mrf.interactions.toarray())[-1]
    return multinomial(mrf, length) + float(mrf.weight(length)) * length**2 * top


def slack(value):
    return 1e-11 * max(1.0, abs(value))


@st.composite
def fields(draw):
    n_words, numbers = draw(st.integers(1, 4)), st.floats(-4, 4, allow_subnormal=False)
    node = draw(st.lists(numbers, min_size=n_words, max_size=n_words))
    phi, above = np.zeros((n_words, n_words)), np.triu_indices(n_words, 1)
    values = st.one_of(st.just(0.0), st.floats(-0.2, 0.2), st.floats(-5, 5))
    phi[above] = draw(st.lists(values, min_size=len(above[0]), max_size=len(above[0])))
    return FixedLengthPoissonMRF(node, phi + phi.T, draw(st.sampled_from([np.inf, 3.0, 12.0])))


@given(fields(), st.integers(0, 12))
def test_no_bound_is_below_what_it_bounds(mrf, length):
    exact, found = exact_log_partition(mrf, length), upper_bound(mrf, length)
    assert found >= exact - slack(exact)
    assert found <= published(mrf, length) + slack(found)
    if length >= 2:
        rest = exact - multinomial(mrf, length)
        assert bound_by_largest(mrf, length) >= rest - slack(exact)
        assert bound_by_pairs(mrf, length) >= rest - slack(exact)


@pytest.mark.slow
@given(fields())
def test_it_is_exact_up_to_two_tokens(mrf):
    for length in (0, 1, 2):
        expected = exact_log_partition(mrf, length)
        assert upper_bound(mrf, length) == pytest.approx(expected, rel=1e-11, abs=1e-11)


@given(fields(), st.integers(2, 7))
def test_the_largest_value_is_no_larger_than_its_bound(mrf, length):
    counts = np.indices((length + 1,) * mrf.n_words).reshape(mrf.n_words, -1).T
    counts, phi = counts[counts.sum(axis=1) == length], mrf.interactions.toarray()
    largest = float(mrf.weight(length)) * np.einsum("is,st,it->i", counts, phi, counts).max()
    assert bound_by_largest(mrf, length) >= largest - slack(largest)


@pytest.mark.parametrize("length", [2, 4, 100])
def test_two_words_that_like_each_other_have_the_largest_value_itself(length):
    """x·Φx = 2 φ x (L - x) is largest where both have half of the tokens."""
    mrf = FixedLengthPoissonMRF([0.0, 0.0], [[0, 1.7], [1.7, 0]])
    assert bound_by_largest(mrf, length) == pytest.approx(1.7 * length**2 / 2, rel=1e-12)


def test_words_that_like_or_avoid_each_other():
    """With Φ = m (11' - I) and as many words as tokens, x·Φx is at most m L (L - 1): one each."""
    n_words = 6
    mrf = FixedLengthPoissonMRF(np.zeros(n_words), 0.5 * (1 - np.eye(n_words)))
    assert bound_by_largest(mrf, n_words) == pytest.approx(0.5 * 6 * 5, rel=1e-12)
    assert bound_by_largest(mrf, 3) == pytest.approx(0.5 * 3 * 2, rel=1e-12)
    assert bound_by_largest(mrf, 1) == pytest.approx(0, abs=1e-12)
    mrf = FixedLengthPoissonMRF([0.0, 0.5, 1.0], -0.1 * (1 - np.eye(3)))
    assert bound_by_largest(mrf, 10) == 0
    assert upper_bound(mrf, 10) < multinomial(mrf, 10) < published(mrf, 10)


def test_tight_where_interactions_are_weak_and_lengths_odd():
    """log E exp(x·Φx) = L (L-1) p·Φp + O(Φ²), and halving Φ quarters what is left."""
    rng = np.random.default_rng(0)
    upper, node = np.triu(rng.normal(size=(4, 4)), 1), rng.normal(size=4)
    gaps = []
    for scale in (2e-3, 1e-3):
        mrf = FixedLengthPoissonMRF(node, scale * (upper + upper.T))
        gaps.append(upper_bound(mrf, 8) - exact_log_partition(mrf, 8))
    assert 0 < gaps[1] < 1e-4
    assert gaps[0] / gaps[1] == pytest.approx(4, rel=0.05)
    mrf = FixedLengthPoissonMRF([0.0, 0.0], [[0, 0.1], [0.1, 0]])
    rest = exact_log_partition(mrf, 3) - multinomial(mrf, 3)
    apart = math.log(0.5 + 0.5 * math.exp(6 * 0.1))
    assert rest < bound_by_pairs(mrf, 3) < apart


@pytest.mark.parametrize("length", [2, 4, 5])
def test_pairs_are_summed_in_logs_where_exponents_are_beyond_numbers(length):
    """Also where they are of words so rare that the others count."""
    for node in ([0.1, -0.4, 0.2, 0.0], [0.1, 0.2, -300.0, -500.0]):
        for phi in (100.0, 130.0, 900.0, 1e5):
            pairs = np.zeros((4, 4))
            pairs[0, 1] = pairs[1, 0] = 0.05
            pairs[2, 3] = pairs[3, 2] = phi
            mrf = FixedLengthPoissonMRF(node, pairs)
            logs = mrf.node - logsumexp(mrf.node)
            expected = length / 2 * logsumexp((logs[:, None] + logs) + 2 * (length - 1) * pairs)
            assert bound_by_pairs(mrf, length) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n_words", [30, 150])
def test_the_largest_eigenvalue_is_found_from_above(n_words):
    rng = np.random.default_rng(1)
    upper = np.triu(rng.normal(size=(n_words, n_words)), 1)
    upper *= rng.random((n_words, n_words)) < 0.1
    phi = upper + upper.T
    mrf = FixedLengthPoissonMRF(np.zeros(n_words), phi)
    truth, found = np.linalg.eigvalsh(phi)[-1], largest_eigenvalue(mrf.interactions)
    assert found == pytest.approx(truth, rel=1e-8)
    assert found >= truth * (1 - 1e-14)
    assert found == largest_eigenvalue(mrf.interactions)


def test_no_eigenvalue_and_none_found(monkeypatch):
    for n_words in (3, 200):
        mrf = FixedLengthPoissonMRF(np.zeros(n_words), np.zeros((n_words, n_words)))
        assert largest_eigenvalue(mrf.interactions) == 0
        assert upper_bound(mrf, 9) == pytest.approx(multinomial(mrf, 9), rel=1e-13)

    def never(*args, **settings):
        raise ArpackNoConvergence("no end", [], [])

    ring = np.roll(np.eye(60), 1, axis=1)
    mrf = FixedLengthPoissonMRF(np.zeros(60), 0.5 * (ring + ring.T))
    assert largest_eigenvalue(mrf.interactions) == pytest.approx(1, rel=1e-12)
    monkeypatch.setattr(partition_bound, "eigsh", never)
    assert largest_eigenvalue(mrf.interactions) == 1
