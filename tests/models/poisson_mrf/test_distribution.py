import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import multinomial

from models.poisson_mrf.distribution import FixedLengthPoissonMRF as Field
from models.poisson_mrf.distribution import checked_interactions
from tests.oracles import poisson_mrf as oracle

PHI = [[0, 0.4, -0.3], [0.4, 0, 0], [-0.3, 0, 0]]


def random_mrf(rng, n_words, half_length=np.inf):
    upper = np.triu(rng.normal(size=(n_words, n_words)), 1)
    return Field(2 + rng.normal(size=n_words), upper + upper.T, half_length)


def dense(mrf):
    return mrf.interactions.toarray()


@pytest.mark.parametrize("half_length", [np.inf, 4.0, 0.3])
def test_log_weight_against_the_oracle(half_length):
    rng = np.random.default_rng(0)
    for n_words in (1, 2, 5):
        mrf, counts = random_mrf(rng, n_words, half_length), rng.integers(0, 5, size=(7, n_words))
        counts[0] = 0
        counts = counts.tolist()
        expected = [oracle.log_bag_weight(mrf.node, dense(mrf), x, half_length) for x in counts]
        assert_allclose(mrf.log_weight(counts), expected, rtol=1e-13, atol=1e-13)
        of_sparse = mrf.log_weight(sparse.csr_array(np.array(counts, dtype=np.int32)))
        assert_array_equal(of_sparse, mrf.log_weight(counts))


def test_log_weight_of_counts_stored_in_parts_or_as_zeros():
    mrf = Field([0.1, 0.2, 0.3], PHI)
    data, columns = [1, 0, 1, 2], [0, 1, 0, 2]
    counts = sparse.csr_array((data, columns, [0, 4]), shape=(1, 3))
    counts.sum_duplicates()
    assert_allclose(mrf.log_weight(counts), mrf.log_weight([[2, 0, 2]]), rtol=1e-15)


