"""Counts are checked in one place, and fractions come to whole numbers by one rule."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from models.counts import MAX_COUNT, checked_counts, whole_numbers


def test_what_is_no_count_is_refused():
    for counts, message in (
        ([[1.5]], "counts must be whole numbers: found NaN, infinity or a fraction"),
        ([[np.nan]], "counts must be whole numbers: found NaN"),
        ([[-1, 2]], "counts must not be negative, found -1"),
        ([[2.0 * MAX_COUNT]], "counts must not be above"),
        ([[1j]], "counts must be whole numbers, found values of type complex128"),
        ([1, 2], r"counts must be \(n_docs, n_words\), found shape \(2,\)"),
        ([["a"]], "counts must be"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            checked_counts(counts)


def test_counts_that_are_taken():
    assert checked_counts([[0.5, 0.0]], 2, whole=False).toarray().tolist() == [[0.5, 0.0]]
    with pytest.raises(ValueError, match="weights must be finite"):
        checked_counts([[np.inf]], name="weights", whole=False)
    with pytest.raises(ValueError, match="weights has 1 words, the model 2"):
        checked_counts([[1.0]], 2, name="weights", whole=False)
    counts = sparse.csr_array(([2, 1, 3, 0], [1, 0, 1, 2], [0, 4]), shape=(1, 3))
    found = checked_counts(counts)
    assert (found.dtype, found.data.tolist()) == (np.int64, [1, 5])
    assert counts.data.tolist() == [2, 1, 3, 0]


@pytest.mark.parametrize("seed", [0, None])
def test_fractions_are_rounded_up_with_the_probability_of_their_remainder(seed):
    counts = sparse.csr_array(np.random.default_rng(1).uniform(0.0, 3.0, (4000, 5)))
    found = whole_numbers(counts, seed)
    off = found.toarray() - counts.toarray()
    assert found.dtype == np.int32
    assert (np.abs(off) < 1.0).all()
    remainder = counts.toarray() % 1
    spread = np.sqrt((remainder * (1 - remainder)).sum(axis=0))
    assert (np.abs(off.sum(axis=0)) < 4 * spread).all()
    assert (np.abs(off.sum(axis=0)) > 0).all()


def test_rounding_does_not_depend_on_other_documents_nor_changes_whole_numbers():
    counts = sparse.csr_array(np.random.default_rng(2).uniform(0.0, 3.0, (50, 7)))
    together = whole_numbers(counts, None).toarray()
    assert_array_equal(together, [whole_numbers(counts[[d]], None).toarray()[0] for d in range(50)])
    assert (whole_numbers(counts, 0).toarray() != together).any()
    counts = sparse.csr_array([[3.0, 0.0, 1.0]])
    for seed in (0, 1, None):
        assert whole_numbers(counts, seed).toarray().tolist() == [[3, 0, 1]]
    with pytest.raises(ValueError, match="more than a corpus can hold"):
        whole_numbers(sparse.csr_array([[2.0**31]]))
