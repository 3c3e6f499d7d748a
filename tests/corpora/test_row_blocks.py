import numpy as np
import pytest
from scipy import sparse

from corpora import row_blocks as module
from corpora.row_blocks import is_canonical, row_blocks, smallest, taken_rows, tokens_of_documents


def some_counts(seed, n_docs=40):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.3, (n_docs, 7)) * (rng.random((n_docs, 1)) < 0.7)
    return sparse.csr_array(counts.astype(np.int32))


@pytest.mark.parametrize(("entries", "most_rows"), [(1, 9), (5, 3), (1000, 1), (1000, 1000)])
def test_blocks_are_all_rows_in_order(entries, most_rows, monkeypatch):
    monkeypatch.setattr(module, "ENTRIES", entries)
    monkeypatch.setattr(module, "MAX_ROWS", most_rows)
    counts, done = some_counts(0), 0
    for first, block in row_blocks(counts):
        assert first == done
        assert 1 <= block.shape[0] <= most_rows
        assert block.nnz <= entries or block.shape[0] == 1
        assert block.toarray().tolist() == counts[first : first + block.shape[0]].toarray().tolist()
        done += block.shape[0]
    assert done == counts.shape[0]
    assert tokens_of_documents(counts).tolist() == counts.sum(axis=1).tolist()
    assert smallest(counts) == counts.data.min()
    assert is_canonical(counts)


def test_no_rows():
    counts = sparse.csr_array((0, 3), dtype=np.int32)
    assert list(row_blocks(counts)) == []
    assert tokens_of_documents(counts).shape == (0,)
    assert smallest(counts) == 0
    assert is_canonical(counts)


def test_one_row_out_of_order_is_found(monkeypatch):
    monkeypatch.setattr(module, "ENTRIES", 4)
    counts = some_counts(1)
    counts.data[-1] = -3
    assert smallest(counts) == -3
    a = counts.indptr[int(np.argmax(np.diff(counts.indptr)))]
    for unsorted in ([1, 0], [0, 0]):
        counts.indices[a : a + 2] = unsorted
        assert not is_canonical(counts)


@pytest.mark.parametrize("n", [0, 1, 7, 100])
def test_taken_rows_are_a_copy(n, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 7)
    counts, arrays = some_counts(2), []
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / name, getattr(counts, name))
        arrays.append(np.asarray(np.load(tmp_path / f"{name}.npy", mmap_mode="r")))
    mapped = sparse.csr_array(tuple(arrays), shape=counts.shape)
    which = np.sort(np.random.default_rng(0).integers(0, counts.shape[0], n))
    expected = counts[which]
    for small_bytes in (0, 1 << 20):
        monkeypatch.setattr(module, "SMALL_BYTES", small_bytes)
        for matrix in (counts, mapped):
            found = taken_rows(matrix, which)
            assert found.shape == (n, counts.shape[1])
            assert not np.shares_memory(found.data, matrix.data)
            for name in ("data", "indices", "indptr"):
                assert getattr(found, name).tolist() == getattr(expected, name).tolist()
                assert getattr(found, name).dtype == getattr(expected, name).dtype