@pytest.mark.parametrize("half_length", [np.inf, 3.0])
def test_the_conditional_of_a_token_is_that_of_all_sequences(half_length):
    rng = np.random.default_rng(1)
    for n_words, length in ((2, 5), (3, 4), (4, 3), (1, 3)):
        mrf = random_mrf(rng, n_words, half_length)
        joint = oracle.sequences(mrf.node, dense(mrf), length, half_length)
        for rest in list(joint)[:: max(1, len(joint) // 20)]:
            others = rest[1:]
            chances = np.array([joint[s, *others] for s in range(n_words)])
            found = mrf.token_conditional(np.bincount(others, minlength=n_words))
            assert_allclose(found, chances / chances.sum(), rtol=1e-12, atol=1e-14)


def test_without_the_two_the_conditional_would_be_another():
    """As is printed in Sec. 2 of the paper."""
    mrf = Field([0.0, 0.0], [[0, 0.5], [0.5, 0]])
    joint = oracle.sequences(mrf.node, dense(mrf), 3)
    chance = joint[0, 1, 1] / (joint[0, 1, 1] + joint[1, 1, 1])
    printed = math.exp(0.5 * 2) / (math.exp(0.5 * 2) + 1)
    assert mrf.token_conditional([0, 2])[0] == pytest.approx(chance, rel=1e-13)
    assert printed != pytest.approx(chance, abs=0.05)


def test_without_interactions_and_at_the_half_length():
    mrf, counts = Field([0.5, 1.5, -1.0], np.zeros((3, 3))), list(oracle.bags(3, 6))
    found = mrf.log_weight(counts) - oracle.log_partition(mrf.node, dense(mrf), 6)
    assert_allclose(found, multinomial.logpmf(counts, 6, mrf.word_probability), rtol=1e-12)
    assert_allclose(mrf.token_conditional([3, 1, 1]), mrf.word_probability, rtol=1e-14)
    mrf = Field([0.0], [[0.0]], half_length=40.0)
    assert_allclose(mrf.weight([0, 40, 120]), [1.0, 0.5, 0.1], rtol=1e-15)
    for length in (1, 13, 500):
        assert mrf.weight(length) == pytest.approx(oracle.weight(length, 40.0), rel=1e-13)
    assert mrf.with_half_length(np.inf).weight(10**9) == 1.0
    assert mrf.with_half_length(7.0).half_length == 7.0


def test_normalised_is_the_same_distribution_and_sizes():
    mrf = random_mrf(np.random.default_rng(2), 4, half_length=5.0)
    other = mrf.normalised()
    assert np.exp(other.node).sum() == pytest.approx(1, rel=1e-14)
    counts = list(oracle.bags(4, 3))
    apart = mrf.log_weight(counts) - other.log_weight(counts)
    assert_allclose(apart, apart[0], rtol=1e-12)  # Θ(L), the same of all
    assert other.half_length == 5.0
    assert_array_equal(dense(other), dense(mrf))
    mrf = Field([0.1, 0.2, 0.3], PHI)
    assert (mrf.n_words, mrf.n_interactions, mrf.word_probability.sum()) == (3, 2, pytest.approx(1))
    assert mrf.interactions.nnz == 4
    stored_zeros = sparse.csr_array(([0.0, 0.4, 0.4], ([0, 0, 1], [0, 1, 0])), shape=(3, 3))
    assert Field(np.zeros(3), stored_zeros).n_interactions == 1


@pytest.mark.parametrize("as_sparse", [False, True])
def test_arrays_of_the_caller_are_neither_changed_nor_kept(as_sparse):
    node, phi = np.array([0.1, 0.2, 0.3]), np.array(PHI)
    given = phi
    if as_sparse:  # unsorted, with an entry in two parts and a stored zero
        data = ([-0.3, 0.1, 0.3, 0.4, 0.0, -0.3], [2, 1, 1, 0, 2, 0], [0, 3, 5, 6])
        given = sparse.csr_array(data, shape=(3, 3))
        kept = (given.data.copy(), given.indices.copy(), given.indptr.copy())
    mrf = Field(node, given)
    assert_allclose(dense(mrf), PHI, rtol=1e-15)
    if as_sparse:
        for before, after in zip(kept, (given.data, given.indices, given.indptr), strict=True):
            assert_array_equal(before, after)
        given.data[:] = 9.0
    else:
        assert_array_equal(given, PHI)
        given[:] = 9.0
    node[:] = 9.0
    assert_allclose(dense(mrf), PHI, rtol=1e-15)
    assert_array_equal(mrf.node, [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="read-only"):
        mrf.node[0] = 1.0


def test_what_is_no_field_is_refused():
    with pytest.raises(ValueError, match=r"found 0\.4 at \(0, 1\) and 0\.5 at \(1, 0\)"):
        Field(np.zeros(3), [[0, 0.4, 0], [0.5, 0, 0], [0, 0, 0]])
    with pytest.raises(ValueError, match=r"found 0 at \(0, 2\) and 0\.7 at \(2, 0\)"):
        Field(np.zeros(3), [[0, 0, 0], [0, 0, 0], [0.7, 0, 0]])
    with pytest.raises(ValueError, match=r"\(interactions \+ interactions\.T\) / 2"):
        checked_interactions([[0, 1e-300], [0, 0]], 2)
    with pytest.raises(ValueError, match=r"zero diagonal, found 0\.25 at \(1, 1\)"):
        Field(np.zeros(2), [[0, 1], [1, 0.25]])
    for node in (np.zeros((2, 1)), 0.0, []):
        with pytest.raises(ValueError, match=r"node must be \(n_words,\)"):
            Field(node, np.zeros((2, 2)))
    for shape in ((2, 3), (3, 3), (1, 1)):
        with pytest.raises(ValueError, match=r"interactions must be \(2, 2\)"):
            Field(np.zeros(2), np.zeros(shape))
    mrf = Field(np.zeros(3), PHI)
    with pytest.raises(ValueError, match=r"counts must be \(n_docs, 3\)"):
        mrf.log_weight([[1, 2]])
    for others in ([1, 2], [[1, 2, 3]]):
        with pytest.raises(ValueError, match=r"others must be \(3,\)"):
            mrf.token_conditional(others)


def test_what_is_no_number_is_refused():
    for value in (np.nan, np.inf, -np.inf):
        with pytest.raises(ValueError, match="interactions must hold finite numbers"):
            Field(np.zeros(2), [[0, value], [value, 0]])
        with pytest.raises(ValueError, match="node must hold finite numbers"):
            Field([0.0, value], np.zeros((2, 2)))
    for half_length in (0, -1.0, np.nan):
        with pytest.raises(ValueError, match="half_length must be positive"):
            Field(np.zeros(2), np.zeros((2, 2)), half_length)
