import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from corpora import row_blocks
from models import GibbsLDA, OnlineLDA
from models.counts import frozen_words


def mapped_counts(directory, n_docs=40_000):
    rng = np.random.default_rng(0)
    words = np.argsort(rng.random((n_docs, 60)), axis=1)[:, :30]
    arrays = {
        "data": rng.integers(1, 9, 30 * n_docs).astype(np.int32),
        "indices": np.sort(words, axis=1).ravel().astype(np.int32),
        "indptr": np.arange(0, 30 * n_docs + 1, 30, dtype=np.int32),
    }
    for name, array in arrays.items():
        np.save(directory / f"{name}.npy", array)
        arrays[name] = np.asarray(np.load(directory / f"{name}.npy", mmap_mode="r"))
    return sparse.csr_array(
        (arrays["data"], arrays["indices"], arrays["indptr"]), shape=(n_docs, 60)
    )


def test_checks_take_little_memory_and_leave_little_mapped(tmp_path, monkeypatch):
    counts = mapped_counts(tmp_path)
    monkeypatch.setattr(row_blocks, "ENTRIES", 10_000)
    n_bytes, estimator = counts.data.nbytes, OnlineLDA(2)
    tracemalloc.start()
    checked = estimator._check_counts(counts, reset=True)
    frozen, peak = frozen_words(checked, 50), tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n_bytes / 10
    # The control: what this replaces does not fit.
    tracemalloc.start()
    expected, peak = np.asarray(counts.sum(axis=0)), tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak > n_bytes / 2
    assert set(np.flatnonzero(frozen)) == set(np.argsort(-expected, kind="stable")[:10])
    assert np.shares_memory(checked.data, counts.data)


def test_a_wrong_count_is_found_wherever_it_is(tmp_path, monkeypatch):
    counts = mapped_counts(tmp_path, 50).copy()
    monkeypatch.setattr(row_blocks, "ENTRIES", 100)
    first, second = counts.indices[-2:]
    counts.indices[-2:] = second, first
    checked = OnlineLDA(2)._check_counts(counts, reset=True)
    assert checked.has_canonical_format
    assert np.array_equal(checked.toarray(), counts.toarray())
    counts.data[-1] = -1
    with pytest.raises(ValueError, match="Negative values in data"):
        OnlineLDA(2)._check_counts(counts, reset=True)


def test_fractions_are_added_as_before():
    counts = sparse.csr_array(np.random.default_rng(1).random((30, 9)))
    expected = np.argsort(-counts.sum(axis=0), kind="stable")[:4]
    assert set(np.flatnonzero(frozen_words(counts, 5))) == set(expected)


def test_sampling_holds_six_bytes_of_a_token_and_no_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(row_blocks, "ENTRIES", 10_000)
    counts = mapped_counts(tmp_path)
    n_tokens, n_docs = int(counts.data.sum()), counts.shape[0]
    of_doc_topics = 4 * 16 * n_docs  # rows are padded
    estimator = GibbsLDA(2, start="random", random_state=0, sampler="parallel-dense")
    estimator.resume(counts[:100], None)  # compiles
    tracemalloc.start()
    estimator.resume(counts, None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # A copy of the counts, or of one of its arrays, would be above.
    assert 6 * n_tokens < peak < 6 * n_tokens + of_doc_topics + counts.data.nbytes
    in_memory = GibbsLDA(2, start="random", random_state=0, sampler="parallel-dense")
    in_memory.resume(counts.copy(), None)
    for mapped, known in zip(estimator._tokens, in_memory._tokens, strict=True):
        assert np.array_equal(mapped, known)
