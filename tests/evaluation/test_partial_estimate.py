from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation import LikelihoodEstimate
from evaluation.estimate import PER_DOCUMENT
from evaluation.partial_estimate import PartialEstimate


def whole(n_docs, method="mean-field-is-1"):
    rng = np.random.default_rng(n_docs)
    values = {
        name: rng.integers(1, 9, n_docs) if dtype is np.int64 else rng.normal(size=n_docs)
        for name, dtype in PER_DOCUMENT.items()
    }
    return LikelihoodEstimate(**values, method=method, convention="bag", direction="unbiased")


def part(estimate, first, last):
    return replace(estimate, **{name: getattr(estimate, name)[first:last] for name in PER_DOCUMENT})


def assert_same(found, expected):
    for name in PER_DOCUMENT:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)
        assert getattr(found, name).dtype == PER_DOCUMENT[name]
    for name in ("method", "convention", "direction"):
        assert getattr(found, name) == getattr(expected, name)


@given(st.data(), st.integers(1, 30))
def test_what_is_missing_is_asked_for_once(data, n_docs):
    expected, partial = whole(n_docs), PartialEstimate(n_docs)
    for _ in range(data.draw(st.integers(0, 4))):
        first, last = sorted(data.draw(st.tuples(*[st.integers(0, n_docs)] * 2)))
        partial.add(first, part(expected, first, last))
    if partial.names:
        again = PartialEstimate.from_arrays(partial.to_arrays())
        assert_same(partial.known(), again.known())
        partial = again
    if not partial.is_known.all():
        with pytest.raises(ValueError, match=f"{n_docs - partial.is_known.sum()} documents"):
            partial.estimate()
    asked = np.zeros(n_docs, dtype=int)
    bounds = [0, *sorted(data.draw(st.lists(st.integers(0, n_docs), max_size=4))), n_docs]
    is_known = partial.is_known.copy()
    for block in pairwise(bounds):
        for first, last in partial.missing(*block):
            assert block[0] <= first <= last <= block[1]
            asked[first:last] += 1
            partial.add(first, part(expected, first, last))
    assert (asked == ~is_known).all()
    assert_same(partial.estimate(), expected)


def test_no_documents_are_a_block_that_is_missing_once():
    partial = PartialEstimate(0)
    assert partial.missing(0, 0) == [(0, 0)]
    partial.add(0, whole(0))
    assert (partial.missing(0, 0), partial.estimate().n_documents) == ([], 0)


def test_blocks_are_of_one_method():
    partial = PartialEstimate(3)
    partial.add(0, part(whole(3), 0, 1))
    with pytest.raises(ValueError, match="one method and convention"):
        partial.add(1, part(whole(3, "exact"), 1, 2))
    assert partial.missing(0, 3) == [(1, 3)]


OTHER_ARRAYS = np.zeros(4), np.zeros((3, 1), dtype=int), np.zeros(3, dtype="U1"), None
OTHER_NAMES = np.asarray(3), np.asarray(["exact", "exact"]), None


@pytest.mark.parametrize(
    ("name", "spoiled"),
    [
        *product(("is_known", *PER_DOCUMENT), OTHER_ARRAYS),
        *product(("method", "convention", "direction"), OTHER_NAMES),
    ],
)
def test_other_arrays_and_names_are_refused(name, spoiled):
    partial = PartialEstimate(3)
    partial.add(0, whole(3))
    arrays = partial.to_arrays()
    if spoiled is None:
        del arrays[name]
    else:
        arrays[name] = spoiled
    with pytest.raises((KeyError, ValueError)):
        PartialEstimate.from_arrays(arrays)
