"""What kernels are given: one kind of array, whatever the caller has."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from models.kernel import read_only
from models.lda.variational import documents_of, infer_doc_topic, infer_documents_only


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("writeable", [True, False])
def test_read_only_arrays_share_memory_where_they_can(order: str, writeable: bool) -> None:
    array = np.array([[1.0, 2.0], [3.0, 4.0]], order=order)  # type: ignore[call-overload]
    array.flags.writeable = writeable
    found = read_only(array)
    assert (found == array).all()
    assert found.flags.c_contiguous
    assert not found.flags.writeable
    assert array.flags.writeable == writeable
    assert np.shares_memory(found, array) == (order == "C")


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_indices_are_as_small_as_they_can_be(index: type[np.signedinteger]) -> None:
    counts = sparse.csr_array(np.array([[1, 0, 2], [0, 3, 0]]))
    counts.indices, counts.indptr = counts.indices.astype(index), counts.indptr.astype(index)
    documents = documents_of(counts)
    assert documents.start.dtype == documents.word_of.dtype == np.int32
    assert documents.start.tolist() == [0, 2, 3]
    assert documents.word_of.tolist() == [0, 2, 1]
    assert documents.counts.tolist() == [1.0, 2.0, 3.0]
    assert counts.indices.dtype == index


def test_a_kernel_is_compiled_once_for_all_that_callers_have() -> None:
    """A kernel of many lines takes seconds to compile."""
    rng = np.random.default_rng(0)
    counts = sparse.csr_array(rng.poisson(1.0, size=(4, 5)))
    weight, alpha = rng.random((5, 3)), np.full(3, 0.1)
    settings = {"max_iterations": 20, "tolerance": 1e-3}
    found = infer_doc_topic(counts, weight, alpha, **settings)  # type: ignore[arg-type]
    n_compiled = len(getattr(infer_documents_only, "signatures", ()))
    large = counts.copy()
    large.indices, large.indptr = large.indices.astype(np.int64), large.indptr.astype(np.int64)
    for each in (read_only(weight), np.asfortranarray(weight)):
        again = infer_doc_topic(large, each, read_only(alpha), **settings)  # type: ignore[arg-type]
        assert (again == found).all()
    assert len(getattr(infer_documents_only, "signatures", ())) == n_compiled
